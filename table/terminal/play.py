# pyright: strict
"""An evening at the terminal: what goes on or begins, how it is shown, and what is kept of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from ..labels import say
from ..session import Session, SessionError, Settings, state_in
from ..store import Kept, Store
from ..words import score
from .keeping import Keeper, Left
from .lobby import Lobby, ask_in_lines
from .play_by_keys import Evening
from .play_by_lines import Asker, LinesEvening
from .screen import Screen, Stopped, has_keys
from .styled_text import ink_for

_HANG_UP = 1


@dataclass(frozen=True)
class Wishes:
    """What the person wants to play, and how."""

    settings: Settings
    given: Sequence[str] = ()
    """The settings that were named; a kept session has to agree in them to be offered."""
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


def spend_evening(store: Store, wishes: Wishes) -> int:
    """Ask what is played, and play it; returns the exit status."""
    asker = Asker(ink_for(sys.stdout, {}))
    if store.notice:
        asker.say(store.notice)
    status, session, keeper = 0, None, Keeper(store)
    try:
        keeper, session = _seated(store, _chosen(store, asker, wishes))
        keeper.keep(session)
        _play(asker, wishes, keeper, session)
    except (Left, KeyboardInterrupt):
        pass
    except Stopped as stopped:
        # Ctrl-C is a way to leave; whoever sends another signal wants to see it heard.
        if stopped.number != signal.SIGINT:
            status = 128 + (stopped.number or _HANG_UP)
    if keeper.trouble is not None:
        asker.say(say("terminal.last_not_kept", trouble=keeper.trouble))
        return status or 1
    if session is not None and not session.over and store.keeps:
        asker.say(_farewell(session))
    return status


def _play(asker: Asker, wishes: Wishes, keeper: Keeper, session: Session) -> None:
    if not wishes.keys:
        with _stopping():
            LinesEvening(asker, session, keeper).run()
        return
    with Screen() as screen:
        Evening(screen, session, keeper, wishes.pause).run()


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
    """The kept sessions that can go on and are what was asked for, the last played first."""
    if wishes.anew:
        return []
    found: list[Kept] = []
    for kept in store.sessions(store.owner()):
        try:
            settings = Settings.of(state_in(kept.state).settings)
        except ValueError:
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
            return Lobby(screen, waiting, wishes.settings, store.forget).ask()
    return ask_in_lines(asker, waiting) or wishes.settings


def _seated(store: Store, chosen: Kept | Settings) -> tuple[Keeper, Session]:
    if isinstance(chosen, Settings):
        return Keeper(store), Session(chosen)
    try:
        return Keeper(store, chosen.id, chosen.revision), Session.from_state(chosen.state)
    except SessionError as error:
        raise SessionError(say("terminal.begin_another", error=error)) from error


def _farewell(session: Session) -> str:
    settings, game = session.settings, session.game
    now = score(settings.match, game.points, game.hands_won)
    rules, opponent = settings.rules.name, settings.opponent
    return say("terminal.farewell", rules=rules, opponent=opponent, score=now)
