"""The arena: exchanged seats, exact endings, workers, matches, records, and bad players."""

from __future__ import annotations

import os
import pickle
import re
import signal
import traceback
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import arena_players
import numpy as np
import pytest

from german_whist import Match, evaluation
from german_whist.agents import Agent, load_agent
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.evaluation import kernels as k
from german_whist.evaluation.chunk_player import Chunk, ChunkPlayer, PlayConfig, Task, play_chunk
from german_whist.evaluation.formats import percent_with_interval
from german_whist.evaluation.results import EveryHandForfeited
from german_whist.evaluation.tally import Tally
from support import KEY, reproducible

PLAYERS = "arena_players:"

evaluate = partial(evaluation.evaluate, key=KEY)
ladder = partial(evaluation.ladder, key=KEY)


PERFECT = "threshold", "random-exact"


def tally_of(source: Any, players: tuple[str, str] = PERFECT, **options: Any) -> Tally:
    rules = load_rules(source)
    config = PlayConfig(rules, None, 5, bytes.fromhex(KEY), **options)
    pair = load_agent(players[0], rules), load_agent(players[1], rules)
    return play_chunk((pair, pair), config, Task(pairs=60)).tally


def same_figures(one: Tally, other: Tally, *names: str) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


# -- endings


BARE = {"name": "bare", "stock": 0, "trumps": "none", "hand": 8, "ranks": 4}


@pytest.mark.parametrize("rules", ["all-margin", "colour", "draft", "small-all", BARE], ids=str)
def test_exact_values_are_the_results_of_perfect_play(rules: Any) -> None:
    exact, played = tally_of(rules), tally_of(rules, play_out=True)
    assert exact.exact
    assert not played.exact
    assert (not exact.moves.any()) == (rules is BARE)  # hands without a foreplay are their value
    assert same_figures(exact, played, *(["sums"] if rules is not BARE else []), "moments")


@pytest.mark.parametrize("opponent", ["random-exact", "random"])
def test_arena_plays_out_endings_that_another_agent_claims(opponent: str) -> None:
    """The boaster is `random`, whatever it says of itself."""
    boasted = evaluate(f"{PLAYERS}Boaster", opponent, hands=300)
    played = evaluate("random", opponent, hands=300)
    pairing, expected = (reproducible(result)["pairings"][0] for result in (boasted, played))
    assert pairing == expected | {"agent": f"{PLAYERS}Boaster"}
    assert boasted.pairings[0].stages[0].thrown


@pytest.mark.parametrize(
    ("player", "exact"),
    [("random-exact", True), (f"{PLAYERS}lowest:endgame=exact", True), (f"{PLAYERS}Exact", False)],
)
def test_arena_trusts_endings_of_the_package_alone(player: str, exact: bool) -> None:
    """A function's endings are the solver's; a subclass may play any."""
    (pairing,) = evaluate(player, "threshold", hands=16).pairings
    assert [stage.perfect for stage in pairing.stages] == [exact, True]
    assert pairing.exact_endings == exact
    assert pairing.stages[0].thrown == 0


def test_arena_plays_out_endings_of_a_replaced_act() -> None:
    agent = load_agent("random-exact", "classic")
    agent.act = load_agent("random", "classic").act  # type: ignore[method-assign]
    (pairing,) = evaluate(agent, "threshold", hands=16).pairings
    assert not pairing.exact_endings
    assert pairing.stages[0].thrown


@pytest.mark.parametrize("rules", ["race-7", "race-9"])
def test_endings_of_races_are_played_out(rules: str) -> None:
    tally = tally_of(rules)
    assert not tally.exact
    assert tally.sums[k.ENDINGS] == 0
    assert tally.sums[k.HANDS] == 120


@pytest.mark.parametrize("rules", ["classic", "small-last", "no-trump"])
@pytest.mark.parametrize("players", [("random", "random"), ("random", "threshold")])
def test_margin_is_value_of_endings_plus_thrown_tricks(
    rules: str, players: tuple[str, str]
) -> None:
    tally = tally_of(rules, players)
    sums = tally.sums
    thrown = int(sums[k.THROWN_TWO] - sums[k.THROWN_ONE])
    assert sums[k.ENDING_MARGIN] + 2 * thrown == tally.totals[k.GAME_MARGIN]
    assert sums[k.THROWN_ONE] > 0
    assert (sums[k.THROWN_TWO] == 0) == (players[1] == "threshold")


