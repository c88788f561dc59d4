"""Neural fictitious self-play (NFSP): a best response by deep Q-learning, and its average.

Heinrich and Silver 2016, "Deep reinforcement learning from self-play in imperfect-information
games", arXiv:1603.01121, algorithm 1. Each seat of each episode plays its best response with
probability η (`anticipatory`), else its average policy. The best response is the ε-greedy policy of
a deep Q-network with a target network (Mnih and others 2015, "Human-level control through deep
reinforcement learning"), trained from a replay buffer of all transitions. The average policy
imitates what best responses have played, from a reservoir buffer; it approaches an equilibrium,
and checkpoints hold it. Read it from top to bottom, beginning at `NFSP.iterate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from msgspec import to_builtins
from torch import Tensor, nn
from torch.nn import functional

from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import Count, NetworkCard
from ...agents.networks.custom_network import network_of_card, observation_of
from ...agents.networks.relative_ranks import InputRows, gather_rows
from ...common.schema import convert
from ...common.typing import Array, JsonObject
from ...engine.dtypes import SEATS
from ...envs import SelfPlayEnv
from ..rollout.input_features import inputs_of
from ..rollout.networks import ActorCritic, QNetwork, card_of_module, frozen_copy, weights_of
from ..rollout.optimizer import Adam
from ..rollout.replay_buffer import ReplayBuffer, ReservoirBuffer
from ..rollout.tensor_state import (
    module_arrays,
    optimizer_arrays,
    restore_module,
    restore_optimizer,
    with_prefix,
)
from .base import MASK_IGNORED, Arrays, Trainer, TrainerState, torch_device
from .settings import NFSPSettings

_ILLEGAL = -1e9
"""Logit and Q-value of illegal actions."""
_NETWORKS = ("average_policy", "q_network", "target_q_network")


class NFSPState(TrainerState):
    """Plain values of a saved state."""

    updates: Count
    replay_added: Count
    reservoir_added: Count


class NFSP(Trainer):
    """Networks, optimizers, games and both buffers."""

    settings_kind = NFSPSettings
    settings: NFSPSettings

    def __init__(self, settings: NFSPSettings, device: str = "cpu") -> None:
        super().__init__(settings)
        self.device = torch.device(device)
        options = settings.options
        self.observation = observation_of(settings.network) if settings.network else "vector"
        self.n_actions = options.rules.actions
        self.games = SelfPlayEnv(
            settings.n_envs,
            options.rules,
            reward=settings.reward,
            suit_order=settings.suit_order,
            horizon=settings.horizon,
            observation=self.observation,
        )
        if self.observation == "history":
            rows, columns = self.games.single_observation_space.shape
            self.inputs = np.arange(rows * columns)
        else:
            self.inputs = inputs_of(options, relative_ranks=True)
        n_inputs = len(self.inputs)
        average_policy, q_network = self._make_networks()
        self.average_policy = average_policy.to(self.device)
        self.q_network = q_network.to(self.device)
        self.target_q_network = frozen_copy(self.q_network)
        self.optimizers = {
            name: Adam(
                [{"params": [*getattr(self, name).parameters()], "lr_scale": 1.0}],
                lr=settings.learning_rate,
            )
            for name in ("average_policy", "q_network")
        }
        inputs, actions = (n_inputs,), (self.n_actions,)
        decision = [("observation", "i1", inputs), ("action", "i2")]
        outcome = [
            ("reward", "f4"),
            ("done", "i1"),
            ("next_observation", "i1", inputs),
            ("next_action_mask", "i1", actions),
        ]
        self.replay_buffer = ReplayBuffer([*decision, *outcome], settings.replay_size)
        weight = [("weight", "f4")] if settings.averaging else []
        self.reservoir_buffer = ReservoirBuffer(
            [*decision, ("action_mask", "i1", actions), *weight], settings.reservoir_size
        )
        self.updates = 0

    def _make_networks(self) -> tuple[nn.Module, nn.Module]:
        """The average policy and the Q-network."""
        settings = self.settings
        if settings.network:
            rules, card = settings.options.rules, self.network_card()
            policy, q_network = (
                network_of_card(card, rules, self.n_actions, settings.seed + number)
                for number in range(2)
            )
            return policy, q_network
        generator = torch.Generator().manual_seed(settings.seed)
        sizes: Any = {"hidden_sizes": settings.hidden_sizes, "generator": generator}
        # Of the first the policy alone is trained.
        return (
            ActorCritic(len(self.inputs), self.n_actions, shared_critic=True, **sizes),
            QNetwork(len(self.inputs), self.n_actions, **sizes),
        )

    @classmethod
    def from_settings(cls, settings: NFSPSettings) -> NFSP:
        return cls(settings, torch_device(settings))

    def iterate(self) -> dict[str, float]:
        """Play an episode in every game, and train both networks from the buffers."""
        seed = np.random.SeedSequence([self.settings.seed, self.decisions])
        rng = np.random.default_rng(seed)
        before, every = self.decisions, self.settings.train_every
        if self.settings.anneal_learning_rate:
            progress = min(1.0, before / self.settings.decisions)
            for optimizer in self.optimizers.values():
                optimizer.set_learning_rate(self.settings.learning_rate * (1 - progress))
        self._play_episodes(int(seed.generate_state(1)[0]), rng)
        losses = []
        for _ in range(self.decisions // every - before // every):
            losses.append((self._train_q_network(rng), self._train_average_policy(rng)))
            self.updates += 1
            if self.updates % self.settings.target_update_every == 0:
                self.target_q_network.load_state_dict(self.q_network.state_dict())
        self.hands += self.settings.n_envs
        if not losses:
            return {}
        value_loss, policy_loss = np.mean(losses, axis=0).tolist()
        return {"value_loss": value_loss, "policy_loss": policy_loss}

    # -- collecting

    def _play_episodes(self, seed: int, rng: np.random.Generator) -> None:
        """Play an episode in every game, and add its decisions to the buffers."""
        settings, n_envs = self.settings, self.settings.n_envs
        # Drawn once for each seat: a policy plays a whole episode.
        best_response = rng.random((n_envs, SEATS)) < settings.anticipatory
        progress = min(1.0, self.decisions / settings.decisions)
        epsilon = settings.epsilon * (1 - progress)
        iteration = self.hands // n_envs + 1
        step, running = self.games.reset(seed), np.ones(n_envs, np.bool_)
        # The last decision of each seat becomes a transition when the seat moves again, or the
        # episode ends; what the seat is paid until then is its reward.
        pending = np.zeros((n_envs, SEATS), self.replay_buffer.dtype)
        has_pending = np.zeros((n_envs, SEATS), np.bool_)
        games = np.arange(n_envs)
        while running.any():
            observations = np.zeros((n_envs, len(self.inputs)), np.int8)
            action_masks = np.zeros((n_envs, self.n_actions), np.int8)
            env_actions = np.zeros((n_envs, self.n_actions), np.int64)
            if self.observation == "history":
                observations[:] = step.observations.reshape(n_envs, -1)
                action_masks[:] = step.masks
                env_actions[:] = np.arange(self.n_actions)
            else:
                rows = InputRows(
                    observations=step.observations,
                    masks=step.masks,
                    inputs=self.inputs,
                    relative_ranks=True,
                    network_inputs=observations,
                    network_masks=action_masks,
                    env_actions=env_actions,
                )
                self.games.batch.backend.run_rows(n_envs, gather_rows, rows)
            seats = step.seats.astype(np.int64)
            responds = best_response[games, seats]
            actions = self._select_actions(observations, action_masks, responds, epsilon, rng)
            completed = running & has_pending[games, seats]
            transitions = pending[games, seats][completed]
            transitions["next_observation"] = observations[completed]
            transitions["next_action_mask"] = action_masks[completed]
            self.replay_buffer.add(transitions)
            active = np.flatnonzero(running)
            if not action_masks[active, actions[active]].all():
                raise ArithmeticError(MASK_IGNORED)
            movers = active, seats[active]
            pending["observation"][movers] = observations[active]
            pending["action"][movers] = actions[active]
            pending["reward"][movers] = 0
            has_pending[movers] = True
            imitated = active[responds[active]]
            decisions = np.zeros(len(imitated), self.reservoir_buffer.dtype)
            decisions["observation"] = observations[imitated]
            decisions["action_mask"] = action_masks[imitated]
            decisions["action"] = actions[imitated]
            if settings.averaging:
                decisions["weight"] = float(iteration) ** settings.averaging
            self.reservoir_buffer.add(decisions, rng)
            self.decisions += len(active)
            step = self.games.step(env_actions[games, actions])
            pending["reward"] += step.rewards / settings.reward_scale * running[:, None]
            ended = running & step.ended
            final = pending[ended][has_pending[ended]]
            final["done"] = 1
            # Its value does not count, but a network of histories reads none without events.
            final["next_observation"] = final["observation"]
            self.replay_buffer.add(final)
            running &= ~step.ended

    def _select_actions(
        self,
        observations: Array,
        action_masks: Array,
        best_response: Array,
        epsilon: float,
        rng: np.random.Generator,
    ) -> Array:
        """ε-greedy actions by the Q-network where the best response plays, else sampled ones."""
        with torch.no_grad():
            x = self._to_tensor(observations)
            q_values = self._masked_q_values(self.q_network, x, action_masks).cpu().numpy()
            logits = self._masked_logits(x, action_masks).cpu().numpy()
        explores = best_response & (rng.random(len(observations)) < epsilon)
        uniform = np.where(action_masks, 0.0, _ILLEGAL)
        logits = np.where(explores[:, None], uniform, logits)
        # The Gumbel-max trick: the argmax of logits with Gumbel noise is a sample of their softmax.
        sampled = (logits + rng.gumbel(size=logits.shape)).argmax(1)
        return np.where(best_response & ~explores, q_values.argmax(1), sampled)

    def _masked_q_values(self, network: nn.Module, x: Tensor, action_masks: Array) -> Tensor:
        return network(x)[0].masked_fill(self._to_tensor(action_masks) == 0, _ILLEGAL)

    def _masked_logits(self, x: Tensor, action_masks: Array) -> Tensor:
        """Logits of the average policy."""
        illegal = self._to_tensor(action_masks) == 0
        return self.average_policy(x)[0].masked_fill(illegal, _ILLEGAL)

    def _to_tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(array.astype(np.float32)).to(self.device)

    # -- training

    def _train_q_network(self, rng: np.random.Generator) -> float:
        """One step of Q-learning, towards reward + max Q of the target network; undiscounted."""
        rows = self.replay_buffer.sample(self.settings.batch_size, rng)
        observations, next_observations, rewards, dones = (
            self._to_tensor(rows[name])
            for name in ("observation", "next_observation", "reward", "done")
        )
        actions = self._to_tensor(rows["action"]).long()
        with torch.no_grad():
            next_q_values = self._masked_q_values(
                self.target_q_network, next_observations, rows["next_action_mask"]
            ).amax(1)
            targets = rewards + next_q_values.masked_fill(dones > 0, 0.0)
        q_values = self.q_network(observations)[0].gather(1, actions[:, None]).squeeze(1)
        return self._gradient_step("q_network", functional.mse_loss(q_values, targets))

    def _train_average_policy(self, rng: np.random.Generator) -> float:
        """One step of imitation: weighted cross-entropy of what best responses have played."""
        rows = self.reservoir_buffer.sample(self.settings.batch_size, rng)
        if not len(rows):
            return 0.0
        actions = self._to_tensor(rows["action"]).long()
        logits = self._masked_logits(self._to_tensor(rows["observation"]), rows["action_mask"])
        if not self.settings.averaging:
            return self._gradient_step("average_policy", functional.cross_entropy(logits, actions))
        weight = self._to_tensor(rows["weight"])
        losses = functional.cross_entropy(logits, actions, reduction="none")
        return self._gradient_step("average_policy", (losses * weight / weight.mean()).mean())

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
        if self.settings.network:
            return weights
        return {name: array for name, array in weights.items() if not name.startswith("value.")}

    def network_card(self) -> NetworkCard:
        if self.settings.network:
            return card_of_module(self.settings, self.inputs, "relative")
        return NetworkCard(
            kind="mlp",
            inputs=input_names(self.inputs),
            hidden_sizes=self.settings.hidden_sizes,
            card_ranks="relative",
        )

    def state(self) -> tuple[Arrays, JsonObject]:
        arrays = self.replay_buffer.state("replay.") | self.reservoir_buffer.state("reservoir.")
        for name in _NETWORKS:
            arrays |= module_arrays(f"{name}.", getattr(self, name).state_dict())
        for name, optimizer in self.optimizers.items():
            arrays |= optimizer_arrays(f"optimizer.{name}.", optimizer)
        plain = NFSPState(
            self.decisions,
            self.hands,
            self.updates,
            self.replay_buffer.n_added,
            self.reservoir_buffer.n_added,
        )
        return arrays, to_builtins(plain)

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        state = convert(plain, NFSPState, "trainer")
        for name in _NETWORKS:
            restore_module(getattr(self, name), arrays, f"{name}.")
        for name, optimizer in self.optimizers.items():
            restore_optimizer(optimizer, arrays, f"optimizer.{name}.")
        self.replay_buffer.restore(with_prefix(arrays, "replay."), state.replay_added)
        self.reservoir_buffer.restore(with_prefix(arrays, "reservoir."), state.reservoir_added)
        self.decisions, self.hands, self.updates = state.decisions, state.hands, state.updates
