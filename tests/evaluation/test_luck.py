"""Results less the luck of the stock: the same on average, exactly, and a narrower interval."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from german_whist import Game, Match
from german_whist.agents import load_agent
from german_whist.cli import main
from german_whist.engine.endgame import new_scratch
from german_whist.engine.endgame.game_values import endgame_tablebases
from german_whist.engine.rules import load_rules
from german_whist.evaluation import aivat, evaluate, ladder
from german_whist.evaluation import kernels as k
from german_whist.evaluation.chunk_player import PlayConfig, Task, play_chunk
from german_whist.evaluation.elo import ELO_SCALE
from support import KEY

SMALL: dict[str, Any] = {"suits": 2, "ranks": 5, "hand": 2}


@pytest.mark.parametrize(
    ("rules", "network"),
    [
        ({}, True),
        ({"choice": True, "face_up": 2}, True),
        ({"choice": True}, False),
        ({"counts": "all", "pay": "margin"}, False),
        ({"contract": "low"}, False),
        ({"trumps": "none", "faced": "after-first"}, False),
    ],
    ids=["classic", "open-stock", "draft", "all-tricks", "low", "no-trump"],
)
def test_luck_is_zero_over_all_orders_of_the_stock(
    rules: dict[str, Any], network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten cards: of each deal all 120 orders of the stock below its upcard are played.

    What a network of the full pack says of so small a deck is mostly wrong, which is no matter.
    """
    if network:
        weights = aivat.value_network_for(load_rules("classic"))
        monkeypatch.setattr(aivat, "value_network_for", lambda _rules: weights)
    small, deal_half = load_rules(SMALL | rules), k.deal_half

    def every_order(batch: k.Games, deals: k.Deals, half: int) -> None:
        deal_half(batch, deals, half)
        batch.games[:] = batch.games[:1]  # whatever else is drawn is the same in all of them
        batch.seats[:] = batch.seats[:1]
        orders = [*permutations(batch.games["deal"][0, 5:10].copy())]
        batch.games["deal"][:, 5:10] = orders

    monkeypatch.setattr(k, "deal_half", every_order)
    seen = 0
    for start in range(4):
        one, two = load_agent("random-exact", small), load_agent("counting", small)
        config = PlayConfig(small, None, 3, bytes.fromhex(KEY), reduce_variance=True)
        task = Task(start=start, pairs=120)
        tally = play_chunk(((one, two), (one, two)), config, task).tally
        luck = tally.totals[k.SCORE_LUCK :] / aivat.LUCK_UNITS
        # A game's luck is rounded to parts, of which 240 add up here.
        assert np.abs(luck).max() < 240 / aivat.LUCK_UNITS
        seen += int(tally.moments[k.MARGIN_LUCK, k.MARGIN_LUCK] > 0)
    assert seen == 4


@pytest.mark.parametrize(
    ("rules", "tricks"),
    [
        ("classic", 1),
        ("classic", 9),
        ("classic", 10),
        ("classic", 12),
        ("club-all", 9),
        ("colour", 12),
        ("no-trump", 12),
        ("quick", 5),
        ("small-last", 6),
    ],
)
def test_luck_is_zero_over_all_next_stock_cards(rules: str, tricks: int) -> None:
    """The named sets, by the network and the solver alone and after another trick."""
    game = Game(rules, seed=tricks)
    for _ in range(2 * tricks):
        game.play(game.legal()[0])
    at = 2 * game.rules.hand + 2 * tricks
    unseen = game.array["deal"][0, at - 1 : len(game.rules.deck)].copy()
    ways = [*permutations(range(len(unseen)), 2)]
    games = np.repeat(game.array, len(ways))
    loser = 1 - int(game.array["leader"][0])
    for each, (drawn, up) in zip(games, ways, strict=True):
        rest = [place for place in range(len(unseen)) if place not in (drawn, up)]
        each["deal"][at - 1 : len(game.rules.deck)] = unseen[[drawn, up, *rest]]
        each["hand"][loser] ^= np.uint64((1 << int(unseen[0])) ^ (1 << int(unseen[drawn])))
    luck, count = np.zeros((len(ways), aivat.METRICS)), np.arange(len(ways))
    tablebases = endgame_tablebases(game.rules)
    estimator = aivat.new_value_estimator(game.rules, tablebases[0], tablebases[-1], new_scratch())
    batch = k.new_games(game.rules.array(), len(ways))._replace(games=games)
    values = np.zeros_like(luck)
    for number in count:
        aivat.add_luck(batch, count[number : number + 1], estimator, luck)
        values[number] = estimator.totals[0]
    # The mean is that of all pairs of cards, the actual one among them.
    np.testing.assert_allclose(luck, values - values.mean(axis=0), atol=1e-9)
    assert np.abs(luck.sum(axis=0)).max() < 1e-9 * len(ways)
    assert luck.std(axis=0).max() > 0