# -- the same result, however it is played


def test_neither_workers_nor_their_deaths_change_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor their order, where a precision ends the run."""
    monkeypatch.setenv("MORTAL_MARK", str(tmp_path / "mark"))
    players, written, fractions = ["threshold", "random-exact", f"{PLAYERS}Mortal"], ([], []), []
    several, alone = (
        ladder(
            players,
            "2x5-h3",
            until=0.03,
            seed=3,
            workers=workers,
            records=lines.append,
            progress=lambda arena: fractions.append(arena.schedule.fraction_done()),
        )
        for workers, lines in zip((2, 1), written, strict=True)
    )
    # A precision that is reached is all of a run.
    assert 0 < fractions[0] < fractions[-1] == 1
    assert several.workers == 2
    assert any(re.search("worker process(es)? died", note) for note in several.notes)
    others = [note for note in several.notes if "died" not in note]
    assert reproducible(replace(several, notes=others)) == reproducible(alone)
    assert written[0] == written[1]
    assert len(written[0]) == sum(pairing.hands for pairing in alone.pairings)
    for pairing in alone.pairings:
        assert pairing.win_rate.margin_of_error <= 0.03
        assert pairing.hands < 4_000


def test_a_mirrored_pairing_has_the_figures_of_exchanged_players() -> None:
    (one,) = evaluate("threshold", "random", hands=600, seed=4).pairings
    (two,) = evaluate("random", "threshold", hands=600, seed=4).pairings
    mirrored = two.mirror()
    for name, value in one.metrics().items():
        assert "ms_a_move" in name or mirrored.metrics()[name] == pytest.approx(value), name
    for name, values in vars(one.course).items():
        assert getattr(mirrored.course, name) == pytest.approx(values), name


# -- matches


@pytest.mark.parametrize("match", [Match(target=5), Match(best_of=3)])
def test_matches_are_played_to_their_end(match: Match) -> None:
    found = evaluate("threshold", "random", "margin", hands=60, match=match, seed=2)
    pairing = found.pairings[0]
    assert pairing.pairs == 30
    assert pairing.hands > 60
    assert pairing.win_rate.value >= pairing.hand_win_rate.value > 0.8
    assert pairing.as_leader > 0.5
    assert found.match == str(match)


ALL_EIGHT = frozenset(range(8))


def test_who_remembers_is_told_of_new_hands_before_each_half() -> None:
    diary = arena_players.Diary()
    evaluate(diary, "random", hands=16)
    begun = [place for place, each in enumerate(diary.told) if each == ("reset", ALL_EIGHT)]
    assert len(begun) == 2
    # Before them, one pair was played to warm up, of other deals.
    assert all(len(indices) == 1 for _, indices in diary.told[: begun[0]])
    dealt = [{hand for hand, alone in diary.hands if alone == wanted} for wanted in (True, False)]
    assert dealt[0]
    assert dealt[1]
    assert not dealt[0] & dealt[1]
    for half in (diary.told[begun[0] + 1 : begun[1]], diary.told[begun[1] + 1 :]):
        assert {what for what, _ in half} == {"act"}
        assert frozenset().union(*(indices for _, indices in half)) == ALL_EIGHT


def test_stateful_agent_is_reset_and_sits_on_one_side() -> None:
    found = evaluate(f"{PLAYERS}Counter", "random", hands=20, match=Match(best_of=3)).pairings[0]
    assert not found.forfeits
    agent = arena_players.Counter()
    with pytest.raises(ValueError, match="make a second one"):
        play_chunk(((agent, agent),) * 2, PlayConfig(load_rules("classic")), Task())


# -- bad players


@pytest.mark.parametrize(
    ("player", "kind", "example", "note"),
    [
        ("Lawless", "illegal", "played 53", "Lawless played an illegal card"),
        (
            "Raiser",
            "raised",
            r"RuntimeError: this hand is too hard \(deal.*; arena_players\.py:\d+",
            "Raiser raised an error",
        ),
    ],
)
def test_a_fault_forfeits_its_own_hand_and_is_named(
    player: str, kind: str, example: str, note: str
) -> None:
    try:
        found = evaluate(f"{PLAYERS}{player}", "random", hands=200, seed=1)
    except EveryHandForfeited as error:
        found = error.result
    (forfeit,) = found.pairings[0].forfeits
    assert (forfeit.agent, forfeit.kind) == (f"{PLAYERS}{player}", kind)
    assert 100 < forfeit.hands <= 200
    assert forfeit.hands < 200 or player == "Lawless"  # which does it in every hand
    assert re.search(example, forfeit.example)
    assert sum(note in each for each in found.notes) == 1
    assert found.pairings[0].win_rate.value < 0.4


@pytest.mark.parametrize("match", [None, Match(best_of=3)])
def test_one_whose_reset_raises_forfeits_those_hands_only(match: Match | None) -> None:
    found = evaluate(f"{PLAYERS}Rebel", f"{PLAYERS}Counter", hands=32, match=match)
    pairing = found.pairings[0]
    forfeit = pairing.forfeits[0]
    assert len(pairing.forfeits) == 1
    assert forfeit.agent == f"{PLAYERS}Rebel"
    assert "RuntimeError: not these (deal" in forfeit.example
    assert "trick 1" in forfeit.example
    # Of eight games in each half two begin without it: in a match, every hand of them.
    assert forfeit.hands == (8 if match is None else 16)
    assert pairing.pairs == 16
    assert found.complete


def test_wrong_number_of_answers_or_no_act_is_an_error() -> None:
    with pytest.raises(EveryHandForfeited, match="Silent forfeited every hand, so") as raised:
        evaluate(f"{PLAYERS}Silent", "random", hands=20)
    found = raised.value.result.pairings[0]
    assert found.win_rate.value == 0
    assert found.forfeits[0].hands == 20
    assert found.margin.value == -13
    assert 0 < found.win_rate.high < 0.5
    with pytest.raises(EveryHandForfeited, match="NotImplementedError: Idle has no act"):
        evaluate(type("Idle", (Agent,), {}), "random", hands=8)


def fails(views: Any, rng: Any) -> Any:
    raise KeyError("no such card")


def test_an_agent_that_always_fails_raises_its_own_error() -> None:
    with pytest.raises(
        EveryHandForfeited, match=r"^fails forfeited every hand.*: KeyError"
    ) as raised:
        evaluate(fails, ["random", "threshold"], hands=20)
    cause = raised.value.__cause__
    assert isinstance(cause, KeyError)
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)][-1] == "fails"
    assert [pairing.opponent for pairing in raised.value.result.pairings] == ["random", "threshold"]


def test_an_agent_that_always_fails_in_a_worker_tells_its_traceback() -> None:
    with pytest.raises(EveryHandForfeited, match=r"Broken forfeited every hand") as raised:
        ladder(["random", f"{PLAYERS}Broken", "threshold"], hands=20, workers=2)
    cause = str(raised.value.__cause__)
    assert re.search(r'File ".*arena_players\.py", line \d+, in act', cause)
    assert cause.endswith("RuntimeError: broken\n")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.result) == (str(raised.value), raised.value.result)
    assert len(again.result.pairings) == 3


def test_a_run_that_is_stopped_raises_no_error_for_forfeits() -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    stopped = evaluate(fails, "random", hands=2000, progress=stop)
    assert not stopped.complete
    assert stopped.forfeited_all == ("fails",)


def test_two_agents_that_fail_at_each_other_are_both_named() -> None:
    with pytest.raises(EveryHandForfeited) as raised:
        evaluate(f"{PLAYERS}Raiser", [f"{PLAYERS}Broken"], hands=200)
    broken, raiser = f"{PLAYERS}Broken", f"{PLAYERS}Raiser"
    assert raised.value.result.forfeited_all == (broken, raiser)
    with pytest.raises(EveryHandForfeited, match=r"^arena_players:Broken forfeited") as raised:
        evaluate(f"{PLAYERS}Raiser", [f"{PLAYERS}Broken", "random"], hands=200)
    assert raised.value.result.forfeited_all == (broken,)


def test_a_result_prints_its_notes() -> None:
    result = evaluate(f"{PLAYERS}Raiser", "random", hands=200)
    assert result.notes
    assert str(result).splitlines()[-len(result.notes) :] == [
        f"Note: {each}" for each in result.notes
    ]
    assert "Raiser raised an error and so forfeited" in str(result)
    assert not result.forfeited_all


def test_options_that_make_no_sense_are_refused() -> None:
    wrong = {"hands": 0, "until": 0.7, "workers": 0, "seed": -1}
    for option in (*wrong.items(), ("key", "5ec2"), ("key", "x" * 32)):
        name, value = option
        with pytest.raises(ValueError, match=f"^{name} is {value!r}"):
            evaluate("random", "random", **{name: value})
    agent = load_agent("random", "classic")  # an object stays in one process
    with pytest.raises(ValueError, match="workers=1"):
        evaluate(agent, "random", workers=2)
    assert evaluate(agent, "random", hands=10).pairings[0].win_rate.value == 0.5


# -- workers that die, and runs that are stopped


def test_workers_that_always_die_end_the_run_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("german_whist.common.executors.executor.MAX_DEATHS", 1)
    found = evaluate(f"{PLAYERS}Doomed", "threshold", hands=16, workers=2)
    assert not found.complete
    assert "died (exit status 9)" in found.notes[0]


@pytest.mark.parametrize(
    ("command", "number", "why"),
    [
        ("evaluate", signal.SIGINT, "Ctrl-C"),
        ("ladder", signal.SIGTERM, "SIGTERM"),
        ("ladder", signal.SIGHUP, "SIGHUP"),
    ],
)
def test_a_command_says_which_signal_stopped_it(
    command: str,
    number: int,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also where the first was swallowed, as compilers do."""
    seen: list[int] = []

    def signalled(self: ChunkPlayer, task: Task) -> Chunk:
        seen.append(2 * task.pairs)
        with suppress(KeyboardInterrupt):
            if len(seen) == 3:
                os.kill(os.getpid(), number)
        return play(self, task)

    play = ChunkPlayer.play
    monkeypatch.setattr(ChunkPlayer, "play", signalled)
    words = ["threshold", "random"] if command == "ladder" else ["threshold", "--against", "random"]
    assert main([command, *words, "--hands", "20000"]) == 128 + number
    assert len(seen) == 3
    told = capsys.readouterr().out
    assert f"The run is not complete: stopped by {why}." in told
    assert f"classic, seed 0: {sum(seen):,} hands" in told
    assert "threshold – random" in told


