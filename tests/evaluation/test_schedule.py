"""A pairing stops at a number of pairs, or at a precision of the win rate."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist.evaluation import kernels as k
from german_whist.evaluation.chunk_player import Chunk
from german_whist.evaluation.schedule import PairingProgress, Schedule, StoppingRule
from german_whist.evaluation.tally import Tally, win_rate_of


def win_rate_at_stop(stopping_rule: StoppingRule, wins: np.ndarray) -> tuple[float, float, float]:
    """Win rate and interval where a pairing stops, from the games won on each deal."""
    tally, wins = Tally(), 2 * wins
    for start in range(0, len(wins), stopping_rule.chunk):
        part = wins[start : start + stopping_rule.chunk]
        tally.pairs += len(part)
        tally.totals[k.RESULT] += part.sum()
        tally.moments[k.RESULT, k.RESULT] += np.square(part).sum()
        if stopping_rule.reached(tally):
            break
    found = win_rate_of(tally)
    return found.value, found.low, found.high


@pytest.mark.parametrize(
    ("lost", "won", "until"),
    [
        (0.25, 0.25, 0.03),
        (0.81, 0.01, 0.03),
        (0.96, 0.0004, 0.01),
        (0.99, 0.0, 0.005),
        (0.0, 0.05, 0.01),
        (0.0, 0.002, 0.0025),
    ],
)
def test_limits_until_biases_by_an_eighth_at_most(lost: float, won: float, until: float) -> None:
    """The bounds on the page that explains `--until`, with some room for chance."""
    truth, rounds, rng = (1 + won - lost) / 2, 500, np.random.default_rng(8)
    probabilities = (lost, 1 - lost - won, won)
    deals = rng.choice(3, (rounds, 4096), p=probabilities)
    found = np.array([win_rate_at_stop(StoppingRule(1 << 40, until), each) for each in deals])
    bias, error = found[:, 0].mean() - truth, found[:, 0].std() / rounds**0.5
    assert abs(bias) < until / 8 + 2 * error
    assert np.mean((found[:, 1] <= truth) & (truth <= found[:, 2])) > 0.9


def chunk_of(wins: np.ndarray, number: int) -> Chunk:
    tally = Tally()
    tally.pairs = len(wins)
    tally.totals[k.RESULT] = wins.sum()
    tally.moments[k.RESULT, k.RESULT] = np.square(wins).sum()
    return Chunk(tally=tally, scores=wins, luck=np.zeros(0), records=[f"chunk {number}"])


def test_chunks_count_in_their_order_whichever_was_played_first() -> None:
    """A worker that is done first changes neither the end nor the result."""
    chance = np.random.default_rng(4)
    # The first chunks are level, and those after them lost: an early end would tell.
    deals = np.concatenate([np.tile([2, -2], 96), np.full(320, -2)]).astype(float)
    results = []
    for shuffled in (False, True):
        written: list[str] = []
        pairing, rule = PairingProgress(("a", "b"), (False, False)), StoppingRule(512, 0.1)
        schedule = Schedule([pairing], rule, write_record=written.append)
        tasks = [*iter(schedule.next_task, None)]
        for place in chance.permutation(len(tasks)) if shuffled else range(len(tasks)):
            task = tasks[place]
            part = deals[task.start : task.start + task.pairs]
            schedule.add(task, chunk_of(part, int(task.start)))
        assert pairing.done
        results.append((pairing.tally.pairs, pairing.tally.totals.tolist(), written))
    assert results[0] == results[1]
    assert results[0][0] < len(deals)
