"""The agent interface: arrays of views and random streams in, actions out.

An agent is made for one rule set. It gets `VIEW` records, which hold what a player may know and
share no memory with any game. Its random streams are keyed by deal, seat and decision under a
secret: its play depends neither on the batch size nor on the number of workers, and the streams
reveal nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..common.jit.compiler import jit, warm_up
from ..common.schema import short_repr
from ..common.typing import Array as Array
from ..common.typing import JsonObject
from ..engine.cards import CARDS, N_ACTIONS, N_CARDS, action_text
from ..engine.dtypes import OVER, VIEW
from ..engine.play import Record, row
from ..engine.rng import SipKey, key_of_bytes, secret_of_seed, siphash
from ..engine.rules import Match, Rules, RulesLike, as_match, load_rules
from ..engine.view import View, legal_in_views

if TYPE_CHECKING:
    from .perfect_endgame import EndgamePlayer


# Keeps the key of agents apart from others that come from the same seed.
_PURPOSE = "agents"


class CannotPlay(ValueError):
    """The agent does not play these rules."""


EXACT_SOLVER, OWN_POLICY = "exact solver", "own policy"
"""Who plays open endings: the package's solver, or the agent itself."""


@dataclass(frozen=True)
class ModelFile:
    """Weights file of an agent, as reports name it."""

    file: str
    sha256: str
    run: str = ""
    """Folder of the run that wrote it; empty outside of a run."""
    decisions: int | None = None
    """Training decisions according to its card."""

    def __str__(self) -> str:
        trained = "" if self.decisions is None else f", {self.decisions:,} decisions"
        return f"{self.file}{trained}"


class Agent:
    """Base class of agents. An agent plays one rule set, in any number of games at once.

    ```python
    class FirstLegal(Agent):
        def act(self, views, rng):
            return network_inputs(views, self.rules).masks.argmax(axis=1)

    german_whist.evaluate("mine:FirstLegal", "threshold", hands=1000)
    ```

    A subclass writes `act`. If it states its policy, it also writes `probabilities`. For rules that
    it does not play, its constructor raises `CannotPlay`.

    - `rules`: the rule set, `"classic"` by default.
    - `match`: the match that is played; `None` (default): single hands.

    `rules_array` holds both for compiled code.
    """

    name: str = "agent"
    """Name in reports, with the agent's parameters."""

    reads_tricks: bool = True
    """Whether `act` reads past tricks (`led_cards`, `followed_cards`, `i_led`, `my_draws`,
    `opponent_draws` of a view). Views without them are faster to write.
    """

    reads_draws: bool = True
    """Whether the order of its own unseen draws may change its play. If not, or if it reads no
    tricks, one query stands for all views that differ by that order alone.
    """

    keeps_state: bool = False
    """Whether it has memory. Then `act` gets `indices`, the game number behind each view, and
    `reset` is called when a new hand begins in some games. Games of several environments that one
    object plays in have different numbers.
    """

    thread_safe: bool = False
    """Whether several threads may call `act` at the same time, each with other views: true if
    `act` changes nothing but arrays that it makes itself.
    """

    endgame_switch: str = ""
    """The option of its name that selects the other value of `endgame`; empty without a choice."""

    transcript: list[JsonObject | None] | None = None
    """Of an agent that plays by texts: prompt and answers for each view of the last `act`, which
    records of hands keep. None for other agents.
    """

    checkpoints: tuple[ModelFile, ...] = ()
    """Its weights files."""

    _endgame: EndgamePlayer | None = None

    def __init__(self, rules: RulesLike = "classic", *, match: Match | int | None = None) -> None:
        self.rules: Rules = load_rules(rules)
        self.match: Match | None = as_match(match)
        self.rules_array: npt.NDArray[np.void] = self.rules.array(match)

    @property
    def perfect_endgame(self) -> bool:
        """Whether it plays every open ending perfectly, so that the exact value may replace play.

        True with an `EndgamePlayer` as `_endgame`; other agents override this property.
        """
        return self._endgame is not None and self._endgame.perfect

    @property
    def endgame(self) -> str:
        """Who plays open endings: `"exact solver"` or `"own policy"`."""
        solved = self._endgame is not None and self._endgame.perfect
        return EXACT_SOLVER if solved else OWN_POLICY

    greedy: bool = False
    """Whether `act` plays the likeliest action of `probabilities`, instead of drawing one."""

    def __init_subclass__(cls, **options: object) -> None:
        """Let the class's `act`, `probabilities` and `value` also take one `View`, or several."""
        super().__init_subclass__(**options)
        for name in ("act", "probabilities", "value"):
            method = vars(cls).get(name)
            if inspect.isfunction(method):
                setattr(cls, name, _accepting_views(method))

    @classmethod
    def rules_played(cls, *parameters: str) -> tuple[Rules, ...] | None:
        """Rule sets to which the agent is limited that a name with these parameters makes.

        None means that they are unknown before it is made. Compiles nothing.
        """
        return None

    def act(self, views: Array, rng: Array) -> Array:
        """Choose an action for each view: an int64 array.

        `views` is an array of `VIEW` records, each of a player to move. `rng` holds one `uint64`
        per view, the start of a random stream for this decision: in compiled code call
        `random_below(streams[i : i + 1], n)` on a copy, because it advances the stream; otherwise
        use `numpy.random.default_rng(rng[i])`. Leave both arrays unchanged: the caller reuses them.
        """
        raise NotImplementedError(f"{type(self).__name__} has no act of its own")

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: the policy's probability of each action, exact endings included.

        `act` draws from them, or takes the likeliest action if the agent is `greedy`. Agents
        without such a policy raise `ValueError`.
        """
        raise ValueError(f"{self.name} states no probabilities of its actions: use act")

    def value(self, views: Array) -> Array:
        """`(n,)`: the expected payoff of the hand for the player to move in each view.

        A checkpoint's critic gives it in the units of its training's reward. Agents without a
        value network or critic raise `ValueError`.
        """
        raise ValueError(
            f"{self.name} has no value network: champion and thinker have one, for classic, and "
            "checkpoints that were trained with critic=shared or critic=separate"
        )

    def reset(self, indices: Array) -> None:
        """Forget the state of these games: a new hand begins in them."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} for {self.rules.name}>"


