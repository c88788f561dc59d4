"""What an agent is: views and random streams in, actions out, many games at once.

An agent is made for a rule set and gets arrays of `VIEW` records, which hold what
a player may know and share no memory with any game. Its random numbers come from
streams keyed by deal, seat and decision under a secret, so what it plays depends
neither on the size of a batch nor on the number of workers, and they tell nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..common.jit.compiler import jit
from ..common.typing import Array as Array
from ..engine.dtypes import OVER, VIEW
from ..engine.play import Record, row
from ..engine.rng import SipKey, key_of_bytes, secret_of_seed, siphash
from ..engine.rules import Match, Rules, load_rules

if TYPE_CHECKING:
    from .perfect_endgame import EndgamePlayer


# Keeps the key of agents apart from others that come from the same seed.
_PURPOSE = "agents"


class CannotPlay(ValueError):
    """An agent was asked to play rules that it does not play."""


EXACT_SOLVER, OWN_POLICY = "exact solver", "own policy"
"""Who plays open endings: the package's solver in the agent's place, or the agent itself."""


@dataclass(frozen=True)
class ModelFile:
    """A file of weights that an agent plays with, as reports name it."""

    file: str
    sha256: str
    run: str = ""
    """The folder of the run that wrote it, where it lies in one."""
    decisions: int | None = None
    """For how many decisions it was trained, where its card says so."""

    def __str__(self) -> str:
        trained = "" if self.decisions is None else f", {self.decisions:,} decisions"
        return f"{self.file}{trained}"


class Agent:
    """A player of one rule set, in any number of games at once.

    A subclass writes `act`, and calls `CannotPlay` what it cannot play. `rules`
    and `match` are what it was made for; `record` is the same for compiled code.
    """

    name: str = "agent"
    """What it is called in reports; make it the text that names it with its parameters."""

    reads_tricks: bool = True
    """Whether it looks at the tricks that are over (`led_cards`, `followed_cards`, `i_led`,
    `my_draws`, `opponent_draws` of a view). One that does not may get views without them, which
    are written faster."""

    reads_draws: bool = True
    """Whether the order in which it drew its cards unseen may matter to it. If not, or if it reads
    no tricks, one view stands for all that differ by that alone, where each is asked for once."""

    keeps_state: bool = False
    """Whether it remembers between decisions. If so, `act` is called with `indices`, the number
    of the game behind each view, and `reset` whenever a new hand begins in some of them."""

    many_at_once: bool = False
    """Whether several threads may call `act` at the same time, each with other views. It may where
    nothing is changed but the arrays that it makes."""

    endgame_switch: str = ""
    """The option that gives endings to the other of `endgame`'s two; empty without a choice."""

    checkpoints: tuple[ModelFile, ...] = ()
    """The files of weights that it plays with."""

    _endgame: EndgamePlayer | None = None

    def __init__(self, rules: Any = "classic", *, match: Match | None = None) -> None:
        self.rules: Rules = load_rules(rules)
        self.match = match
        self.record: npt.NDArray[np.void] = self.rules.record(match)

    @property
    def perfect_endgame(self) -> bool:
        """Whether it plays every open ending perfectly, so that its exact value may stand for it.

        So is whoever keeps an `EndgamePlayer` as `_endgame`; others override this.
        """
        return self._endgame is not None and self._endgame.perfect

    @property
    def endgame(self) -> str:
        """Who plays open endings: `"exact solver"` or `"own policy"`."""
        solved = self._endgame is not None and self._endgame.perfect
        return EXACT_SOLVER if solved else OWN_POLICY

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view: an int64 array.

        `views` is an array of `VIEW` records, each of a player to move. `rng` holds
        one `uint64` per view: the start of a random stream for this one decision
        (`below(streams[i : i + 1], n)` when compiled, which moves the stream on, so call it
        on a copy; `numpy.random.default_rng(rng[i])` otherwise). Both arrays belong to the
        caller, who uses them again after the call: the package's agents leave them unchanged.
        """
        raise NotImplementedError(f"{type(self).__name__} has no act of its own")

    def reset(self, indices: Array) -> None:
        """Forget the games with these numbers: a new hand begins in them."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} for {self.rules.name}>"


# -- random streams


def agent_key(seed: int) -> SipKey:
    """The key of a seed from which the streams of agents start, where a seed decides everything."""
    return key_of_bytes(secret_of_seed(seed, _PURPOSE))


@jit
def decision_stream(key: np.ndarray, number: np.uint64, view: Record) -> np.uint64:
    """Where the random stream of one decision starts: by deal, seat, trick and phase.

    No agent can tell any of them, nor the key, from what it is given.
    """
    # Nobody decides when it is over, so the exchange has that phase's number here.
    trick_and_phase = 4 * np.int64(view.trick) + min(np.int64(view.phase), OVER)
    return siphash(key, number, np.uint64(128 * np.int64(view.seat) + trick_and_phase))


@jit
def _write_decision_streams(
    key: np.ndarray, numbers: np.ndarray, views: np.ndarray, rng: np.ndarray
) -> None:
    """`decision_stream` for each view of an array."""
    for index in range(len(views)):
        rng[index] = decision_stream(key, numbers[index], row(views, index))


def decision_streams(key: SipKey, numbers: Array, views: Array) -> Array:
    """The random streams with which an agent decides in these views.

    `key` is a secret, or `agent_key` of a seed; `numbers` are the numbers of the deals
    that the views belong to.
    """
    rng = np.zeros(len(views), np.uint64)
    _write_decision_streams(key, np.ascontiguousarray(numbers, np.uint64), views, rng)
    return rng


def copied(views: Array) -> Array:
    """Views for an agent to have: an array of its own, and a part of no larger one."""
    own = np.empty(len(views), VIEW)
    # By words: NumPy copies a structure field by field, which takes ten times as long.
    own.view(np.uint64)[:] = views.view(np.uint64)
    return own


class ViewBatch(NamedTuple):
    """Views to decide in, the random stream of each, and the actions that are found."""

    views: np.ndarray
    rng: np.ndarray
    actions: np.ndarray

    def one(self, index: int) -> ViewBatch:
        """The batch of one of the views; what is written to it is written to this batch."""
        return ViewBatch(*(each[index : index + 1] for each in self))


def no_views() -> Array:
    """No view at all, to compile an agent with."""
    return np.zeros(0, VIEW)


def no_rng() -> Array:
    """No stream at all, to go with them."""
    return np.zeros(0, np.uint64)


# -- checking what an agent answers


def checked_answer(agent: Agent, answer: object, count: int) -> Array:
    """The actions of an agent as an int64 array, refused unless there is one for each view."""
    actions = np.asarray(answer)
    if actions.shape != (count,) or actions.dtype.kind not in "iu":
        raise ValueError(
            f"agent {agent.name} answered with {actions.dtype} of shape {actions.shape}: one whole "
            f"number for each of {count} views is needed"
        )
    return np.ascontiguousarray(actions, np.int64)