def test_the_interval_is_narrower_and_the_hands_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "champion-1", "--against", "counting", "--hands", "80", "--key", KEY]
    plain, less = (tmp_path / f"{name}.json" for name in ("plain", "less"))
    assert main([*words, "--json", str(plain)]) == 0
    assert "as played" not in capsys.readouterr().out
    assert main([*words, "--reduce-variance", "--json", str(less)]) == 0
    assert "as played" in capsys.readouterr().out
    found = [json.loads(path.read_text()) for path in (plain, less)]
    assert found[1]["run"]["command"].count("--key") == 1
    usual, narrow = (each["pairings"][0] for each in found)
    # What was played is the same; only what is told of it is not.
    assert usual["as_played"] is None
    assert narrow["as_played"] == usual["win_rate"]
    assert narrow["stages"] == usual["stages"]
    # With less than half of the luck taken out these would be 0.80, 0.76 and 0.79.
    for figure, part in (("win_rate", 0.76), ("margin", 0.62), ("points", 0.76)):
        wide, slim = (each[figure]["high"] - each[figure]["low"] for each in (usual, narrow))
        assert 0 < slim < part * wide, figure
        assert usual[figure]["low"] < narrow[figure]["value"] < usual[figure]["high"]
    assert any("without the luck of the stock" in note for note in found[1]["notes"])


def test_a_rating_is_as_sure_as_the_win_rate_less_luck() -> None:
    """Between two players Elo is a function of the win rate, whose slope scales the interval."""
    found = ladder(["counting", "upcard-value:3"], hands=24, seed=2, key=KEY, reduce_variance=True)
    anchored = found.ladder
    assert anchored is not None
    rate, elo = found.pairings[0].win_rate, anchored.elo[0]
    slope = ELO_SCALE / (rate.value * (1 - rate.value))
    # Each is half as far from the mean of both as from the other.
    assert elo.margin_of_error == pytest.approx(slope * rate.margin_of_error / 2)


def test_ladder_rates_win_rates_beyond_100_percent_as_played() -> None:
    players: list[str] = ["random", "champion-1", "counting"]
    options: dict[str, Any] = {"hands": 12, "seed": 6, "key": KEY, "anchor": "counting"}
    found = ladder(players, **options, reduce_variance=True)
    beyond = [pair for pair in found.pairings if pair.win_rate.high >= 1 or pair.win_rate.low <= 0]
    assert any(pair.win_rate.value > 1 or pair.win_rate.value < 0 for pair in beyond)
    assert found.ladder is not None
    for rating in found.ladder.elo:
        assert abs(rating.value - 1000) < 1000
    note = next(note for note in found.notes if "beyond 0 or 100 %" in note)
    assert note.endswith("Ratings count these as played.")
    assert all(f"{pair.agent} – {pair.opponent}" in note for pair in beyond)


def test_evaluation_explains_win_rates_beyond_100_percent() -> None:
    found = evaluate("champion-1", "random", hands=12, seed=6, key=KEY, reduce_variance=True)
    assert found.pairings[0].win_rate.high > 1
    note = next(note for note in found.notes if "beyond 0 or 100 %" in note)
    assert "Ratings" not in note


def test_what_nobody_can_tell_the_luck_of_is_refused() -> None:
    for rules, reason in (("humbug", "set cards aside"), ("race-7", "are a race")):
        with pytest.raises(ValueError, match=f"positions of {rules}, whose rules {reason}"):
            evaluate("random", "threshold", rules, hands=10, reduce_variance=True)
    with pytest.raises(ValueError, match="reduce_variance applies to single hands, not to "):
        evaluate("random", "threshold", hands=10, match=Match(target=5), reduce_variance=True)
