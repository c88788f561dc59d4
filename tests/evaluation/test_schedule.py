"""The schedule gives out chunks of deals, and counts each pairing's results in their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from german_whist.engine.rules import load_rules
from german_whist.evaluation.figures import Tally
from german_whist.evaluation.match import Chunk, MatchConfig
from german_whist.evaluation.schedule import Audit, Limits, Schedule


def test_schedule_ignores_chunks_of_an_earlier_attempt() -> None:
    """A worker may return a chunk after its pairing began anew."""
    audit = Audit(MatchConfig(load_rules("classic"), key=bytes(16)))
    schedule = Schedule([(("one", "two"), (True, True))], Limits(16), audit)
    first, second = schedule.next_task(), schedule.next_task()
    assert first is not None
    assert second is not None
    assert first.audited
    refuted = Chunk(Tally(first.pairs, failed=(1, 0)), np.zeros(first.pairs, np.float32))
    schedule.add(first, refuted)
    (pairing,) = schedule.pairings
    assert (pairing.attempt, pairing.trusted_exact) == (1, (False, True))
    stale = Chunk(Tally(second.pairs), np.zeros(second.pairs, np.float32))
    schedule.add(replace(second, chunk=0), stale)
    assert (pairing.counted, pairing.tally.pairs, pairing.waiting) == (0, 0, {})
