"""Speed of the engine, of OpenSpiel's card games, and of first uses without compiled code."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile

from german_whist import Game, load_rules
from german_whist.engine.random_play import random_hands
from german_whist.envs import SelfPlayEnv

from .measure import Row, rate, seconds, step_rate

BATCHES = (1024, 65536)


def run() -> list[Row]:
    inside, batches, single = _compiled_play(), _batches(), _single_game()
    games = _open_spiel_games()
    return [
        inside,
        *batches,
        single,
        *games,
        *_ratios(inside, batches[0], single, games),
        _help(),
        *_first_uses(),
    ]


def _ratios(inside: Row, batch: Row, single: Row, games: list[Row]) -> list[Row]:
    """Speeds beside that of a single game, which a slower machine changes little."""
    ratios = [
        ("random play inside the engine", 1e6 * inside.value / single.value, 20),
        (f"batch step, {BATCHES[0]} games", 1e6 * batch.value / single.value, 8),
    ]
    rows = [
        Row(f"{name}, beside a single Game", value, "times", target)
        for name, value, target in ratios
    ]
    rows += [
        Row(f"a single Game beside {row.name}", single.value / row.value, "times", 1)
        for row in games
    ]
    return rows


def _compiled_play() -> Row:
    rules = load_rules("classic")
    speed = rate(lambda: random_hands(rules, 50_000)[1])
    name = "random play inside the engine, classic, one core"
    return Row(name, speed / 1e6, "M card plays/s")


def _batches() -> list[Row]:
    """Time of the engine's step alone, with random legal actions."""
    rows = []
    for n in BATCHES:
        games = SelfPlayEnv(n, "classic", copy=False)
        games.reset(1)
        speed = step_rate(games.step, games.observe().masks, max(8, 400_000 // n))
        name = f"batch step, {n} games, observations and masks written, one core"
        rows.append(Row(name, speed / 1e6, "M decisions/s"))
    return rows


def _single_game() -> Row:
    game = Game("classic")
    numbers = [random.Random(1).random() for _ in range(1024)]

    def work() -> float:
        plays = 0
        for number in range(1000):
            game.deal(1, number)
            while not game.over:
                legal = game.legal()
                game.play(legal[int(numbers[plays & 1023] * len(legal))])
                plays += 1
        return plays

    work()
    return Row("a single Game from Python, `legal` and `play`", rate(work), "plays/s")


def _open_spiel_games() -> list[Row]:
    try:
        import pyspiel  # pyright: ignore[reportMissingImports]
    except ImportError:
        print("OpenSpiel is not installed: not measured", file=sys.stderr)
        return []
    rows, rng = [], random.Random(1)
    for name in ("bridge(use_double_dummy_result=false)", "euchre"):
        game = pyspiel.load_game(name)

        def work() -> float:
            actions = 0
            for _ in range(30):
                state = game.new_initial_state()  # noqa: B023 - measured at once
                while not state.is_terminal():
                    # Dealing is timed but not counted, as in the speed of `Game`.
                    actions += not state.is_chance_node()
                    state.apply_action(rng.choice(state.legal_actions()))
            return actions

        title = f"OpenSpiel {name.partition('(')[0]}, random play from Python"
        rows.append(Row(title, rate(work), "actions/s"))
    return rows


def _command(*arguments: str, environment: dict[str, str] | None = None) -> float:
    return seconds(
        lambda: subprocess.run(
            [sys.executable, *arguments],
            check=True,
            capture_output=True,
            timeout=600,
            env={**os.environ, **(environment or {})},
        )
    )


def _help() -> Row:
    best = min(_command("-m", "german_whist", "--help") for _ in range(3))
    return Row("`german-whist --help`", best, "s")


_FIRST_USES = (
    (
        "a first `Game`, played to its end",
        "import german_whist as g; game = g.Game(seed=1)\n"
        "while not game.over: game.play(game.legal()[0])",
    ),
    (
        "a first `gymnasium.make` and reset",
        "import gymnasium, german_whist\n"
        "gymnasium.make('german_whist/GermanWhist-v0').reset(seed=1)",
    ),
    (
        "a first search, `flat-mc:64`, and its choice",
        "import german_whist as g; agent = g.load_agent('flat-mc:64')\n"
        "from german_whist.agents import Player; Player(agent).choose(g.Game(seed=1).view())",
    ),
)


def _first_uses() -> list[Row]:
    """Processor time of compilation, which other users of the machine change little."""
    rows = []
    for name, program in _FIRST_USES:
        with tempfile.TemporaryDirectory() as folder:
            before = os.times()
            elapsed = _command("-c", program, environment={"NUMBA_CACHE_DIR": folder})
            after = os.times()
        used = after.children_user + after.children_system
        used -= before.children_user + before.children_system
        note = f"{elapsed:.1f} s by the clock"
        rows.append(Row(f"{name}, nothing compiled yet", used, "s", note=note))
    return rows
