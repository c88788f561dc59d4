"""How a run is going: a bar with the running result on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from typing import TextIO

from .report import duration, percent_with_reach
from .run import Arena

_BAR = 12
_SECONDS_A_LINE = 10.0
_SECONDS_A_FRAME = 0.1
_FIRST_SECONDS = 2.0


@dataclass(frozen=True)
class Mark:
    """How far a run was at a time."""

    seconds: float
    done: float


class ProgressLine:
    """Shows a run that goes on; give it to `Arena.play`, and call `close` at the end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._alive = out.isatty()
        self._next = time.monotonic() + (0.0 if self._alive else _FIRST_SECONDS)
        self._drawn = False
        self._warm: Mark | None = None

    def __call__(self, arena: Arena) -> None:
        """Show where the run is, if it is time."""
        now = time.monotonic()
        if self._warm is None and _everybody_plays(arena):
            self._warm = Mark(arena.seconds, fraction_done(arena))
        if now < self._next:
            return
        self._next = now + (_SECONDS_A_FRAME if self._alive else _SECONDS_A_LINE)
        if self._alive:
            width = shutil.get_terminal_size().columns - 1
            self._out.write(
                "\r" + status_of(arena, bar=True, since=self._warm)[:width].ljust(width)
            )
            self._drawn = True
        else:
            self._out.write(status_of(arena, bar=False, since=self._warm) + "\n")
        self._out.flush()

    def close(self) -> None:
        """Leave the line to what follows."""
        if self._drawn:
            width = shutil.get_terminal_size().columns - 1
            self._out.write("\r" + " " * width + "\r")
            self._out.flush()


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


def _everybody_plays(arena: Arena) -> bool:
    """Whether all that is loaded and compiled in the first chunks is behind a run."""
    counted = [course.counted for course in arena.courses]
    return all(counted) and sum(counted) >= arena.workers


def status_of(arena: Arena, bar: bool, since: Mark | None = None) -> str:
    """A line on where a run is: how far, the pairing in play, and the time left.

    How fast it plays is told from what came after a mark.
    """
    done = fraction_done(arena)
    units = "matches" if arena.setting.match else "hands"
    parts = [f"{100 * done:3.0f} %"]
    if bar:
        full = round(_BAR * done)
        parts[0] = f"[{'#' * full}{' ' * (_BAR - full)}] {parts[0]}"
    playing = [place for place, each in enumerate(arena.courses) if each.tally.pairs]
    for place in _least_sure(arena, playing):
        each = arena.pairing(place)
        parts.append(f"{each.player} – {each.opponent} {percent_with_reach(each.win_rate)}")
    parts.append(f"{arena.hands:,} {units}")
    if since is not None and arena.seconds - since.seconds > 1 and done > since.done:
        a_second = (done - since.done) / (arena.seconds - since.seconds)
        parts.append(f"{duration((1 - done) / a_second)} left")
    return ", ".join(parts)


def _least_sure(arena: Arena, playing: list[int]) -> list[int]:
    """Of several pairings show the one whose result is least sure."""
    open_ones = [place for place in playing if not arena.courses[place].done] or playing
    return sorted(open_ones, key=lambda place: -arena.pairing(place).win_rate.half_width)[:1]
