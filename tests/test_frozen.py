"""Behavior that no restructuring may change, beside the values in `frozen.json`.

Play, agents and observations are held by digests of arrays, ladders by their figures. Weights of
trainers are held by the mean and the norm of each array, because BLAS differs between machines.
`python tests/test_frozen.py` writes the values anew, after a change that is intended.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import german_whist
from german_whist import Game, Match
from german_whist.agents import CannotPlay, Player, agent_key, decision_streams, load_agent
from german_whist.agents.registry import agent_names
from support import digest

FROZEN = Path(__file__).with_name("frozen.json")
KEY = "5ec2e70fa12ea0b3b17b05e1f4a9c6d8"
RULES = ("classic", "small-last", "draft", "no-trump", "race-7", "humbug", "colour", "2x4-h2")
# Weights may differ in the last digits where another BLAS adds in another order.
CLOSE = {"rtol": 1e-4, "atol": 1e-6}


# -- agents

# With parameters that keep searches short. What needs a file of the user's is made further below.
AGENTS = {
    "random": ("random",),
    "random-exact": ("random-exact",),
    "threshold": ("threshold",),
    "upcard-value": ("upcard-value", "upcard-value:9"),
    "counting": ("counting",),
    "flat-mc": ("flat-mc:8", "flat-mc:4,voids,playout=counting"),
    "ismcts": ("ismcts:30", "ismcts:20,voids,playout=threshold,endgame=search"),
    "champion": ("champion", "champion:sample"),
    "champion-1": ("champion-1",),
    "champion-2": ("champion-2",),
    "thinker": ("thinker:8", "thinker:4,last=4"),
    "responder": ("responder:4,against=threshold", "responder:4,against=threshold,ahead=1"),
    "nash": ("nash",),
}
NEED_MORE = {"network", "onnx", "sb3"}
SLOW = ("thinker", "responder", "flat-mc", "ismcts")
# Searches are shown in one rule set for each of the ways in which they play.
SLOW_RULES = ("classic", "small-last", "draft", "race-7")


def hands_of(agent: Any, rules: Any, count: int, seed: int = 11) -> str:
    """The actions of an agent that plays both seats of some hands at once."""
    games = [Game(rules, seed=seed, number=number) for number in range(count)]
    key = agent_key(7)
    if agent.keeps_state:
        # Each seat of a game is a player of its own.
        agent.reset(np.arange(2 * count))
    while going := [k for k, game in enumerate(games) if not game.over]:
        views = np.concatenate([games[k].view(games[k].turn).array for k in going])
        rng = decision_streams(key, np.array(going, np.uint64), views)
        if agent.keeps_state:
            places = np.array([2 * k + games[k].turn for k in going])
            actions = agent.act(views, rng, indices=places)
        else:
            actions = agent.act(views, rng)
        for k, action in zip(going, actions, strict=True):
            games[k].play(int(action))
    return digest(*([int(action) for action in game.actions] for game in games))


def hand_of_players(name: str, rules: Any, seed: int = 12) -> str:
    """The actions of one hand between two single players."""
    game = Game(rules, seed=seed)
    players = [Player(name, rules, seed=seat) for seat in (0, 1)]
    for player in players:
        player.begin()
    while not game.over:
        game.play(players[game.turn].choose(game.view(game.turn)))
    return digest([int(action) for action in game.actions])


def agents_in(
    rules: str,
    names: Sequence[str] = tuple(chain(*AGENTS.values())),
    slow_names: tuple[str, ...] = SLOW,
) -> dict[str, str]:
    """What every agent that plays these rules does in them."""
    found = {}
    for name in names:
        slow = name.startswith(slow_names)
        if slow and rules not in SLOW_RULES:
            continue
        try:
            agent = load_agent(name, rules)
        except CannotPlay:
            found[name] = "cannot play"
            continue
        batch = hands_of(agent, rules, 2 if slow else 12)
        found[name] = batch if slow else f"{batch} {hand_of_players(name, rules)}"
    return found


def matches() -> dict[str, str]:
    """Agents that were made for a match."""
    found = {}
    for name in ("champion", "threshold"):
        found[name] = hands_of(load_agent(name, match=Match(target=9)), "classic", 3, seed=13)
    return found


# -- environments


def observations() -> dict[str, str]:
    """What the environment shows: every way to observe, to pay and to end."""
    from german_whist import german_whist_v0

    ways: dict[str, dict[str, Any]] = {
        "classic, raw": {"suit_order": "raw"},
        "classic, trump-first": {"suit_order": "trump-first"},
        "classic, history": {"observation": "history"},
        "draft, trump-first history": {
            "rules": "draft",
            "observation": "history",
            "suit_order": "trump-first",
        },
        "humbug, raw, margin": {"rules": "humbug", "suit_order": "raw", "reward": "margin"},
        "club-last, foreplay": {"rules": "club-last", "horizon": "foreplay", "reward": "points"},
        "small-last, match": {"rules": "small-last", "match": 3, "horizon": "match"},
    }
    found = {}
    for name, options in ways.items():
        env, rng, seen = german_whist_v0.env(**options), np.random.default_rng(2), []
        env.reset(seed=6)
        for _ in env.agent_iter(150):
            shown, reward, ended, cut, _info = env.last()
            if ended or cut:
                seen.append([reward, *env.rewards.values()])
                env.step(None)
                continue
            mask = shown["action_mask"]
            seen += [shown["observation"], mask, [reward, *env.rewards.values()]]
            env.step(int((mask * (1 + rng.random(len(mask)))).argmax()))
        found[name] = digest(*seen)
        env.close()
    return found


def records(folder: Path) -> dict[str, str]:
    """Game records: the bytes of a file, and what is played again from it."""
    from german_whist import read_records, record_of, write_records

    written = []
    for rules in ("classic", "draft", "humbug", "race-7"):
        game, player = Game(rules, seed=8), Player("random", rules)
        while not game.over:
            game.play(player.choose(game.view(game.turn)))
        written.append(record_of(game))
    path = folder / "records.jsonl"
    write_records(path, written)
    again, _ = read_records(path)
    assert [*again] == written
    return {"file": digest(path.read_text(encoding="utf-8"))}


def data_sets(folder: Path) -> dict[str, str]:
    """All columns of whole numbers: what agents play, observe and are told afterwards."""
    from german_whist.training.datasets import generate_dataset

    extras = ["endgame_cost", "hidden_opponent_hand"]
    found = {}
    for rules, suit_order in (("classic", "trump-first"), ("small-last", "raw")):
        names, home = ["champion", "counting"], folder / rules
        data = generate_dataset(
            names, home, hands=24, rules=rules, suit_order=suit_order, extras=extras
        )
        found[f"{rules}, {suit_order}"] = digest(
            *(each for each in data.read().values() if each.dtype != np.float16)
        )
    return found


# -- the arena


def figures_of(result: Any) -> dict[str, list[Any]]:
    """Counts and values of every pairing, in an order of its own; no intervals."""
    found: dict[str, list[Any]] = {}
    for each in result.pairings:
        values = (each.win_rate, each.hand_win_rate, each.margin, each.points)
        found[f"{each.agent} - {each.opponent}"] = [
            each.pairs,
            each.hands,
            *(round(value.value, 9) for value in values),
            *(round(value, 9) for value in (each.as_leader, each.as_dealer)),
            *(stage.moves for stage in each.stages),
        ]
    return found


def ladder() -> dict[str, Any]:
    """A small ladder, and its ratings."""
    players = ("threshold", "random-exact", "champion-1", "upcard-value", "random")
    lines: list[str] = []
    result = german_whist.ladder(players, hands=120, seed=2, key=KEY, records=lines.append)
    assert result.ladder is not None
    elo = {name: round(rating.value, 6) for name, rating in result.ladder.ranked()}
    return {**figures_of(result), "elo": elo, "records": digest(*lines)}


def evaluations() -> dict[str, Any]:
    """A player against others as the options have it: less the luck, in a match, played out."""
    told: dict[str, dict[str, Any]] = {
        "less luck": {"reduce_variance": True, "hands": 16},
        "best of 3": {"match": Match(best_of=3), "rules": "small-last", "hands": 20},
        "played out": {"play_out": True, "hands": 30},
        "draft": {"rules": "draft", "hands": 100},
    }
    return {
        name: figures_of(
            german_whist.evaluate("champion", ["threshold"], seed=4, key=KEY, **options)
        )
        for name, options in told.items()
    }


# -- training


def shape_of_weights(weights: Mapping[str, Any]) -> list[list[float]]:
    """The mean and the norm of each array; whatever arrays are called."""
    arrays = sorted(
        (each.shape, float(np.linalg.norm(each)), float(each.mean()))
        for each in (np.asarray(w, np.float64) for w in weights.values())
    )
    return [[*shape, float(f"{norm:.7g}"), float(f"{mean:.7g}")] for shape, norm, mean in arrays]


def weights_in(path: Path) -> list[list[float]]:
    """The weights of a checkpoint."""
    from safetensors.numpy import load_file

    return shape_of_weights(load_file(path.with_suffix(".safetensors")))


TINY = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2}
_COMMON: dict[str, Any] = {
    "rules": "small-last",
    "decisions": 6000,
    "hidden_sizes": [16, 12],
    "seed": 3,
    "threads": 1,
    "eval_opponents": [],
    "final_eval_opponents": ["random"],
    "final_eval_hands": 20,
    "eval_mode": "sync",
    "device": "cpu",
    "precision": "float32",
    "eval_every": 10_000_000,
}
_PPO = {"trainer": "ppo", "n_envs": 96, "batch_size": 256}
TRAININGS: dict[str, dict[str, Any]] = {
    "ppo": _PPO,
    "ppo, own critic, epochs": {
        **_PPO,
        "critic": "separate",
        "n_epochs": 2,
        "gamma": 0.98,
        "gae_lambda": 0.9,
        "horizon": "hand",
        "reward": "margin",
        "card_ranks": "absolute",
        "kl_coef": 0.2,
        "suit_order": "raw",
        "ent_coef_end": 0.01,
    },
    "ppo, shared critic, steps": {**_PPO, "critic": "shared", "n_steps": 8, "ema_decay": 0.0},
    "ppo, critic first": {
        **_PPO,
        "critic_warmup": 0.3,
        "critic_lr_scale": 2.0,
    },
    "ppo, several rules": {
        **_PPO,
        "rules": ["small-last", "draft", "humbug"],
        "horizon": "auto",
        "decisions": 12000,
    },
    "ppo, match": {**_PPO, "rules": TINY, "horizon": "match", "reward": "points"},
    "mmd": {"trainer": "mmd", "n_envs": 96, "batch_size": 256, "n_epochs": 2, "step_size": 3.0},
    "nfsp": {
        "trainer": "nfsp",
        "n_envs": 32,
        "replay_size": 2000,
        "reservoir_size": 3000,
        "train_every": 64,
        "target_update_every": 20,
        "anticipatory": 0.2,
    },
    "sb3": {
        "trainer": "sb3",
        "n_envs": 16,
        "n_steps": 32,
        "batch_size": 128,
        "opponents": ["threshold"],
        "pool_every": 1500,
        "n_epochs": 2,
    },
    "mccfr": {"trainer": "mccfr", "rules": "2x4-h2", "decisions": 20000},
}
# What a run tells of its last whole iteration, by the names of `progress.csv`.
_TOLD = {"policy": "policy_loss", "value": "value_loss", "entropy": "entropy"}


def training(name: str, folder: Path, **changes: Any) -> dict[str, Any]:
    """The weights of a short training and what it told of its last whole iteration."""
    own = TRAININGS[name]
    left_out = ("hidden_sizes", "precision", "device") if own["trainer"] == "mccfr" else ()
    common = {key: value for key, value in _COMMON.items() if key not in left_out}
    trained = german_whist.train({**common, **own, **changes}, folder=folder, quiet=True)
    row = next(row for row in reversed(trained.rows) if "decisions_per_second" in row)
    return {
        "weights": weights_in(trained.checkpoint),
        "played": [trained.decisions, trained.hands],
        "told": {key: float(f"{row[old]:.6g}") for key, old in _TOLD.items() if old in row},
    }


def players_from_files(folder: Path) -> dict[str, Any]:
    """Players of a checkpoint, of a table and of an ONNX graph that are made here."""
    from german_whist.cli import main

    training("mccfr", folder / "mccfr")
    table = load_agent(f"network:{folder / 'mccfr'},sample", "2x4-h2")
    found = {"table": hands_of(table, "2x4-h2", 20)}
    graph = folder / "policy.onnx"
    assert main(["export", "champion-1", "-o", str(graph)]) == 0
    found["onnx"] = hands_of(
        load_agent(f"onnx:{graph},suit_order=trump-first", "classic"), "classic", 3
    )
    return found


# -- all together

Part = Callable[[Path], Any]


def parts() -> dict[str, Part]:
    """What is frozen, by name: that which needs no torch."""
    from digest_of_play import digests

    return {
        "play": lambda _: {name: each[:16] for name, each in digests().items()},
        **{f"agents, {rules}": lambda _, rules=rules: agents_in(rules) for rules in RULES},
        "agents, match": lambda _: matches(),
        "observations": lambda _: observations(),
        "records": records,
        "data sets": data_sets,
        "ladder": lambda _: ladder(),
        "evaluations": lambda _: evaluations(),
    }


def trained_parts() -> dict[str, Part]:
    """What torch has a part in."""
    return {
        **{
            f"train, {name}": lambda folder, name=name: training(name, folder / "run")
            for name in TRAININGS
        },
        "players from files": players_from_files,
    }


@cache
def frozen() -> dict[str, Any]:
    return json.loads(FROZEN.read_text(encoding="utf-8"))


def differences(found: Any, wanted: Any, at: str = "") -> Iterator[str]:
    """Where two values differ; numbers that are not whole may by a little."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted({*found, *wanted}):
            yield from differences(found.get(key), wanted.get(key), f"{at}/{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, f"{at}/{k}")
    elif isinstance(wanted, float) and isinstance(found, float):
        if not np.isclose(found, wanted, **CLOSE):
            yield f"{at}: {found} instead of {wanted}"
    elif found != wanted:
        yield f"{at}: {found} instead of {wanted}"


def check(name: str, part: Part, folder: Path) -> None:
    found = json.loads(json.dumps(part(folder)))
    assert [*differences(found, frozen()[name])] == []


def test_every_agent_is_frozen() -> None:
    """A player that is registered joins here."""
    entries = agent_names().items()
    named = {
        name for name, entry in entries if str(entry.source).startswith("german_whist.agents.")
    }
    assert named == {*AGENTS} | NEED_MORE
    assert {*frozen()} == {*parts()} | {*trained_parts()}


@pytest.mark.parametrize("name", parts())
def test_play_is_as_it_was(name: str, tmp_path: Path) -> None:
    check(name, parts()[name], tmp_path)


LONG = ("train, sb3", "train, mccfr")
MARKED = [
    pytest.param(name, marks=pytest.mark.thorough if name in LONG else ())
    for name in trained_parts()
]


@pytest.mark.parametrize("name", MARKED)
def test_training_is_as_it_was(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    check(name, trained_parts()[name], tmp_path)


def test_another_seed_is_seen(tmp_path: Path) -> None:
    """What is frozen tells two trainings apart."""
    name = "ppo, shared critic, steps"
    other = training(name, tmp_path / "run", seed=4)
    assert [*differences(json.loads(json.dumps(other)), frozen()[f"train, {name}"])]


def as_text(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with a line for each value of a part, so that a change shows where it is."""
    blocks = []
    for name, values in parts.items():
        lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in values.items())
        blocks.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    result = {}
    for name, part in {**parts(), **trained_parts()}.items():
        with tempfile.TemporaryDirectory() as folder:
            print(name, file=sys.stderr)
            result[name] = part(Path(folder))
    FROZEN.write_text(as_text(result), encoding="utf-8")
