"""ESCHER: regrets from a value function of histories, without importance sampling.

McAleer, Farina, Lanctot and Sandholm 2023, "ESCHER: Eschewing importance sampling in games by
computing a history value function to estimate regret", arXiv:2206.04122. In each hand one seat is
updated: it plays at random, while the other seat plays the current policy by regret matching. At
each decision of the updated seat the regret of every card is its value minus the policy's mean
value, both by a network of histories: it sees all cards, and what either player sees. No regret is
divided by the probability with which it was sampled: a random player visits each of its decisions
equally often in every iteration, which leaves regret matching as it is. A regret network learns the
mean of all regrets from a reservoir, and another network the average of all policies, which
approaches an equilibrium; checkpoints hold it.

The paper learns the values of histories from hands that both seats play by the policy. Here the
value of each action comes from the same hands as the regrets, by expected SARSA, which is right
for any play. One set of networks serves both seats, and keeps its weights between iterations. Read
it from top to bottom, beginning at `ESCHER.iterate`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from msgspec import to_builtins
from torch import Tensor
from torch.nn import functional

from german_whist.agents.checkpoints.input_names import input_names
from german_whist.agents.checkpoints.schema import HIDDEN_CARDS_SIZE, Count, NetworkCard
from german_whist.agents.networks.network_inputs import network_inputs
from german_whist.agents.networks.relative_ranks import InputRows, gather_rows
from german_whist.common.schema import convert
from german_whist.common.settings import (
    Positive,
    PositiveInt,
    SettingsError,
    doc,
)
from german_whist.common.typing import Array, JsonObject
from german_whist.engine.batch.results import StepResult
from german_whist.envs import SelfPlayEnv
from german_whist.training.algorithms.base import Arrays, Trainer, TrainerState, torch_device
from german_whist.training.algorithms.settings import (
    MAX_AVERAGING,
    HiddenSizes,
    RewardScale,
    check_batch_fits,
)
from german_whist.training.given import BOTH_SEATS, HIDDEN_CARDS, Given, on_or_off
from german_whist.training.rollout.input_features import inputs_of
from german_whist.training.rollout.kernels import HiddenCards, write_hidden_cards
from german_whist.training.rollout.networks import ActorCritic, QNetwork, weights_of
from german_whist.training.rollout.optimizer import Adam
from german_whist.training.rollout.replay_buffer import ReplayBuffer, ReservoirBuffer
from german_whist.training.rollout.tensor_state import (
    module_arrays,
    optimizer_arrays,
    restore_module,
    restore_optimizer,
    with_prefix,
)
from german_whist.training.settings import Settings

_ILLEGAL = -1e9
_NETWORKS = ("value_network", "regret_network", "average_policy")
_BUFFERS = ("values", "regrets", "policies")


class ESCHERSettings(Settings, frozen=True, kw_only=True):
    """ESCHER: regret matching, with regrets from a value network that sees the whole history."""

    fixed: ClassVar[tuple[str, ...]] = (
        *(name for name in Settings.fixed if name != "n_steps"),
        *("replay_size", "reservoir_size", "reward_scale", "averaging"),
    )

    trainer: str = "escher"
    hidden_sizes: HiddenSizes = (
        128,
        128,
    )
    n_envs: Annotated[
        PositiveInt, doc("Number of hands in an iteration. They are played side by side.")
    ] = 1024
    averaging: Annotated[
        float,
        doc(
            "Exponent of the weights in the averages of regrets and policies: iteration t has "
            "the weight t to the power of this number. With 0, all iterations have the same "
            "weight. 1 is linear averaging.",
            ge=0,
            le=MAX_AVERAGING,
        ),
    ] = 2.0
    replay_size: Annotated[
        PositiveInt, doc("Number of decisions that the replay buffer of the value network holds.")
    ] = 50_000
    reservoir_size: Annotated[
        PositiveInt,
        doc(
            "Number of decisions in each of the two reservoir buffers, one for regrets and "
            "one for policies. A reservoir is a random sample of all decisions so far."
        ),
    ] = 300_000
    value_steps: Annotated[
        PositiveInt, doc("Number of gradient steps of the value network in an iteration.")
    ] = 8
    regret_steps: Annotated[
        PositiveInt, doc("Number of gradient steps of the regret network in an iteration.")
    ] = 8
    policy_steps: Annotated[
        PositiveInt, doc("Number of gradient steps of the average policy in an iteration.")
    ] = 8
    batch_size: Annotated[PositiveInt, doc("Number of samples in a minibatch.")] = 512
    learning_rate: Annotated[
        Positive, doc("Learning rate of Adam for the networks of regrets and policies.")
    ] = 3e-3
    value_learning_rate: Annotated[
        Positive,
        doc(
            "Learning rate of Adam for the value network. All regrets come from this "
            "network, so it has to learn fastest."
        ),
    ] = 0.01
    reward_scale: RewardScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch_fits(
            self.batch_size, replay_size=self.replay_size, reservoir_size=self.reservoir_size
        )
        if self.precision != "float32":
            raise SettingsError(f"precision is {self.precision!r}: escher learns in float32 alone")
        if self.init:
            raise SettingsError(
                f"init is {self.init!r}: escher begins without regrets, which no checkpoint holds; "
                "leave it out"
            )

    @property
    def given(self) -> Given:
        # The value network is its critic.
        return Given(
            critic=HIDDEN_CARDS,
            observation="relative ranks",
            precision=self.precision,
            ema=on_or_off(0),
            decisions=BOTH_SEATS,
        )


class ESCHERState(TrainerState):
    """Plain values of a saved state."""

    iterations: Count
    added: dict[str, Count]


class Decisions(NamedTuple):
    """What the players to move see at a step, and what they cannot see."""

    observations: Array
    hidden: Array
    """The hidden cards, and what the other player sees: its next cards depend on it."""
    masks: Array
    env_actions: Array


class ESCHER(Trainer):
    """Networks, optimizers, games and buffers."""

    settings_kind = ESCHERSettings
    settings: ESCHERSettings

    def __init__(self, settings: ESCHERSettings, device: str = "cpu") -> None:
        super().__init__(settings)
        self.device = torch.device(device)
        options = settings.options
        self.n_actions = options.rules.actions
        self.games = SelfPlayEnv(
            settings.n_envs,
            options.rules,
            reward=settings.reward,
            suit_order=settings.suit_order,
            horizon=settings.horizon,
        )
        self.inputs = inputs_of(options, relative_ranks=True)
        n_inputs, generator = len(self.inputs), torch.Generator().manual_seed(settings.seed)
        sizes: Any = {"hidden_sizes": settings.hidden_sizes, "generator": generator}
        hidden_size = HIDDEN_CARDS_SIZE + n_inputs
        value_network = QNetwork(n_inputs + hidden_size, self.n_actions, **sizes)
        self.value_network = value_network.to(self.device)
        """Values of a history's actions for the player to move."""
        self.regret_network = QNetwork(n_inputs, self.n_actions, **sizes).to(self.device)
        # Of it the policy alone is trained.
        average_policy = ActorCritic(n_inputs, self.n_actions, shared_critic=True, **sizes)
        self.average_policy = average_policy.to(self.device)
        rates = {"value_network": settings.value_learning_rate}
        self.optimizers = {
            name: Adam(getattr(self, name).parameters(), lr=rates.get(name, settings.learning_rate))
            for name in _NETWORKS
        }
        actions = (self.n_actions,)
        history = [("observation", "i1", (n_inputs,)), ("hidden", "i1", (hidden_size,))]
        following = [(f"next_{name}", *kind) for name, *kind in history]
        self.values = ReplayBuffer(
            [
                *history,
                ("action", "i2"),
                ("reward", "f4"),
                *following,
                # What its value is worth to the player before it: 1, -1, or 0 after the end.
                ("sign", "i1"),
                ("next_policy", "f4", actions),
            ],
            settings.replay_size,
        )
        decision = [history[0], ("mask", "i1", actions), ("weight", "f4")]
        self.regrets = ReservoirBuffer(
            [*decision, ("regret", "f4", actions)], settings.reservoir_size
        )
        self.policies = ReservoirBuffer(
            [*decision, ("policy", "f4", actions)], settings.reservoir_size
        )
        self.iterations = 0

    @classmethod
    def from_settings(cls, settings: ESCHERSettings) -> ESCHER:
        return cls(settings, torch_device(settings))

    def iterate(self) -> dict[str, float]:
        """Play a hand in every game, and train the networks of values, regrets and policies."""
        settings = self.settings
        seed = np.random.SeedSequence([settings.seed, self.decisions])
        rng = np.random.default_rng(seed)
        self.iterations += 1
        regrets = self._play(int(seed.generate_state(1)[0]), rng)
        value_loss = [self._train_values(rng) for _ in range(settings.value_steps)]
        self._add_regrets(regrets, rng)
        regret_loss = [self._train_regrets(rng) for _ in range(settings.regret_steps)]
        policy_loss = [self._train_average_policy(rng) for _ in range(settings.policy_steps)]
        self.hands += settings.n_envs
        return {
            "value_loss": float(np.mean(value_loss)),
            "regret_loss": float(np.mean(regret_loss)),
            "policy_loss": float(np.mean(policy_loss)),
        }

    # -- collecting

    def _play(self, seed: int, rng: np.random.Generator) -> list[dict[str, Array]]:
        """Play a hand in every game; returns the decisions of the updated seats."""
        n_envs, decisions = self.settings.n_envs, list[dict[str, Array]]()
        updated = np.arange(n_envs) % 2
        step, running = self.games.reset(seed), np.ones(n_envs, np.bool_)
        before: dict[str, Array] | None = None
        weight = float(self.iterations) ** self.settings.averaging
        while running.any():
            seen, seats = self._observe(step), step.seats.astype(np.int64)
            policy = self.policy(seen.observations, seen.masks)
            uniform = seen.masks / seen.masks.sum(1, keepdims=True)
            is_updated = seats == updated
            probs = np.where(is_updated[:, None], uniform, policy)
            actions = _sample(probs, rng)
            now: dict[str, Array] = {
                "observation": seen.observations,
                "hidden": seen.hidden,
                "mask": seen.masks,
                "policy": policy,
                "seat": seats,
                "action": actions,
                "weight": np.full(n_envs, weight, np.float32),
            }
            if before is not None:
                self._add_transitions(before, now, running)
            rows = np.flatnonzero(running & is_updated)
            decisions.append({name: array[rows] for name, array in now.items()})
            others = np.flatnonzero(running & ~is_updated)
            self.policies.add(_records(self.policies.dtype, now, others), rng)
            self.decisions += int(running.sum())
            step = self.games.step(seen.env_actions[np.arange(n_envs), actions])
            now["reward"] = step.rewards[np.arange(n_envs), seats] / self.settings.reward_scale
            now["reward"] = now["reward"].astype(np.float32)
            ended = running & step.ended
            self._add_transitions(now, None, ended)
            running &= ~step.ended
            before = now
        return decisions

    def _observe(self, step: StepResult) -> Decisions:
        n_envs, options = self.settings.n_envs, self.settings.options
        backend, batch = self.games.batch.backend, self.games.batch
        rows = self._network_rows(step.observations, step.masks)
        cards = HiddenCards(
            rules=options.rules_array,
            records=batch.games,
            seats=step.seats,
            orders=batch.suit_orders,
            env_actions=rows.env_actions,
            out=np.zeros((n_envs, HIDDEN_CARDS_SIZE), np.int8),
        )
        backend.run_rows(n_envs, write_hidden_cards, cards)
        views = batch.views(1 - step.seats)
        other = network_inputs(
            views, options.rules, suit_order=options.suit_order, match=options.match
        )
        other_rows = self._network_rows(other.observations, other.masks)
        hidden = np.concatenate([cards.out, other_rows.network_inputs], axis=1)
        return Decisions(rows.network_inputs, hidden, rows.network_masks, rows.env_actions)

    def _network_rows(self, observations: Array, masks: Array) -> InputRows:
        """Observations and masks as the networks read them, by relative ranks."""
        n_envs = len(observations)
        rows = InputRows(
            observations=observations,
            masks=masks,
            inputs=self.inputs,
            relative_ranks=True,
            network_inputs=np.zeros((n_envs, len(self.inputs)), np.int8),
            network_masks=np.zeros((n_envs, self.n_actions), np.int8),
            env_actions=np.zeros((n_envs, self.n_actions), np.int64),
        )
        self.games.batch.backend.run_rows(n_envs, gather_rows, rows)
        return rows

    def policy(self, observations: Array, masks: Array) -> Array:
        """Regret matching: each legal action by its positive regret, or the one of least regret."""
        with torch.no_grad():
            regrets = self.regret_network(self._to_tensor(observations))[0].cpu().numpy()
        regrets = np.where(masks, regrets, _ILLEGAL)
        positive = np.maximum(regrets, 0)
        total = positive.sum(1, keepdims=True)
        best = np.zeros_like(positive)
        best[np.arange(len(best)), regrets.argmax(1)] = 1
        return np.where(total > 0, positive / np.maximum(total, 1e-12), best).astype(np.float32)

    def _add_transitions(
        self, before: dict[str, Array], now: dict[str, Array] | None, chosen: Array
    ) -> None:
        """Add the chosen games' decisions with those that followed, or with none at the end."""
        rows = np.flatnonzero(chosen)
        records = _records(self.values.dtype, before, rows)
        if now is not None:
            for name in ("observation", "hidden", "policy"):
                records[f"next_{name}"] = now[name][rows]
            records["sign"] = np.where(now["seat"] == before["seat"], 1, -1)[rows]
        self.values.add(records)

    def _add_regrets(self, decisions: list[dict[str, Array]], rng: np.random.Generator) -> None:
        """Add the regrets of the updated seats' decisions, by the value network as it is now."""
        for decision in decisions:
            with torch.no_grad():
                q_values = self._q_values(decision["observation"], decision["hidden"])
            q_values = q_values.cpu().numpy()
            value = (decision["policy"] * q_values).sum(1, keepdims=True)
            regret = np.where(decision["mask"], q_values - value, 0)
            records = _records(self.regrets.dtype, decision, np.arange(len(regret)))
            records["regret"] = regret
            self.regrets.add(records, rng)

    def _q_values(self, observations: Array, hidden: Array) -> Tensor:
        history = np.concatenate([observations, hidden], axis=1)
        return self.value_network(self._to_tensor(history))[0]

    def _to_tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(array.astype(np.float32)).to(self.device)

    # -- training

    def _train_values(self, rng: np.random.Generator) -> float:
        """One step of expected SARSA: towards reward ± the policy's value of what followed."""
        rows = self.values.sample(self.settings.batch_size, rng)
        with torch.no_grad():
            following = self._q_values(rows["next_observation"], rows["next_hidden"])
            value = (self._to_tensor(rows["next_policy"]) * following).sum(1)
            targets = self._to_tensor(rows["reward"]) + self._to_tensor(rows["sign"]) * value
        actions = self._to_tensor(rows["action"]).long()
        q_values = self._q_values(rows["observation"], rows["hidden"])
        chosen = q_values.gather(1, actions[:, None]).squeeze(1)
        return self._gradient_step("value_network", functional.mse_loss(chosen, targets))

    def _train_regrets(self, rng: np.random.Generator) -> float:
        """One step towards the weighted mean of all regrets of legal actions."""
        rows = self.regrets.sample(self.settings.batch_size, rng)
        mask, weight = self._to_tensor(rows["mask"]), self._weights(rows)
        predicted = self.regret_network(self._to_tensor(rows["observation"]))[0]
        error = (predicted - self._to_tensor(rows["regret"])) ** 2 * mask
        return self._gradient_step("regret_network", (weight * error.sum(1)).mean())

    def _train_average_policy(self, rng: np.random.Generator) -> float:
        """One step towards the weighted mean of all policies (cross-entropy)."""
        rows = self.policies.sample(self.settings.batch_size, rng)
        logits = self.average_policy(self._to_tensor(rows["observation"]))[0]
        logits = logits.masked_fill(self._to_tensor(rows["mask"]) == 0, _ILLEGAL)
        loss = -(self._to_tensor(rows["policy"]) * torch.log_softmax(logits, 1)).sum(1)
        return self._gradient_step("average_policy", (self._weights(rows) * loss).mean())

    def _weights(self, rows: Array) -> Tensor:
        """Weights of the iterations, relative to the mean."""
        weight = self._to_tensor(rows["weight"])
        return weight / weight.mean()

    def _gradient_step(self, network: str, loss: Tensor) -> float:
        optimizer = self.optimizers[network]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    # -- checkpoints and state

    def policy_weights(self) -> Arrays:
        """Weights of the average policy."""
        weights = weights_of(self.average_policy)
        return {name: array for name, array in weights.items() if not name.startswith("value.")}

    def network_card(self) -> NetworkCard:
        return NetworkCard(
            kind="mlp",
            inputs=input_names(self.inputs),
            hidden_sizes=self.settings.hidden_sizes,
            card_ranks="relative",
        )

    def state(self) -> tuple[Arrays, JsonObject]:
        arrays: Arrays = {}
        for name in _BUFFERS:
            arrays |= getattr(self, name).state(f"{name}.")
        for name in _NETWORKS:
            arrays |= module_arrays(f"{name}.", getattr(self, name).state_dict())
            arrays |= optimizer_arrays(f"optimizer.{name}.", self.optimizers[name])
        added = {name: getattr(self, name).n_added for name in _BUFFERS}
        plain = ESCHERState(self.decisions, self.hands, self.iterations, added)
        return arrays, to_builtins(plain)

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        state = convert(plain, ESCHERState, "trainer")
        for name in _BUFFERS:
            getattr(self, name).restore(with_prefix(arrays, f"{name}."), state.added[name])
        for name in _NETWORKS:
            restore_module(getattr(self, name), arrays, f"{name}.")
            restore_optimizer(self.optimizers[name], arrays, f"optimizer.{name}.")
        self.decisions, self.hands = state.decisions, state.hands
        self.iterations = state.iterations


def _records(dtype: np.dtype[Any], columns: dict[str, Array], rows: Array) -> Array:
    """Rows of the columns as records of a buffer; other fields are 0."""
    records = np.zeros(len(rows), dtype)
    for name in dtype.names or ():
        if name in columns:
            records[name] = columns[name][rows]
    return records


def _sample(probs: Array, rng: np.random.Generator) -> Array:
    """An action for each row, drawn by its probabilities."""
    draws = rng.random((len(probs), 1)) * probs.sum(1, keepdims=True)
    return (probs.cumsum(1) > draws).argmax(1)
