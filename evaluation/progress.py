"""How a run of the arena is going: how much of it is done, and the result in play."""

from __future__ import annotations

from collections.abc import Callable

from ..common.progress import Progress
from .formats import percent_with_reach
from .tournament import Arena


def shown_by(progress: Progress) -> Callable[[Arena], None]:
    """What `evaluate` and `ladder` tell of a run, shown there when it is time."""

    def tell(arena: Arena) -> None:
        if progress.due():
            progress.tell(fraction_done(arena), status_of(arena))

    return tell


def fraction_done(arena: Arena) -> float:
    """How much of a run is behind it, as far as that can be told."""
    parts = []
    for place, course in enumerate(arena.courses):
        part = course.tally.pairs / arena.pairs
        if arena.until is not None and course.tally.pairs:
            # The interval shrinks with the root of the pairs.
            reach = arena.pairing(place).win_rate.half_width
            part = max(part, min(1.0, (arena.until / reach) ** 2) if reach else 1.0)
        parts.append(1.0 if course.done else part)
    return sum(parts) / len(parts)


def status_of(arena: Arena) -> str:
    """The pairing in play with its result so far, and what was played in all."""
    hands = f"{arena.hands:,} {'matches' if arena.setting.match else 'hands'}"
    playing = [place for place, each in enumerate(arena.courses) if each.tally.pairs]
    open_ones = [place for place in playing if not arena.courses[place].done] or playing
    if not open_ones:
        return hands
    # Of several pairings the one whose result is least sure.
    shown = max(map(arena.pairing, open_ones), key=lambda each: each.win_rate.half_width)
    return f"{shown.player} – {shown.opponent} {percent_with_reach(shown.win_rate)}, {hands}"
