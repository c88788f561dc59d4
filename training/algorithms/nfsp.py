"""Neural fictitious self-play: a best response is learnt, and its average imitated.

Heinrich and Silver 2016, "Deep reinforcement learning from self-play in imperfect-information
games", arXiv:1603.01121. Each seat of each hand is played either by a best response, a network
of action values that is learnt off policy (deep Q-learning, `_learn_values`), or by the average
policy, a network that imitates what the best responses have played so far out of a reservoir
(`_imitate`). In fictitious play the average comes to an equilibrium; it is the player here.
Read it from top to bottom: `NFSP.iterate` plays one hand in all games, and learns from memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from msgspec import Struct
from torch import Tensor
from torch.nn import functional

from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import Count, NetworkCard
from ...agents.networks.relative_ranks import gather_rows
from ...common.schema import convert
from ...common.typing import Array
from ...engine.dtypes import SEATS
from ...envs import SelfPlayEnv
from ..rollout.adam import Adam
from ..rollout.network_inputs import inputs_of
from ..rollout.networks import Network, weights_of
from ..rollout.replay_buffer import Memory
from ..rollout.tensor_state import (
    of_optimizer,
    of_tensors,
    part_of,
    restore_module,
    restore_optimizer,
)
from .base import Arrays, Trainer, torch_device
from .settings import NFSPSettings

_NOT_LEGAL = -1e9


class Kept(Struct, forbid_unknown_fields=True, frozen=True):
    """What a training under way knows beside its arrays."""

    decisions: Count
    hands: Count
    updates: Count
    steps: Count
    """How many rows each memory has ever seen."""
    played: Count


class NFSP(Trainer):
    """A training under way."""

    settings_kind = NFSPSettings
    settings: NFSPSettings

    def __init__(self, settings: NFSPSettings, device: str = "cpu") -> None:
        super().__init__(settings)
        self.device = torch.device(device)
        options = settings.options
        self.inputs = inputs_of(options, closed=True)
        self.actions = options.rules.actions
        self.games = SelfPlayEnv(
            settings.n_envs, options.rules, reward=settings.reward, layout=settings.layout,
            horizon=settings.horizon,
        )  # fmt: skip
        chance = torch.Generator().manual_seed(settings.seed)
        sizes = len(self.inputs), settings.hidden_sizes, self.actions, None, chance
        self.average, self.values = (Network(*sizes).to(self.device) for _ in range(2))
        self.target = Network(*sizes).to(self.device).requires_grad_(False)
        self.target.load_state_dict(self.values.state_dict())
        self.optimizers = {
            "average": Adam(self.average.parameters(), lr=settings.learning_rate),
            "values": Adam(self.values.parameters(), lr=settings.learning_rate),
        }
        seen, legal = ("i1", (len(self.inputs),)), ("i1", (self.actions,))
        decision = [("seen", *seen), ("action", "i2")]
        after = [("paid", "f4"), ("over", "i1"), ("next", *seen), ("next_legal", *legal)]
        self.steps_seen = Memory([*decision, *after], settings.replay_size, reservoir=False)
        self.played = Memory(
            [*decision, ("legal", *legal)], settings.reservoir_size, reservoir=True
        )
        self.updates = 0

    @classmethod
    def made(cls, settings: NFSPSettings) -> NFSP:
        """A trainer for a run with these settings."""
        return cls(settings, torch_device(settings))

    def iterate(self) -> dict[str, float]:
        """Play an episode in every game, and learn from what is remembered."""
        seed = np.random.SeedSequence([self.settings.seed, self.decisions])
        chance = np.random.default_rng(seed)
        before = self.decisions
        self._play(int(seed.generate_state(1)[0]), chance)
        losses = []
        every = self.settings.train_every
        for _ in range(self.decisions // every - before // every):
            losses.append((self._learn_values(chance), self._imitate(chance)))
            self.updates += 1
            if self.updates % self.settings.target_update_every == 0:
                self.target.load_state_dict(self.values.state_dict())
        self.hands += self.settings.n_envs
        value_loss, policy_loss = np.mean(losses, axis=0).tolist() if losses else (0.0, 0.0)
        return {"value_loss": value_loss, "policy_loss": policy_loss}

    # -- playing

    def _play(self, seed: int, chance: np.random.Generator) -> None:
        """One episode in every game, each seat by its best response or by its average."""
        settings, count = self.settings, self.settings.n_envs
        responds = chance.random((count, SEATS)) < settings.anticipatory
        done = min(1.0, self.decisions / settings.decisions)
        astray = settings.epsilon * (1 - done)
        now, going = self.games.reset(seed), np.ones(count, np.bool_)
        # What each seat saw and did last, and what it was paid since; nothing before it moved.
        earlier = np.zeros((count, SEATS), self.steps_seen.kind)
        moved = np.zeros((count, SEATS), np.bool_)
        while going.any():
            seen = np.zeros((count, len(self.inputs)), np.int8)
            legal = np.zeros((count, self.actions), np.int8)
            shown = np.zeros((count, self.actions), np.int64)
            self.games.batch.backend.run_rows(
                count, gather_rows, now.observations, now.masks, self.inputs, True, seen, legal,
                shown,
            )  # fmt: skip
            at, seats = np.arange(count), now.seats.astype(np.int64)
            answering = responds[at, seats]
            actions = self._chosen(seen, legal, answering, astray, chance)
            again = going & moved[at, seats]
            self._remember(earlier[at, seats][again], seen[again], legal[again])
            mine = np.flatnonzero(going)
            earlier["seen"][mine, seats[mine]] = seen[mine]
            earlier["action"][mine, seats[mine]] = actions[mine]
            earlier["paid"][mine, seats[mine]] = 0
            moved[mine, seats[mine]] = True
            copied = mine[answering[mine]]
            rows = np.zeros(len(copied), self.played.kind)
            rows["seen"], rows["legal"] = seen[copied], legal[copied]
            rows["action"] = actions[copied]
            self.played.add(rows, chance)
            self.decisions += len(mine)
            now = self.games.step(shown[at, actions])
            earlier["paid"] += now.rewards / settings.reward_scale * going[:, None]
            over = going & now.ended
            ended = earlier[over][moved[over]]
            ended["over"] = 1
            self.steps_seen.add(ended, chance)
            going &= ~now.ended

    def _chosen(
        self, seen: Array, legal: Array, answering: Array, astray: float,
        chance: np.random.Generator,
    ) -> Array:  # fmt: skip
        """Where a best response plays the most valuable action, else one by the average policy."""
        with torch.no_grad():
            x = self._numbers(seen)
            values, logits = (
                self._legal(network, x, legal).cpu().numpy()
                for network in (self.values, self.average)
            )
        anything = np.where(legal, 0.0, _NOT_LEGAL)
        wanders = answering & (chance.random(len(seen)) < astray)
        logits = np.where(wanders[:, None], anything, logits)
        # The greatest of logits with Gumbel's noise is drawn by their probabilities.
        drawn = (logits + chance.gumbel(size=logits.shape)).argmax(1)
        return np.where(answering & ~wanders, values.argmax(1), drawn)

    def _legal(self, network: Network, x: Tensor, legal: Array) -> Tensor:
        """A network's word on each action, on what is not legal a very low one."""
        forbidden = self._numbers(legal) == 0
        return network.logits(x).masked_fill(forbidden, _NOT_LEGAL)

    def _numbers(self, rows: Array) -> Tensor:
        return torch.from_numpy(rows.astype(np.float32)).to(self.device)

    def _remember(self, earlier: Array, seen: Array, legal: Array) -> None:
        """Steps that have led to a further decision of the same seat."""
        earlier["next"], earlier["next_legal"] = seen, legal
        self.steps_seen.add(earlier)

    # -- learning

    def _learn_values(self, chance: np.random.Generator) -> float:
        """One step of Q-learning towards what was paid and the target's best afterwards."""
        rows = self.steps_seen.drawn(self.settings.batch_size, chance)
        x, later, paid, over = (
            self._numbers(rows[name]) for name in ("seen", "next", "paid", "over")
        )
        actions = self._numbers(rows["action"]).long()
        with torch.no_grad():
            best = self._legal(self.target, later, rows["next_legal"]).amax(1)
            wanted = paid + torch.where(over > 0, torch.zeros_like(best), best)
        told = self.values.logits(x)
        loss = functional.mse_loss(told.gather(1, actions[:, None]).squeeze(1), wanted)
        return self._step("values", loss)

    def _imitate(self, chance: np.random.Generator) -> float:
        """One step of the average policy towards what best responses have played."""
        rows = self.played.drawn(self.settings.batch_size, chance)
        if not len(rows):
            return 0.0
        x, actions = self._numbers(rows["seen"]), self._numbers(rows["action"]).long()
        logits = self._legal(self.average, x, rows["legal"])
        return self._step("average", functional.cross_entropy(logits, actions))

    def _step(self, which: str, loss: Tensor) -> float:
        optimizer = self.optimizers[which]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    # -- what comes out, and what a resumed training needs

    def player(self) -> Arrays:
        """The weights of the average policy."""
        found = weights_of(self.average)
        return {name: each for name, each in found.items() if not name.startswith("value.")}

    def network_card(self) -> NetworkCard:
        """What the card of a checkpoint says of it."""
        return NetworkCard(
            kind="mlp", inputs=input_names(self.inputs), hidden_sizes=self.settings.hidden_sizes,
            card_ranks="relative",
        )  # fmt: skip

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that the rest of the training depends on."""
        arrays = self.steps_seen.state("steps.") | self.played.state("played.")
        for name in ("average", "values", "target"):
            arrays |= of_tensors(f"{name}.", getattr(self, name).state_dict())
        for name, optimizer in self.optimizers.items():
            arrays |= of_optimizer(f"optimizer.{name}.", optimizer)
        told = {"decisions": self.decisions, "hands": self.hands, "updates": self.updates}
        told |= {"steps": self.steps_seen.count, "played": self.played.count}
        return arrays, told

    def restore(self, arrays: Arrays, plain: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        told = convert(plain, Kept, "trainer")
        for name in ("average", "values", "target"):
            restore_module(getattr(self, name), arrays, f"{name}.")
        for name, optimizer in self.optimizers.items():
            restore_optimizer(optimizer, arrays, f"optimizer.{name}.")
        self.steps_seen.restore(part_of(arrays, "steps."), told.steps)
        self.played.restore(part_of(arrays, "played."), told.played)
        self.decisions, self.hands, self.updates = told.decisions, told.hands, told.updates
