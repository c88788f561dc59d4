"""Intervals hold what they promise, and ratings find the strengths that made the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from german_whist.engine.records import GameRecord
from german_whist.evaluation import evaluate, ladder
from german_whist.evaluation.elo import ELO_SCALE, fit_ratings
from german_whist.evaluation.results import fit_ladder
from german_whist.evaluation.statistics import (
    Estimate,
    Moments,
    difference_of_means,
    mean_estimate,
    ratio,
    t_quantile,
    win_rate_estimate,
)
from german_whist.evaluation.tournament import Arena


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 6, 7, 11, 29, 999])
def test_t_quantile_is_students(df: int) -> None:
    near = 2e-5 if df < 6 else 0.9 / df**4  # what the series leaves out is of this size
    assert t_quantile(df) == pytest.approx(special.stdtrit(df, 0.975), rel=near)


@pytest.mark.parametrize("df", [1.3, 1.7, 2.5, 3.9, 4.6, 5.5, 7.3])
def test_t_quantile_of_a_part_of_a_degree(df: float) -> None:
    """Which Welch's interval has."""
    assert t_quantile(df) == pytest.approx(special.stdtrit(df, 0.975), rel=0.002)


def test_difference_of_means_is_welchs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        first, second = rng.normal(0, 1, 3), rng.normal(1, 3, 5)
        found = difference_of_means(first, second)
        known = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
        margin = (known.high - known.low) / 2
        assert found.margin_of_error == pytest.approx(margin, rel=0.002)


def estimates(x: np.ndarray) -> tuple[float, float]:
    count, total = len(x), x.sum()
    return ratio(Moments(count, total, h=4 * count, xx=(x * x).sum(), xh=4 * total, hh=16 * count))


@pytest.mark.parametrize("pairs", [2, 3, 5, 12])
def test_few_pairs_take_the_quantile_of_student(pairs: int) -> None:
    t = special.stdtrit(pairs - 1, 0.975)
    assert mean_estimate(0.3, 0.1, pairs - 1).margin_of_error == pytest.approx(0.1 * t, rel=1e-3)
    found = win_rate_estimate(0.3, 0.1, pairs, games=1000)
    for end in (found.low, found.high):  # Wilson's ends are so far from the share
        far = t * 0.1 * np.sqrt(end * (1 - end) / (0.3 * 0.7))
        assert abs(end - 0.3) == pytest.approx(far, rel=1e-3)


def test_extreme_samples_have_the_intervals_that_they_deserve() -> None:
    for wins in (4, 0):  # a clean sweep is no certainty
        found = win_rate_estimate(*estimates(np.full(20, wins)), 20)
        assert found.value == wins / 4
        assert 0.1 < found.high - found.low < 0.3
    always = win_rate_estimate(1.0, 0.0, 10)
    assert always.margin_of_error == always.value - always.low > 0.2
    level = win_rate_estimate(*estimates(np.full(20, 2)), 20)
    assert level.low == pytest.approx(0.5 - level.margin_of_error)
    assert 0.05 < level.margin_of_error < 0.08
    single = win_rate_estimate(*estimates(np.array([2])), 1)
    assert (single.low, single.high) == (0.0, 1.0)


# Probabilities of deals of which both games are lost, of split ones, and of those of which both
# are won: `counting` against `threshold`, players that are nearly equal, and one that is better
# where they differ.
PAIRS = {
    "similar": (0.11, 0.59, 0.30),
    "nearly equal": (0.0, 0.998, 0.002),
    "equal": (0.0025, 0.995, 0.0025),
    "better": (0.0, 0.95, 0.05),
    "strong": (0.01, 0.18, 0.81),
}