# -- views of scripts


if TYPE_CHECKING:

    class LoadedAgent(Agent):
        """An agent with what its methods take in scripts: arrays, one `View`, or several."""

        @overload
        def act(self, views: View, rng: object = None) -> int: ...
        @overload
        def act(self, views: Array, rng: Array) -> Array: ...
        @overload
        def act(self, views: Sequence[View], rng: object = None) -> list[int]: ...
        def act(
            self, views: Array | View | Sequence[View], rng: object = None
        ) -> Array | int | list[int]: ...
        def probabilities(self, views: Array | View | Sequence[View]) -> Array: ...
        @overload
        def value(self, views: View) -> float: ...
        @overload
        def value(self, views: Array | Sequence[View]) -> Array: ...
        def value(self, views: Array | View | Sequence[View]) -> float | Array: ...

else:
    LoadedAgent = Agent

AnyAgent = TypeVar("AnyAgent", bound=Agent)


def _accepting_views(method: FunctionType) -> Callable[..., object]:
    @functools.wraps(method)
    def accepting(
        self: Agent, views: Array | View | Sequence[View], *args: Any, **kwargs: Any
    ) -> object:
        if isinstance(views, np.ndarray):
            return method(self, views, *args, **kwargs)
        array, batch_method = view_array(views, self.rules), functools.partial(method, self)
        if method.__name__ == "act":
            answers = act_in_views(self, batch_method, array, *args, **kwargs)
        else:
            answers = batch_method(array, *args, **kwargs)
        return answers[0] if isinstance(views, View) else answers

    return accepting


def view_array(views: View | Iterable[View], rules: Rules) -> Array:
    """One `View`, or several, as an array of records; refused if they are of other rules."""
    listed = list_views(views)
    for view in listed:
        if not view.rules.same_game(rules):
            raise CannotPlay(
                f"a view is of the rules {view.rules.name}, and {rules.name} are played here: load "
                f"the agent with rules={view.rules.name!r}"
            )
    return np.concatenate([np.zeros(0, VIEW), *(view.array for view in listed)])


def list_views(views: Any) -> list[View]:
    """One `View`, or several, as a list."""
    several = isinstance(views, Iterable) and not isinstance(views, str)
    listed: list[Any] = [*views] if several else [views]
    for view in listed:
        if not isinstance(view, View):
            raise TypeError(
                f"{short_repr(view)} is no view: give a View, as of game.view(), or several"
            )
    return listed