def test_ctrl_c_before_anything_is_played_gives_an_empty_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compiling(*_: object) -> None:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        raise SystemError("a compiler that swallowed what a signal raised")

    monkeypatch.setattr("german_whist.evaluation.chunk_player.warm_up_play", compiling)
    for found in (evaluate("threshold", "random"), ladder(["threshold", "random"])):
        assert not found.complete
        assert found.pairings == ()
        assert found.signal == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- ladders


def test_unknown_option_is_refused_with_nearest_name() -> None:
    with pytest.raises(TypeError, match=r"there is no option 'seeds': .*; did you mean 'seed'"):
        evaluate("random", "random", seeds=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"there is no option 'pairs': there are agents, .* hands"):
        ladder(["random", "threshold"], pairs=10)  # type: ignore[call-arg]


@pytest.mark.parametrize("flag", ["play_out", "reduce_variance"])
def test_arena_takes_no_words_for_flags(flag: str) -> None:
    with pytest.raises(ValueError, match=f"{flag} is 'no': it has to be True or False"):
        evaluate("random", "random", hands=2, **{flag: "no"})


def test_result_prints_a_line_for_each_pairing() -> None:
    result = evaluate("threshold", ["random", "counting"], hands=20, seed=1)
    first, *lines = str(result).splitlines()
    assert first == "Result of classic, seed 1"
    assert lines[2:] == [f"Note: {note}" for note in result.notes]
    for line, pairing in zip(lines[:2], result.pairings, strict=True):
        wins = percent_with_interval(pairing.win_rate)
        assert line == f"threshold against {pairing.opponent}: {wins} of 20 hands"