@pytest.mark.parametrize("hands", [4, 6, 10, 20, 200, 1000])
@pytest.mark.parametrize("probabilities", PAIRS.values(), ids=PAIRS)
def test_intervals_cover_the_truth_where_few_deals_differ(
    probabilities: tuple[float, float, float], hands: int
) -> None:
    """The standard error of the coverage is 0.5 %."""
    lost, _, won = probabilities
    truth, pairs, rounds = (1 + won - lost) / 2, hands // 2, 2000
    counts = np.random.default_rng(hands).multinomial(pairs, probabilities, rounds)
    covered = 0
    for sample, times in zip(*np.unique(counts, axis=0, return_counts=True), strict=True):
        found = win_rate_estimate(*estimates(np.repeat([0, 2, 4], sample)), pairs)
        covered += times * (found.low <= truth <= found.high)
    assert covered / rounds >= 0.93


# -- ratings


def scores_of(elo: np.ndarray, games: np.ndarray) -> np.ndarray:
    return games / (1 + 10 ** ((elo[None, :] - elo[:, None]) / 400))


def round_robin(count: int, games: float) -> np.ndarray:
    return games * (1 - np.eye(count))


def test_ratings_are_found_from_sparse_distant_results() -> None:
    generator = np.random.default_rng(3)
    for players in (2, 3, 5):
        for _ in range(20):
            elo = 1000 + generator.normal(size=players) * 900
            games = np.triu(10 ** generator.uniform(0, 4, (players, players)), 1)
            games[0, 3:] = 0  # not all have met
            games += games.T
            scores = scores_of(elo, games)
            ratings, _ = fit_ratings(games, scores, anchor=0)
            values = np.array([rating.value for rating in ratings])
            assert values == pytest.approx(elo - elo[0] + 1000, abs=0.5)
            mean = np.mean([rating.value for rating in fit_ratings(games, scores)[0]])
            assert mean == pytest.approx(1000)


def test_two_players_are_rated_by_the_formula() -> None:
    games = round_robin(2, 100)
    (found, _), _ = fit_ratings(games, np.array([[0, 64], [36, 0]]), anchor=1)
    assert found.value == pytest.approx(1000 + 400 * np.log10(64 / 36))
    assert found.margin_of_error == pytest.approx(
        1.96 * ELO_SCALE / np.sqrt(100 * 0.64 * 0.36), rel=1e-3
    )


def test_clean_sweep_is_rated_by_half_a_tie_without_interval() -> None:
    games, scores = round_robin(3, 10), np.array([[0, 10, 10], [0, 0, 5], [0, 5, 0]])
    found, padded = fit_ratings(games, scores)
    assert padded
    assert np.isfinite([each.value for each in found]).all()
    assert found[0].value > found[1].value == pytest.approx(found[2].value)
    assert not np.isfinite([each.margin_of_error for each in found]).any()
    # Against an anchor that two of them are tied to, theirs are known.
    (first, second, third), _ = fit_ratings(games, scores, anchor=1)
    assert np.isinf(first.margin_of_error)
    assert second.margin_of_error == 0
    assert 0 < third.margin_of_error < 1000


def test_results_that_never_varied_tell_no_interval() -> None:
    scores = np.array([[0, 5], [5, 0]])
    found, padded = fit_ratings(round_robin(2, 10), scores, np.zeros((2, 5)))
    assert not padded
    assert [each.value for each in found] == [1000, 1000]
    assert np.isinf([each.margin_of_error for each in found]).all()


# -- ratings of ladders, whose pairings share their deals

SMALL = "2x5-h3"


