"""The project's trainer: proximal policy optimisation by self-play, both seats learning.

Many games run in lockstep. Whoever is to move in each is played by the same
network, every decision is learnt from, and the reward comes at the end of an
episode: by default the exact worth of the ending. The player that comes out is
an average of the weights along the way. Read it from top to bottom: `PPO.iterate`
is one iteration, `_play` and `_learn` are its halves.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.base import Agent, agent_key, decision_streams
from ...agents.calls import Named
from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import HIDDEN_SIZE, Count, NetworkCard
from ...agents.registry import make_agent
from ...common.jit.compiler import warm_up
from ...common.schema import converted
from ...engine.batch.results import StepResult
from ...engine.observation.rule_features import RULE_LAYOUT
from ...envs.mixed import MixedSelfPlayEnv
from ...envs.opponents import legal_answer
from ...envs.self_play import SelfPlayEnv
from ..distributed import ALONE, Ranks
from ..rollout.adam import Adam
from ..rollout.backends import Array, side_of
from ..rollout.kernels import (
    advantages,
    choose,
    compile_all,
    place_actions,
    show_actions,
    write_hidden,
)
from ..rollout.network_inputs import features_of, inputs_of_all
from ..rollout.networks import Network, begin_with, weights_of
from ..rollout.rollout_buffer import Buffers, Decisions
from ..rollout.tensor_state import (
    digest_of,
    of_optimizer,
    of_tensors,
    part_of,
    restore_module,
    restore_optimizer,
    tensors_in,
)
from .base import Trainer, torch_device
from .settings import PPOSettings

_NOT_LEGAL = -1e9


class Diverged(ArithmeticError):
    """A number that is none came up in training."""


def actions_of(agent: Agent, games: SelfPlayEnv, where: Array) -> Array:
    """What an agent plays in some of the games, as it is shown there."""
    batch = games.batch.here()
    views = batch.views(batch.turns())[where]
    rng = decision_streams(agent_key(batch.seed), batch.records["number"][where], views)
    actions = legal_answer(batch, agent, views, rng, where)
    show_actions(actions, batch.orders[where])
    return actions


@dataclass
class Seconds:
    """Where an iteration's time went."""

    acting: float = 0.0
    environment: float = 0.0
    learning: float = 0.0


class Scale(NamedTuple):
    """What numbers are measured by."""

    mean: Tensor
    deviation: Tensor
    share: float
    """How much of all of them is here."""


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """What a training under way knows beside its arrays."""

    decisions: Count
    hands: Count
    pool: Count
    """How many earlier selves there are."""
    random: dict[str, Any]
    """NumPy's generator, as it says of itself."""
    others: list[dict[str, Any]] = []
    """Those of the other ranks, where there are several."""