def act_in_views(
    agent: Agent, act: Callable[..., Array], views: Array, rng: Any = None, **kwargs: Array
) -> list[int]:
    """Checked actions of an agent in these views, cards as `Card`.

    `rng` is a seed, a generator of NumPy, or a `uint64` for each view; by default actions are drawn
    anew in each call.
    """
    for seat in views["seat"][views["to_move"] == 0].tolist():
        raise ValueError(f"seat {seat} is not to move in this view, so it cannot choose")
    if not isinstance(rng, np.ndarray):
        try:
            generator = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise ValueError(
                f"rng is {short_repr(rng)}: give a seed, a generator of NumPy, or a uint64 for "
                "each view"
            ) from None
        rng = generator.integers(1 << 64, size=len(views), dtype=np.uint64)
    if agent.keeps_state:
        kwargs.setdefault("indices", np.arange(len(views)))
    actions = check_actions(agent, act(copy_views(views), rng.copy(), **kwargs), len(views))
    legal = np.zeros(len(views), np.uint64)
    legal_in_views(agent.rules_array, views, legal)
    for action, allowed in zip(actions.tolist(), legal.tolist(), strict=True):
        if not (0 <= action < N_ACTIONS and allowed >> action & 1):
            texts = [action_text(k) for k in range(N_ACTIONS) if allowed >> k & 1]
            raise ValueError(
                f"agent {agent.name} chose {action_text(action)}, which is not legal: "
                f"{', '.join(texts)} are"
            )
    return [CARDS[action] if action < N_CARDS else action for action in actions.tolist()]


# -- random streams


def agent_key(seed: int) -> SipKey:
    """SipKey of all agents' random streams under a seed."""
    return key_of_bytes(secret_of_seed(seed, _PURPOSE))


@jit
def decision_stream(key: np.ndarray, number: np.uint64, seat: int, position: Record) -> np.uint64:
    """Start of the random stream of a seat's decision, by deal, seat, trick and phase (SipHash).

    `position` is the view or the game.
    """
    # No decision is made after the end, so the exchange takes that phase's number.
    trick_and_phase = 4 * np.int64(position.trick) + min(np.int64(position.phase), OVER)
    return siphash(key, number, np.uint64(128 * np.int64(seat) + trick_and_phase))


@jit
def _write_decision_streams(
    key: np.ndarray, numbers: np.ndarray, views: np.ndarray, rng: np.ndarray
) -> None:
    for index in range(len(views)):
        view = row(views, index)
        rng[index] = decision_stream(key, numbers[index], view.seat, view)


def decision_streams(key: SipKey, numbers: Array, views: Array) -> Array:
    """Random streams for the decisions in these views.

    `key` is a secret, or `agent_key` of a seed; `numbers` are the deal numbers of the `views`.
    """
    rng = np.zeros(len(views), np.uint64)
    _write_decision_streams(key, np.ascontiguousarray(numbers, np.uint64), views, rng)
    return rng


def copy_views(views: Array) -> Array:
    """Views in an array of their own, so that an agent cannot reach other memory."""
    own = np.empty(len(views), VIEW)
    # By words: NumPy copies a structure field by field, which takes ten times as long.
    own.view(np.uint64)[:] = views.view(np.uint64)
    return own


class ViewBatch(NamedTuple):
    """Views to decide in, the random stream of each, and the actions as output."""

    views: np.ndarray
    rng: np.ndarray
    actions: np.ndarray

    def select(self, index: int) -> ViewBatch:
        """Batch of one view that shares memory with this batch."""
        return ViewBatch(*(array[index : index + 1] for array in self))


def compile_act(
    agent: AnyAgent, title: str, act: Callable[[AnyAgent, Array, Array], Array], seconds: int = 1
) -> None:
    """Compile `act` of a class by a call without views; a subclass may have another signature."""
    no_views, no_streams = np.zeros(0, VIEW), np.zeros(0, np.uint64)
    warm_up(title, "agents", lambda: act(agent, no_views, no_streams), seconds)


# -- checks of answers


def check_actions(agent: Agent, actions_returned: object, count: int) -> Array:
    """An agent's answer as int64, refused unless it is one whole number for each view."""
    actions = np.asarray(actions_returned)
    if actions.shape != (count,) or actions.dtype.kind not in "iu":
        raise ValueError(
            f"agent {agent.name} answered with {actions.dtype} of shape {actions.shape}: one whole "
            f"number for each of {count} views is needed"
        )
    return np.ascontiguousarray(actions, np.int64)