def scores_by_deal(lines: list[str]) -> dict[tuple[str, str], dict[int, float]]:
    """Games that the first of two players won on each deal, from the records of a ladder."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for line in lines:
        record = GameRecord.from_line(line)
        assert record.number is not None
        names = record.meta["players"]
        one, other = sorted(names)
        payoffs = record.payoffs[names.index(one)]
        of_deals = found.setdefault((one, other), {})
        of_deals[record.number] = of_deals.get(record.number, 0.0) + (1 + np.sign(payoffs)) / 2
    return found


def margins_of_error_by_hand(
    players: list[str], scores: dict[tuple[str, str], dict[int, float]]
) -> list[float]:
    """Margins of error of ratings, deal by deal in plain loops; the first player is the anchor."""
    rating = dict.fromkeys(players, 0.0)

    def win_prob(one: str, other: str) -> float:
        return 1 / (1 + np.exp(rating[other] - rating[one]))

    for _ in range(400):  # Zermelo's iteration
        for name in players:
            won, against = 0.0, 0.0
            for (one, other), of_deals in scores.items():
                if name in (one, other):
                    scored, both = sum(of_deals.values()), 2 * len(of_deals)
                    rival = other if name == one else one
                    won += scored if name == one else both - scored
                    against += both / (np.exp(rating[name]) + np.exp(rating[rival]))
            rating[name] = np.log(won / against)
    slope = np.zeros((len(players), len(players)))
    for (one, other), of_deals in scores.items():
        apart = np.array([(name == one) - float(name == other) for name in players])
        weight = 2 * len(of_deals) * win_prob(one, other) * win_prob(other, one)
        slope += weight * np.outer(apart, apart)
    bread = np.zeros_like(slope)
    bread[1:, 1:] = np.linalg.inv(slope[1:, 1:])
    influences = []
    for deal in {deal for of_deals in scores.values() for deal in of_deals}:
        off = np.zeros(len(players))
        for (one, other), of_deals in scores.items():
            if deal in of_deals:
                count = len(of_deals)
                apart = of_deals[deal] - sum(of_deals.values()) / count
                off[players.index(one)] += apart * np.sqrt(count / (count - 1))
                off[players.index(other)] -= apart * np.sqrt(count / (count - 1))
        influences.append(bread @ off * 400 / np.log(10))
    found = [0.0]
    for of_player in np.transpose(influences)[1:]:
        square, fourth = (np.mean(of_player**power) for power in (2, 4))
        free = min(len(of_player) - 1, int(2 * len(of_player) / (fourth / square**2 - 1)))
        found.append(special.stdtrit(free, 0.975) * np.sqrt(len(of_player) * square))
    return found


@pytest.mark.parametrize(
    ("options", "deals"), [({"hands": 60}, {30}), ({"until": 0.04, "hands": 400}, {128, 160, 168})]
)
def test_rating_intervals_equal_residuals_added_by_deal(
    options: dict[str, float], deals: set[int]
) -> None:
    players, lines = ["counting", "random-exact", "threshold", "upcard-value:3"], list[str]()
    found = ladder(
        players, SMALL, seed=5, key="05" * 16, anchor="counting", records=lines.append, **options
    )  # type: ignore[arg-type]
    scores = scores_by_deal(lines)
    assert {len(of_deals) for of_deals in scores.values()} == deals
    assert found.ladder is not None
    margins_of_error = [elo.margin_of_error for elo in found.ladder.elo]
    # The series for Student's quantile is off by 0.9 / n^4 of n degrees of freedom; here n >= 7.
    assert margins_of_error == pytest.approx(
        margins_of_error_by_hand(players, scores), rel=0.9 / 7**4
    )


def rated(players: list[str], hands: int) -> Sequence[Estimate]:
    found = ladder(players, SMALL, seed=2, key="02" * 16, anchor="counting", hands=hands).ladder
    assert found is not None
    return found.elo


def test_the_same_deals_played_again_tell_nothing_more() -> None:
    """Clones of a player play its every card again, which is no second observation."""
    once = rated(["counting", "a=upcard-value:3"], hands=100)[1]
    names = ["counting", *(f"{clone}=upcard-value:3" for clone in "abc")]
    for elo in rated(names, hands=100)[1:]:
        assert elo.value == pytest.approx(once.value)
        assert elo.margin_of_error == pytest.approx(once.margin_of_error)


def test_figures_that_never_varied_tell_no_interval() -> None:
    (pairing,) = evaluate("counting", "random", hands=4, seed=2, key="00" * 16).pairings
    assert pairing.points.value == 1
    assert pairing.points.margin_of_error == np.inf
    assert np.isfinite(pairing.margin.margin_of_error)


def test_players_that_tied_every_deal_have_an_interval() -> None:
    (pairing,) = evaluate("counting", "a=counting", hands=200, seed=2, key="00" * 16).pairings
    for rate in (pairing.win_rate, pairing.hand_win_rate):
        assert rate.value == 0.5
        assert 0.01 < rate.margin_of_error < 0.02
    for number in (pairing.margin, pairing.points):
        assert number.value == 0
        assert number.margin_of_error == np.inf


@pytest.mark.parametrize("reduce_variance", [False, True])
def test_until_goes_on_where_every_deal_is_tied(reduce_variance: bool) -> None:
    found = evaluate(
        "counting",
        "a=counting",
        "quick",
        hands=600,
        until=0.005,
        seed=2,
        key="00" * 16,
        reduce_variance=reduce_variance,
    )
    assert found.pairings[0].hands > 256
    assert found.pairings[0].win_rate.margin_of_error <= 0.005


def test_two_players_that_tie_every_deal_have_no_interval() -> None:
    """Clones win and lose alike; and one deal tells nothing of how much deals differ."""
    for players, hands in ((["counting", "a=counting"], 40), (["counting", "upcard-value:3"], 2)):
        assert [elo.margin_of_error for elo in rated(players, hands)] == [0, np.inf]


SIMILAR = ["threshold", "upcard-value", "upcard-value:3", "counting"]
EIGHT = [*SIMILAR, "upcard-value:5", "upcard-value:8", "upcard-value:10", "random-exact"]


@pytest.mark.thorough
@pytest.mark.parametrize(("players", "hands"), [(SIMILAR, 200), (EIGHT, 100)], ids=str)
def test_ladder_intervals_cover_ratings_of_a_long_ladder(players: list[str], hands: int) -> None:
    """Players of one kind do well on the same deals, so that pairings move together.

    Successive deals of the long ladder are the short ones, each rated as a ladder of its own.
    """
    ladders, arenas = 1000, list[Arena]()
    options: dict[str, Any] = {"rules": "quick", "seed": 1, "key": "00" * 16, "anchor": players[0]}
    long = ladder(players, hands=hands * ladders, progress=arenas.append, **options).ladder
    pairings = tuple(arenas[-1].pairing(played) for played in arenas[-1].schedule.pairings)
    scores = [np.concatenate(played.scores) for played in arenas[-1].schedule.pairings]
    found = [
        fit_ladder(tuple(players), pairings, part, players[0])
        for part in zip(*(np.split(each, ladders) for each in scores), strict=True)
    ]
    assert found[0] == ladder(players, hands=hands, **options).ladder
    low, high = np.array([[(elo.low, elo.high) for elo in each.elo] for each in found]).T
    true = np.array([[elo.value] for elo in long.elo])
    covered = np.mean((low <= true) & (true <= high), axis=1)
    # The standard error of each player's coverage is 0.7 %.
    assert ((covered[1:] >= 0.93) & (covered[1:] <= 0.97)).all()


@pytest.mark.parametrize(("probability", "pairs"), [(0.5, 40), (0.6, 150), (0.9, 150), (0.97, 300)])
def test_win_rate_intervals_cover_the_truth(probability: float, pairs: int) -> None:
    """Good cards win in both seats, so the two games of a pair are correlated."""
    normal, rounds = np.random.default_rng(pairs).normal, 1000
    luck, own = normal(size=(rounds, 1, pairs)), normal(size=(rounds, 2, pairs))
    wins = np.array([[1], [-1]]) * luck + 0.7 * own < special.ndtri(probability)
    truth = special.ndtr(special.ndtri(probability) / np.sqrt(1.49))
    found = [win_rate_estimate(*estimates(2 * won.sum(0)), pairs) for won in wins]
    assert 0.93 <= np.mean([each.low <= truth <= each.high for each in found]) <= 0.975


def test_interval_of_many_hands_is_that_of_their_variance() -> None:
    wins = np.repeat([0, 2, 4], (120, 660, 220))
    value, error = estimates(wins)
    found = win_rate_estimate(value, error, 1000)
    assert found.margin_of_error == pytest.approx(t_quantile(999) * error, rel=0.005)
