"""Where a run of the arena stands is told truly, when it is time."""

from __future__ import annotations

import io
import re
import time

import pytest

from german_whist import Match
from german_whist.common.progress import Progress
from german_whist.evaluation import Arena, evaluate
from german_whist.evaluation.tournament import show_on
from support import KEY


def test_progress_grows_to_all_and_shows_result_so_far() -> None:
    fractions: list[float] = []

    def look(arena: Arena) -> None:
        fractions.append(arena.schedule.fraction_done())
        fraction = sum(each.tally.pairs for each in arena.schedule.pairings) / (
            2 * arena.config.stopping_rule.pairs
        )
        assert fractions[-1] == pytest.approx(fraction)
        told = arena.status()
        assert told.endswith(f", {arena.hands:,} in all")
        # Of several pairings in play the one whose result is least sure.
        playing = [each for each in arena.schedule.pairings if not each.done]
        if playing and all(each.tally.pairs for each in playing):
            shown = max(map(arena.pairing, playing), key=lambda each: each.win_rate.margin_of_error)
            assert told.startswith(f"threshold – {shown.opponent} ")
            # The rate stands beside the hands that it is of.
            assert f" % of {shown.hands:,} hands, " in told

    evaluate("threshold", ["random", "random-exact"], hands=400, key=KEY, progress=look)
    assert len(fractions) > 2
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1


def test_a_run_is_shown_when_it_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with Progress("playing", out=out) as progress:
        tell = show_on(progress)

        def later(arena: Arena) -> None:
            tell(arena)
            now[0] += 11

        evaluate(
            "threshold",
            "random",
            "quick",
            match=Match(best_of=3),
            hands=80,
            key=KEY,
            progress=later,
        )
    first = out.getvalue().split("\n")[0]
    assert first.startswith("playing")
    assert "%" in first
    assert "threshold – random" in first
    assert re.search(r"% of \d+ matches", first)
    assert "in all" not in first