class PPO(Trainer):
    """A training under way: the network, its average, the games, and everything random.

    As one of several `ranks` it plays its share of the games, and learns from its share of
    every minibatch: what the settings say is of all ranks together.
    """

    settings_kind = PPOSettings
    several_ranks = True
    told: ClassVar[tuple[str, ...]] = (
        *("policy_loss", "value_loss", "entropy", "divergence", "clipped"),
    )
    """What a step tells."""

    def __init__(self, settings: PPOSettings, device: str = "cpu", ranks: Ranks = ALONE) -> None:
        super().__init__(settings)
        self.side = side_of(device)
        self.device, self.ranks = self.side.device, ranks
        self.count, left = divmod(settings.games, ranks.world)
        """How many games are played here."""
        if left:
            raise ValueError(
                f"games is {settings.games}, which {ranks.world} processes can not share evenly: "
                f"give {ranks.world * max(1, self.count)} or another multiple"
            )
        options = settings.all_options
        self.games = MixedSelfPlayEnv(
            self.count,
            [each.rules for each in options],
            reward=settings.reward,
            layout=settings.layout,
            horizon=settings.horizon,
            copy=False,
            device=self.side.games,
        )
        self.inputs = inputs_of_all(options, settings.ranks == "closed")
        self.features = features_of(options)
        self.actions = self.games.actions
        scales = np.ones((self.count, 1), np.float32)
        for (_, span), each in zip(self.games.parts(), options, strict=True):
            scales[span] = settings.reward_scale or max(1.0, 0.4 * each.worst)
        self.scales = self.side.put(scales)
        self._rules = [self.side.place.keep(each.rules_record) for each in options]
        self._begin_games(0)
        self.network = Network(
            len(self.inputs) + len(self.features),
            settings.layers,
            self.actions,
            {"shared": None, "own": 0, "oracle": HIDDEN_SIZE}[settings.critic],
            torch.Generator().manual_seed(settings.seed),
        ).to(self.device)
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.optimizer = Adam(
            [{"params": [*part.parameters()], "times": times} for part, times in self._parts()],
            lr=settings.learning_rate, eps=1e-5,
        )  # fmt: skip
        self.opponents = [
            [Named(make_agent(name, each.rules)) for each in options] for name in settings.opponents
        ]
        self.pool: list[dict[str, Tensor]] = []
        self.earlier = copy.deepcopy(self.average)
        self.other: Sequence[Agent] | None = None
        """Who of the opponents plays the other seats, for each rule set."""
        self.seconds = Seconds()
        self._learnt = 0
        self.steps = settings.steps or settings.episode
        self._buffers = Buffers(
            self.side, self.steps, self.count, self.inputs, self.actions,
            told=self.games.rule_features[:, self.features],
            closed=settings.ranks == "closed", oracle=settings.critic == "oracle",
        )  # fmt: skip
        if device == "cpu":
            place = self.side.place
            warm_up("trainer", "training", lambda: compile_all(options[0].rules_record, place))

    @classmethod
    def made(cls, settings: PPOSettings, ranks: Ranks = ALONE) -> PPO:
        """A trainer for a run with these settings."""
        return cls(settings, torch_device(settings, games=True), ranks)

    def _parts(self) -> Iterator[tuple[nn.Module, float]]:
        """What is learnt in the order in which its state is kept, and how much faster."""
        network, times = self.network, self.settings.critic_rate
        yield from ((network.hidden, 1.0), (network.policy, 1.0))
        if network.critic is not None:
            yield network.critic, times
        yield network.value, times

    def _begin_games(self, since: int) -> None:
        """Deal every game, and begin what is drawn, after so many decisions."""
        seed = self.ranks.seed(self.settings.seed, since)
        self.random = np.random.default_rng(seed)
        self.games.reset(seed)

    # -- one iteration

    def iterate(self) -> dict[str, float]:
        """Play, learn, and tell what happened."""
        before, steps = self.decisions, self._steps_now()
        played = self._play(steps)
        acted = time.perf_counter()
        told = self._learn(steps, before / self.settings.decisions)
        self.seconds.learning += time.perf_counter() - acted
        told |= played
        self.decisions += self._learnt
        self._check(told)
        self._join_pool(before)
        return told

    def _steps_now(self) -> int:
        """Steps of this iteration: fewer in the last, so that the budget is met closely."""
        settings = self.settings
        # In games with another, one of two decisions is the learner's.
        each = self.ranks.world * (self.count - self._games_with_others() / 2)
        left = math.ceil((settings.decisions - self.decisions) / each)
        return min(self.steps, left) if left > 0 else self.steps

    def _check(self, told: Mapping[str, float]) -> None:
        """Stop at a number that is none, before it comes into a state or a checkpoint."""
        for name, value in told.items():
            if not math.isfinite(value):
                raise Diverged(f"{name} became {value} after {self.decisions:,} decisions")
        for name, each in self.network.named_parameters():
            if not bool(each.isfinite().all()):
                raise Diverged(f"weights of {name} became none after {self.decisions:,} decisions")

    # -- playing

    @torch.no_grad()
    def _play(self, steps: int) -> dict[str, float]:
        """Fill the buffers with so many decisions of all games."""
        settings, buffers, side = self.settings, self._buffers, self.side
        clock = time.perf_counter
        began = clock()
        others = self._seats_of_others()
        seats_of_others = side.put(others)
        now = side.seen(self.games.look())
        for step in range(steps):
            self._take(step, now)
            buffers.learns[step] = now.seats != seats_of_others
            looked = clock()
            logits, values = self._answers(step)
            buffers.values[step] = values
            side.place.rows(
                self.count, choose, logits, buffers.masks[step],
                side.chances(self.random, self.count), buffers.actions[step], buffers.logs[step],
            )  # fmt: skip
            if self._games_with_others():
                self._let_other_play(step)
            acted = clock()
            now = side.seen(self.games.step(buffers.shown[buffers.all, buffers.actions[step]]))
            self._tell_other(others)
            buffers.rewards[step] = now.rewards
            buffers.ended[step] = now.ended
            stepped = clock()
            self.seconds.acting += acted - looked
            self.seconds.environment += looked - began + stepped - acted
            began = stepped
        if buffers.ended[steps - 1].all():
            last_values = side.zeros(self.count, np.float32)
        else:
            self._take(-1, now)
            last_values = self._answers(-1)[1]
        buffers.rewards[:steps] /= self.scales
        side.place.rows(
            self.count, advantages,
            buffers.seats[:steps], buffers.rewards[:steps], buffers.ended[:steps],
            buffers.values[:steps], now.seats, last_values,
            settings.discount, settings.trace, buffers.advantages[:steps],
        )  # fmt: skip
        mine = int(buffers.ended[:steps].sum()), int(buffers.learns[:steps].sum())
        hands, self._learnt = map(int, self.ranks.reduced(mine))
        self.hands += hands
        return {"hands": float(hands)}

    def _take(self, step: int, now: StepResult) -> None:
        """Keep what is seen at a step, and what is not; -1 for what lies beyond the last."""
        self._buffers.take(step, now)
        if self.settings.critic != "oracle":
            return
        _, hidden = self._buffers.at(step)
        for (games, span), rules in zip(self.games.parts(), self._rules, strict=True):
            batch, count = games.batch, games.num_envs
            self.side.place.rows(
                count, write_hidden, rules, batch.records, now.seats[span], batch.orders,
                self._buffers.shown[span], hidden[span],
            )  # fmt: skip

    def _answers(self, step: int) -> tuple[Array, Array]:
        """Logits and values of all games; step -1 is what lies beyond the last."""
        seen = map(self.side.tensor, self._buffers.at(step))
        with self._mixed():
            logits, values = self.network(*self._as_numbers(*seen))
        return self.side.own(logits), self.side.own(values)

    def _as_numbers(self, seen: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """What policy and critic are given, in the numbers that they multiply in."""
        kind = torch.bfloat16 if self.settings.precision == "mixed" else torch.float32
        return seen.to(kind), hidden.to(kind)

    def _mixed(self) -> Any:
        on = self.settings.precision == "mixed"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=on)

    # -- others at the table

    def _seats_of_others(self) -> Array:
        """Draw one of the pool, and say in which seat of each game it plays; 2 for none."""
        seats = np.full(self.count, 2, np.uint8)
        self.other = None
        if not self._games_with_others():
            return seats
        for games, span in self.games.parts():
            count = self._shared(games)
            seats[span.start : span.start + count] = 0
            seats[span.start : span.start + count : 2] = 1
        drawn = int(self.random.integers(len(self.opponents) + len(self.pool)))
        self.other = self.opponents[drawn] if drawn < len(self.opponents) else None
        if self.other is None:
            self.earlier.load_state_dict(self.pool[drawn - len(self.opponents)])
        else:
            # Whatever it remembers is of games that others have gone on with.
            for agent, (games, _) in zip(self.other, self.games.parts(), strict=True):
                agent.reset(games.batch.all[: self._shared(games)].copy())
        return seats

    def _games_with_others(self) -> int:
        """In how many games another plays; in none as long as there is nobody."""
        if not self.opponents and not self.pool:
            return 0
        return sum(self._shared(games) for games, _ in self.games.parts())

    def _shared(self, games: SelfPlayEnv) -> int:
        """In how many of these games another plays: the first of them."""
        return int(self.settings.pool_games * games.num_envs)

    def _tell_other(self, others: Array) -> None:
        """Tell who plays the other seats of the hands that the last step has begun."""
        for agent, (games, span) in zip(self.other or (), self.games.parts(), strict=False):
            begun = games.begun
            agent.reset(begun[others[span][begun] != 2].copy())

    def _let_other_play(self, step: int) -> None:
        """Replace the actions where another plays."""
        buffers, side = self._buffers, self.side
        if self.other is not None:
            for agent, (games, span) in zip(self.other, self.games.parts(), strict=True):
                where = side.where(~buffers.learns[step, span])
                if len(where):
                    actions = actions_of(agent, games, side.tensor(where).cpu().numpy())
                    place_actions(actions, side.tensor(buffers.shown[span][where]).cpu().numpy())
                    buffers.actions[step, span][where] = side.put(actions)
            return
        where = side.where(~buffers.learns[step])
        if not len(where):
            return
        with self._mixed():
            seen = side.tensor(buffers.at(step)[0][where])
            logits = self.earlier.logits(seen.float())
        actions, logs = side.zeros(len(where), np.int64), side.zeros(len(where), np.float32)
        side.place.rows(
            len(where), choose, side.own(logits), buffers.masks[step][where],
            side.chances(self.random, len(where)), actions, logs,
        )  # fmt: skip
        buffers.actions[step, where] = actions

    def _join_pool(self, before: int) -> None:
        """Let the average join the pool every so often; one of a full pool, not the last, goes."""
        settings = self.settings
        due = self.decisions // settings.pool_every != before // settings.pool_every
        if not due or not settings.pool_games or not settings.pool_size:
            return
        self.pool.append({name: each.clone() for name, each in self.average.state_dict().items()})
        if len(self.pool) > settings.pool_size:
            del self.pool[self.ranks.of_first(int(self.random.integers(len(self.pool) - 1)))]

    # -- learning

    def _learn(self, steps: int, done: float) -> dict[str, float]:
        """Some epochs of clipped policy steps over what was played; `done` runs from 0 to 1."""
        settings = self.settings
        rate = _between(settings.learning_rate, settings.learning_rate_end, done)
        entropy_weight = _between(settings.entropy, settings.entropy_end, done)
        now = {"learning_rate": rate, "entropy_weight": entropy_weight}
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["times"]
        batch = self._buffers.decisions(steps)
        held = self._held_by(batch)
        count = len(batch.actions)
        # Advantages are measured by their spread, which one alone does not have.
        most = int(self.ranks.reduced([count // 2], "MIN")[0])
        pieces = min(max(1, round(self._learnt / settings.minibatch)), most)
        if not pieces:
            return {**dict.fromkeys([*self.told, "gradient", "explained"], 0.0), **now}
        figures: list[tuple[float, Tensor]] = []
        for _ in range(settings.epochs):
            order = self.side.order(self.random, count)
            shuffled = torch.tensor_split(order, pieces)
            scales = self._scales([batch.advantages.index_select(0, each) for each in shuffled])
            for rows, scale in zip(shuffled, scales, strict=True):
                some = batch.rows(rows)
                loss, told = self._loss(
                    some, scale, entropy_weight, None if held is None else held[rows]
                )
                self.optimizer.zero_grad(set_to_none=True)
                (loss if self.ranks.alone else scale.share * loss).backward()
                self.ranks.add_gradients(self.network.parameters())
                if done < settings.critic_first:
                    self._keep_policy()
                length = torch.nn.utils.clip_grad_norm_(
                    self.network.parameters(), settings.most_gradient
                )
                self.optimizer.step()
                self._follow()
                figures.append((scale.share, torch.cat([told, length.reshape(1)])))
        # Fetched together: each by itself would wait for the device.
        fetched = torch.stack([each for _, each in figures]).double().cpu().numpy()
        sums = np.zeros(len(self.told))
        for (share, _), told in zip(figures, fetched, strict=True):
            sums += share * told[:-1]
        lengths = float(fetched[:, -1].sum())
        means = np.array([*self.ranks.reduced(sums), lengths]) / len(figures)
        found: dict[str, float] = dict(zip((*self.told, "gradient"), means.tolist(), strict=True))
        (spread,) = self._scales([batch.returns])
        variance = float(spread.deviation) ** 2
        found["explained"] = 1 - found["value_loss"] / variance if variance > 0 else 0.0
        return {**found, **now}

    def _scales(self, parts: Sequence[Tensor]) -> list[Scale]:
        """Of several lots of numbers mean and deviation over all ranks, and this one's share."""
        if self.ranks.alone:
            return [Scale(each.mean(), each.std(), 1.0) for each in parts]
        mine = [[each.new_tensor(len(each)), each.sum(), each.square().sum()] for each in parts]
        told = torch.tensor(mine, dtype=torch.float64)
        found = []
        every = torch.tensor(self.ranks.reduced(told.flatten().tolist())).view_as(told)
        for part, (count, total, squares) in zip(parts, every.tolist(), strict=True):
            mean = total / count
            deviation = math.sqrt(max(0.0, squares - count * mean * mean) / max(1.0, count - 1))
            found.append(
                Scale(part.new_tensor(mean), part.new_tensor(deviation), len(part) / count)
            )
        return found

    def _loss(
        self, batch: Decisions, scale: Scale, entropy_weight: float, held: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        settings = self.settings
        with self._mixed():
            logits, values = self.network(*self._as_numbers(batch.x, batch.hidden))
        logs = masked_logs(logits, batch.masks)
        chosen = logs.gather(1, batch.actions[:, None]).squeeze(1)
        change = chosen - batch.logs
        ratio = change.exp()
        wanted = (batch.advantages - scale.mean) / (scale.deviation + 1e-8)
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        policy_loss = -torch.min(ratio * wanted, clipped * wanted).mean()
        value_loss = functional.mse_loss(values, batch.returns)
        shares = logs.exp()
        entropy = -(shares * logs.clamp(min=-50)).sum(1).mean()
        loss = policy_loss + settings.value_weight * value_loss - entropy_weight * entropy
        if held is not None:
            loss = loss + settings.pull * (shares * (logs - held).clamp(-50, 50)).sum(1).mean()
        with torch.no_grad():
            outside = ((ratio - 1).abs() > settings.clip).float().mean()
            divergence = (ratio - 1 - change).mean()
            told = torch.stack([policy_loss, value_loss, entropy, divergence, outside])
        return loss, told

    def _held_by(self, batch: Decisions) -> Tensor | None:
        """What the averaged weights would play, where the policy is pulled towards it."""
        return self.logs_of(self.average, batch) if self.settings.pull else None

    @torch.no_grad()
    def logs_of(self, network: Network, batch: Decisions) -> Tensor:
        """The logarithms of the probabilities of all actions, as a network has them now."""
        parts = []
        for rows in torch.arange(len(batch.actions), device=self.device).split(8192):
            with self._mixed():
                logits = network.logits(batch.x[rows].float())
            parts.append(masked_logs(logits, batch.masks[rows]))
        return torch.cat(parts)

    def _keep_policy(self) -> None:
        """Let a step move the critic alone."""
        network = self.network
        for part in (network.hidden, network.policy):
            part.zero_grad(set_to_none=True)

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the average a little towards the network."""
        rate = 1 - self.settings.average
        for mine, theirs in zip(self.average.parameters(), self.network.parameters(), strict=True):
            mine.lerp_(theirs, rate)

    # -- what comes out, and what a resumed training needs

    def player(self) -> dict[str, Array]:
        """The weights of the player and its critic: the average."""
        return weights_of(self.average)

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Begin with the weights of a checkpoint, which fit; a critic that it lacks stays new."""
        for network in (self.network, self.average):
            begin_with(network, weights)

    def network_card(self) -> NetworkCard:
        """What the card of a checkpoint says of the network."""
        settings = self.settings
        return NetworkCard(
            kind="mlp",
            inputs=input_names(self.inputs),
            rule_features=input_names(self.features, RULE_LAYOUT),
            layers=settings.layers,
            ranks=settings.ranks,
            critic=settings.critic,
        )

    def state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Everything that the rest of the training depends on: arrays, and plain values."""
        network = of_tensors("network.", self.network.state_dict())
        mine = self.games.state(), dict(self.random.bit_generator.state), digest_of(network)
        games, random, digests = zip(*self.ranks.of_all(mine), strict=True)
        if len(set(digests)) > 1:
            raise Diverged(f"the ranks' weights became different by {self.decisions:,} decisions")
        arrays = network | of_tensors("average.", self.average.state_dict())
        for place, one in enumerate(self.pool):
            arrays |= of_tensors(f"pool.{place}.", one)
        arrays |= of_optimizer("optimizer.", self.optimizer)
        for rank, each in enumerate(games):
            arrays |= {f"{_games_of(rank)}{name}": array for name, array in each.items()}
        told = Kept(self.decisions, self.hands, len(self.pool), random[0], list(random[1:]))
        return arrays, msgspec.to_builtins(told)

    def restore(self, arrays: dict[str, Array], plain: dict[str, Any]) -> None:
        """Go on from what `state` gave.

        Where there were more or fewer ranks before, the games begin anew.
        """
        told = converted(plain, Kept, "trainer")
        restore_module(self.network, arrays, "network.")
        restore_module(self.average, arrays, "average.")
        self.pool = [tensors_in(arrays, f"pool.{place}.") for place in range(told.pool)]
        restore_optimizer(self.optimizer, arrays, "optimizer.")
        random = [told.random, *told.others]
        if len(random) == self.ranks.world:
            self.games.restore(part_of(arrays, _games_of(self.ranks.rank)))
            self.random.bit_generator.state = random[self.ranks.rank]
        else:
            self._begin_games(told.decisions)
        self.decisions, self.hands = told.decisions, told.hands


def _games_of(rank: int) -> str:
    """How the names of the arrays of a rank's games begin."""
    return f"rank.{rank}.games." if rank else "games."


def _between(start: float, end: float, done: float) -> float:
    return start + (end - start) * min(1.0, done)


def masked_logs(logits: Tensor, masks: Tensor) -> Tensor:
    """The logarithms of the probabilities of all actions; what is not legal has none."""
    return torch.log_softmax(logits.masked_fill(masks == 0, _NOT_LEGAL), dim=1)
