# pyright: strict
"""An evening at the terminal: what goes on or begins, how it is shown, and what is kept of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from ..engine.view import View
from .helping import Adviser
from .sitting import HUMAN, Settings, Sitting, SittingError
from .statistics import statistics_of
from .store import Kept, Store, new_id
from .terminal_door import Door, ask_in_lines
from .terminal_ink import ink_for
from .terminal_keys import Evening
from .terminal_lines import Asker, LinesEvening
from .terminal_page import Left, Page
from .terminal_pages import statistics_page
from .terminal_screen import Screen, Stopped, has_keys
from .terminal_words import score_words

_HANG_UP = 1


@dataclass(frozen=True)
class Wishes:
    """What the person wants to play, and how."""

    settings: Settings
    given: Sequence[str] = ()
    """The settings that were named; a kept sitting has to agree in them to be offered."""
    anew: bool = False
    """Begin anew, whatever is kept."""
    plain: bool = False
    """Lines instead of keys, in a terminal too."""
    pause: float = 1.0
    """Seconds for which a trick lies."""

    @property
    def keys(self) -> bool:
        """Whether single keys and pages can be used."""
        return not self.plain and has_keys()


@dataclass
class Keeper:
    """Keeps one sitting in the store after every action; what an evening asks besides."""

    store: Store
    name: str = field(default_factory=new_id)
    revision: int = 0
    _adviser: Adviser | None = None

    def keep(self, sitting: Sitting) -> None:
        """Keep the sitting as it is now."""
        person = self.store.owner()
        self.revision = self.store.keep(self.name, person, sitting, revision=self.revision)

    def hint(self, view: View) -> tuple[int, str]:
        """What to play, and why."""
        if self._adviser is None:
            self._adviser = Adviser(view.rules)
        told = self._adviser.hint(view)
        return told["action"], told["why"]

    def statistics(self) -> Page:
        """The person's results so far."""
        return statistics_page(statistics_of(self.store, self.store.owner()))


def spend_evening(store: Store, wishes: Wishes) -> int:
    """Ask what is played, and play it; returns the exit status."""
    asker = Asker(ink_for(sys.stdout, {}))
    if store.notice:
        asker.say([(store.notice, "")])
    status, sitting = 0, None
    try:
        keeper, sitting = _seated(store, _chosen(store, asker, wishes))
        keeper.keep(sitting)
        _play(asker, wishes, keeper, sitting)
    except (Left, KeyboardInterrupt):
        pass
    except Stopped as stopped:
        # Ctrl-C is a way to leave; whoever sends another signal wants to see it heard.
        if stopped.number != signal.SIGINT:
            status = 128 + (stopped.number or _HANG_UP)
    if sitting is not None and not sitting.over:
        asker.say([(_farewell(sitting), "")])
    return status


def _play(asker: Asker, wishes: Wishes, keeper: Keeper, sitting: Sitting) -> None:
    if not wishes.keys:
        with _stopping():
            LinesEvening(asker, sitting, keeper).run()
        return
    with Screen() as screen:
        Evening(screen, sitting, keeper, wishes.pause).run()


@contextmanager
def _stopping() -> Generator[None]:
    """Let SIGTERM end an evening in lines with a word, as it ends one with keys."""

    def heard(number: int, _: FrameType | None) -> None:
        raise Stopped(number)

    before = signal.signal(signal.SIGTERM, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _waiting(store: Store, wishes: Wishes) -> list[Kept]:
    """The kept sittings that can go on and are what was asked for, the last played first."""
    if wishes.anew:
        return []
    found: list[Kept] = []
    for kept in store.sittings(store.owner()):
        try:
            settings = Settings.from_mapping(kept.state["settings"])
        except (LookupError, TypeError, ValueError):
            continue  # of another version, or of rules that are gone
        agrees = all(
            getattr(settings, name) == getattr(wishes.settings, name) for name in wishes.given
        )
        if not kept.over and agrees:
            found.append(kept)
    return found


def _chosen(store: Store, asker: Asker, wishes: Wishes) -> Kept | Settings:
    waiting = _waiting(store, wishes)
    if not waiting and (wishes.given or wishes.anew or not wishes.keys):
        return wishes.settings
    if wishes.keys:
        with Screen() as screen:
            return Door(screen, waiting, wishes.settings, store.forget).ask()
    return ask_in_lines(asker, waiting) or wishes.settings


def _seated(store: Store, chosen: Kept | Settings) -> tuple[Keeper, Sitting]:
    if isinstance(chosen, Settings):
        return Keeper(store), Sitting(chosen)
    try:
        return Keeper(store, chosen.id, chosen.revision), Sitting.from_state(chosen.state)
    except SittingError as error:
        raise SittingError(f"{error}; `german-whist play --new` begins another") from error


def _farewell(sitting: Sitting) -> str:
    settings, game = sitting.settings, sitting.game
    score = score_words(settings.match, game.points, game.hands_won)
    return (
        f"The table is kept as it is ({settings.rules.name} against {settings.opponent}, {score}): "
        "`german-whist play` goes on with it."
    )


__all__ = ["HUMAN", "Keeper", "Wishes", "spend_evening"]
