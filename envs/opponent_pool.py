"""Opponent pool for self-play: which policy plays the other seat, and how the learner fares.

Prioritized fictitious self-play (PFSP): Vinyals and others 2019, "Grandmaster level in StarCraft II
using multi-agent reinforcement learning", Nature 575.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..agents.base import Agent, Array
from ..agents.calls import FaultNamingAgent
from ..agents.registry import as_agent
from ..common.jit.compiler import jit
from ..common.suggestions import type_phrase
from ..engine.batch.config import Options
from ..engine.checks import checked_choice, checked_count, checked_seed, state_array
from ..engine.rng import random_below, random_fraction, sample_index
from ..engine.rules import Match, Rules, RulesLike, as_match, load_rules, name_beside

Sampling = Literal["uniform", "latest", "pfsp"]
UNIFORM, LATEST, PFSP = get_args(Sampling)
# Weight of a result in the win rate of PFSP, relative to the next one against the same policy.
_DECAY = 0.999


@jit
def _draw_members(probabilities: np.ndarray, stream: np.ndarray, drawn: np.ndarray) -> None:
    for index in range(len(drawn)):
        drawn[index] = sample_index(probabilities, random_fraction(stream))


class OpponentPool:
    """A pool of policies, which draws the opponent of each episode.

    ```python
    pool = OpponentPool(["threshold", "runs/quick-1"], sampling="pfsp")
    envs = gymnasium.make_vec("german_whist/GermanWhist-v0", num_envs=4096, opponent=pool)
    pool.add(model)  # during the training: the model plays from the next episodes on
    pool.results()["threshold"]["win_rate"]
    ```

    You can give a policy as the name of an agent, the path of a run or of a checkpoint, an ONNX
    file (`onnx:PATH`), an `Agent` or its class, a function `f(views, rng) -> actions`, or a model
    of Stable-Baselines3. The pool copies the policy of a model, so later training does not change
    the copy. The copy draws its actions from the probabilities of the policy. Several environments
    can share a pool if they play the rules of the pool.

    ### Options

    - `policies`: the first policies: a list, or a mapping of names to policies (default: none).
      These policies always stay in the pool.
    - `rules`: the rule set that the environments play (default `"classic"`).
    - `match`: the length of their matches: a number of points, or a number of hands as
      `german_whist.Match(best_of=5)`. `None` (default): the environments play single hands.
    - `sampling`: how the pool draws the opponent of an episode. `"uniform"` (default): all policies
      are equally likely. `"latest"`: always the policy that was added last. `"pfsp"`: prioritized
      fictitious self-play. A policy's probability is then proportional to `(1 - p)**2`, where `p`
      is the learner's recent win rate against it, or 0.5 without results.
    - `size`: how many of the policies that you add later can stay in the pool. When there are more,
      a random one leaves, but never the newest. `None` (default): all stay.
    - `seed`: the seed of the pool's random draws (default 0).

    `info["opponent"]` is an index into the list `pool.names`. The list keeps every policy that ever
    joined the pool, so an index always means the same policy.
    """

    def __init__(
        self,
        policies: Iterable[object] | Mapping[str, object] = (),
        rules: RulesLike = "classic",
        *,
        match: Match | int | None = None,
        sampling: Sampling = "uniform",
        size: int | None = None,
        seed: int = 0,
    ) -> None:
        self.rules: Rules = load_rules(rules)
        self.match: Match | None = as_match(match)
        self.sampling: Sampling = checked_choice("sampling", sampling, (UNIFORM, LATEST, PFSP))
        self.names: list[str] = []
        """Names of all policies that ever joined."""
        self.agents: dict[int, FaultNamingAgent] = {}
        """Agents by their index in `names`, without those that left."""
        # Agents that left and still play episodes of a restored environment.
        self._left: dict[int, FaultNamingAgent] = {}
        # Columns: wins, draws, losses, and the decayed number and score of the games.
        self._results = np.zeros((0, 5))
        self._stream = np.array([checked_seed(seed)], np.uint64)
        self._size: int | None = None
        if isinstance(policies, (str, Path)) or not isinstance(policies, Iterable):
            raise TypeError(
                f"policies are {policies!r}, {type_phrase(policies)}: give a list, as in "
                "OpponentPool(['threshold']), or a mapping of names"
            )
        named: Any = (
            policies.items() if isinstance(policies, Mapping) else ((None, p) for p in policies)
        )
        for name, policy in named:
            self.add(policy, name)
        self._n_fixed = len(self.names)
        self._size = None if size is None else checked_count(size, "size")

    def __len__(self) -> int:
        """Number of policies that may be drawn."""
        return len(self.agents)

    def add(self, policy: object, name: str | None = None) -> str:
        """Add a policy, for the episodes that begin from now on; returns its name."""
        agent = self._make(policy, name)
        if name is None and agent.name in self.names and not isinstance(policy, (str, Path)):
            agent.name += f"-{len(self.names)}"
        if agent.name in self.names:
            raise ValueError(
                f"the opponent pool has a policy {agent.name!r} already: give another name, as in "
                f"add(policy, name={f'{agent.name}-{len(self.names)}'!r})"
            )
        if self._size is not None:
            added = [index for index in self.agents if index >= self._n_fixed]
            if len(added) >= self._size:
                del self.agents[added[int(random_below(self._stream, len(added)))]]
        self.agents[len(self.names)] = agent
        self.names.append(agent.name)
        self._results = np.append(self._results, np.zeros((1, 5)), axis=0)
        return agent.name

    def _make(self, policy: object, name: str | None) -> FaultNamingAgent:
        agent = FaultNamingAgent(as_agent(policy, self.rules, match=self.match))
        agent.name = agent.name if name is None else name
        return agent

    def agent(self, index: int) -> Agent:
        """The agent of an index into `names`."""
        if index in self.agents:
            return self.agents[index]
        if index in self._left:
            return self._left[index]
        raise ValueError(
            f"an episode is played against {self.names[index]!r}, which left the opponent pool: "
            "give its policy to the pool's restore too"
        )

    # -- episodes

    @property
    def win_rates(self) -> Array:
        """The learner's recent win rate against each policy of `names`, draws as a half."""
        games, score = self._results[:, 3:].T
        return np.divide(score, games, out=np.full(len(games), 0.5), where=games > 0)

    @property
    def probabilities(self) -> Array:
        """Probability that each policy of `names` is drawn; 0 for those that left."""
        self.check_not_empty()
        weights, members = np.zeros(len(self.names)), list(self.agents)
        if self.sampling == LATEST:
            members = members[-1:]
        weights[members] = 1
        if self.sampling == PFSP:
            prioritized = weights * (1 - self.win_rates) ** 2
            if prioritized.sum() > 1e-10:  # else the learner beats all of them
                weights = prioritized
        return weights / weights.sum()

    def draw(self, count: int) -> Array:
        """Opponents of `count` episodes that begin, as indices into `names`."""
        drawn = np.empty(count, np.int64)
        _draw_members(self.probabilities, self._stream, drawn)
        return drawn

    def record(self, indices: Array, won: Array) -> None:
        """Count results of episodes against these opponents: 1 for the learner's wins, 0 or -1."""
        wins, draws, losses = (
            np.bincount(indices[won == value], minlength=len(self.names)) for value in (1, 0, -1)
        )
        games = wins + draws + losses
        self._results[:, :3] += np.stack([wins, draws, losses], axis=1)
        # Episodes that end together share the weights of as many that end in turn.
        weight = _decayed(games)
        score = weight * (wins + draws / 2) / np.maximum(games, 1)
        self._results[:, 3:] *= (_DECAY**games)[:, None]
        self._results[:, 3:] += np.stack([weight, score], axis=1)

    def results(self) -> dict[str, dict[str, float]]:
        """The learner's `games`, `wins`, `draws`, `losses` and recent `win_rate` by policy."""
        counts = self._results[:, :3].astype(int).tolist()
        return {
            name: {
                "games": wins + draws + losses,
                "wins": wins,
                "draws": draws,
                "losses": losses,
                "win_rate": rate,
            }
            for name, (wins, draws, losses), rate in zip(
                self.names, counts, self.win_rates.tolist(), strict=True
            )
        }

    def check_not_empty(self) -> None:
        if not self.agents:
            raise ValueError(
                "the opponent pool is empty: add a policy to it before the first episode"
            )

    def check_game(self, options: Options) -> None:
        """Refuse an environment of other rules."""
        if options.rules != self.rules or options.match != self.match:
            played, own = (
                name_beside(rules, [options.rules, self.rules])
                + ("" if match is None else f" in a match ({match})")
                for rules, match in ((options.rules, options.match), (self.rules, self.match))
            )
            raise ValueError(
                f"the opponent pool was made for {own}, and {played} is played here: make another, "
                "as in OpponentPool(policies, rules, match=match)"
            )

    # -- state

    def state(self) -> dict[str, Array]:
        """Names, results and the random stream as arrays; the policies themselves are not in it."""
        return {
            "names": np.frombuffer(json.dumps(self.names).encode(), np.uint8).copy(),
            "members": np.array(list(self.agents), np.int64),
            "fixed": np.array([self._n_fixed]),
            "results": self._results.copy(),
            "stream": self._stream.copy(),
        }

    def restore(
        self, state: Mapping[str, Array], policies: Mapping[str, object] | None = None
    ) -> None:
        """Continue from a `state`, with the policies by name that this pool lacks.

        One that left is needed while an environment still plays an episode against it.
        """
        names, members, fixed, results, stream = _checked_state(state)
        policy_of_name: dict[str, object] = {
            self.names[index]: agent.agent for index, agent in self.agents.items()
        }
        policy_of_name.update(policies or {})
        made = {
            index: self._make(policy_of_name[name], name)
            for index, name in enumerate(names)
            if name in policy_of_name
        }
        missing = [names[index] for index in members if index not in made]
        if missing:
            raise ValueError(
                f"the state's opponent pool has a policy {missing[0]!r}, which is not in this one: "
                f"give it, as in restore(state, {{{missing[0]!r}: policy}})"
            )
        self._n_fixed, self._stream = fixed, stream.copy()
        self.agents = {index: made.pop(index) for index in members}
        self.names, self._left, self._results = names, made, results.copy()


class _PoolState(NamedTuple):
    """Content of a pool's `state`."""

    names: list[str]
    members: list[int]
    fixed: int
    results: Array
    stream: Array


def _checked_state(state: Mapping[str, Array]) -> _PoolState:
    text, members, results = (state_array(state, name) for name in ("names", "members", "results"))
    fixed, stream = (state_array(state, name, 1) for name in ("fixed", "stream"))
    names = _names_in(text)
    if not (
        names is not None
        and _are_members(members, fixed, len(names))
        and _are_results(results, len(names))
        and stream.dtype == np.uint64
    ):
        raise ValueError("the state is not of an opponent pool: give what state() returned")
    return _PoolState(names, members.tolist(), int(fixed[0]), results, stream)


def _names_in(text: Array) -> list[str] | None:
    """The different names in a JSON text; None for anything else."""
    try:
        names = json.loads(text.tobytes())
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return names if is_list and len({*names}) == len(names) else None


def _are_members(members: Array, fixed: Array, count: int) -> bool:
    """Whether these can be left of `count` policies: the fixed ones and the newest never leave."""
    if members.ndim != 1 or members.dtype.kind not in "iu" or fixed.dtype.kind not in "iu":
        return False
    n_fixed, indices = int(fixed[0]), members.tolist()
    if not 0 <= n_fixed <= count or indices != sorted({*indices}):
        return False
    everyone = range(count)
    return {*everyone[:n_fixed], *everyone[-1:]} <= {*indices} <= {*everyone}


def _are_results(results: Array, count: int) -> bool:
    """Whether `record` can have written these results of `count` policies."""
    if results.shape != (count, 5) or results.dtype != np.float64:
        return False
    wins, draws, losses, games, score = results.T
    counts = results[:, :3]
    if not (np.isfinite(results) & (results >= 0)).all() or (counts % 1 != 0).any():
        return False
    # The score depends on the order of the results: it is least if the wins came first.
    won, not_lost = _decayed(wins), _decayed(wins + draws)
    most = (won + not_lost) / 2
    won_first = won * _DECAY ** (draws + losses)
    least = won_first + _decayed(draws) / 2 * _DECAY**losses
    all_games = _decayed(counts.sum(axis=1))
    near = 1e-6 * (1 + all_games)
    return bool(
        (np.abs(games - all_games) <= near).all()
        and ((least - near <= score) & (score <= most + near)).all()
    )


def _decayed(games: Array) -> Array:
    """Sum of the weights of games in a row, the last of which counts 1."""
    return (1 - _DECAY**games) / (1 - _DECAY)
