"""Training with Stable-Baselines3: MaskablePPO on the native VecEnv against a growing pool.

The learner plays one seat; the other is played by rule players and frozen earlier
selves in turn. What comes out is the project's own checkpoint, with SB3's zip
beside it. Runs keep their state as plain arrays, so that going on with one
unpickles nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from ...agents.base import Agent
from ...agents.calls import Named
from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import Count, NetworkCard
from ...agents.registry import make_agent
from ...common.schema import convert
from ...common.typing import Array
from ...envs.sb3 import GermanWhistVecEnv
from ..rollout.network_inputs import inputs_of
from ..rollout.tensor_state import (
    of_optimizer,
    of_tensors,
    part_of,
    restore_module,
    restore_optimizer,
)
from .base import Diverged, Trainer, torch_device
from .players import player_of
from .sb3_callbacks import Lasting
from .settings import SB3Settings

_TOLD = {
    "train/entropy_loss": "entropy",
    "train/value_loss": "value_loss",
    "train/policy_gradient_loss": "policy_loss",
    "train/approx_kl": "approx_kl",
    "train/clip_fraction": "clip_fraction",
    "train/explained_variance": "explained_variance",
}


class Chosen(BaseFeaturesExtractor):
    """The places of the observation that tell something in these games."""

    def __init__(self, observation_space: Any, places: list[int]) -> None:
        super().__init__(observation_space, len(places))
        self.places: Tensor
        self.register_buffer("places", torch.tensor(places))

    def forward(self, observations: Tensor) -> Tensor:
        """Those places of each row."""
        return observations.index_select(1, self.places)


class Model(MaskablePPO):
    """MaskablePPO whose files leave out the learning rate, which is the trainer's to say."""

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "learning_rate", "lr_schedule"]


class ScaledVecEnv(GermanWhistVecEnv):
    """The games with rewards divided by `reward_scale`; infos tell what was paid."""

    def __init__(self, *given: Any, reward_scale: float, **options: Any) -> None:
        super().__init__(*given, **options)
        self.reward_scale = reward_scale

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Play the actions, as the games do, with rewards divided."""
        seen, rewards, ended, infos = super().step_wait()
        return seen, rewards / np.float32(self.reward_scale), ended, infos


class Curves(TensorBoardOutputFormat):
    """SB3's curves in a file that others write to as well, all but those of the same names."""

    def __init__(self, writer: Any, others: Iterable[str]) -> None:
        self.writer = writer
        self._is_closed = False
        self._others = frozenset(others)

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0
    ) -> None:
        """Curves' next points."""
        mine, excluded = (
            {key: value for key, value in each.items() if key not in self._others}
            for each in (key_values, key_excluded)
        )
        super().write(mine, excluded, step)


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """What a training under way knows beside its arrays."""

    decisions: Count
    hands: Count
    pool: Count
    """How many earlier selves there are."""
    opponent: int
    """Who plays the other seats, by its place among all; -1 for nobody of them."""
    random: dict[str, Any]
    """NumPy's generator, as it says of itself."""
    numpy: tuple[str, int, int, float]
    """NumPy's global generator, which SB3 draws from; its keys are an array."""
    updates: Count
    calls: list[Count]
    """How often each callback was called."""


class SB3Trainer(Trainer):
    """MaskablePPO as a run steps it."""

    settings_kind = SB3Settings

    def __init__(self, settings: SB3Settings, device: str = "cpu") -> None:
        super().__init__(settings)
        self.callbacks = Lasting(settings.decisions)
        options = settings.options
        self.places = inputs_of(options)
        self.fixed = [Named(make_agent(name, options.rules)) for name in settings.opponents]
        self.pool: list[dict[str, Array]] = []
        self._selves: list[Agent] = []
        self.random = np.random.default_rng(settings.seed)
        self.games = ScaledVecEnv(
            settings.n_envs,
            options.rules,
            opponent=self.fixed[0] if self.fixed else "random",
            reward=settings.reward,
            layout=settings.layout,
            horizon=settings.horizon,
            reward_scale=settings.reward_scale,
        )
        self.model = Model(
            "MlpPolicy",
            self.games,
            learning_rate=lambda _: self._rate(),
            n_steps=settings.n_steps,
            batch_size=settings.batch_size,
            n_epochs=settings.n_epochs,
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip_range,
            ent_coef=settings.ent_coef,
            vf_coef=settings.vf_coef,
            max_grad_norm=settings.max_grad_norm,
            policy_kwargs={
                "net_arch": {"pi": list(settings.hidden_sizes), "vf": list(settings.hidden_sizes)},
                "activation_fn": nn.ReLU,
                "features_extractor_class": Chosen,
                "features_extractor_kwargs": {"places": self.places.tolist()},
            },
            seed=settings.seed,
            device=device,
        )
        self.model.set_logger(Logger(None, []))

    @classmethod
    def made(cls, settings: SB3Settings) -> SB3Trainer:
        """A trainer for a run with these settings."""
        return cls(settings, torch_device(settings))

    def adopt(self, callback: object) -> bool:
        """Take SB3's callbacks."""
        if isinstance(callback, BaseCallback):
            self.callbacks.callbacks.append(callback)
        return isinstance(callback, BaseCallback)

    def watch(self, writer: Any) -> None:
        """Write SB3's own curves with a writer of TensorBoard."""
        ours = [
            f"train/{name}" for name in (*_TOLD.values(), "learning_rate", "decisions_per_second")
        ]
        self.model.set_logger(Logger(None, [Curves(writer, ours)]))

    def _rate(self) -> float:
        done = min(1.0, self.decisions / self.settings.decisions)
        return self.settings.learning_rate * (1 - done)

    # -- one iteration

    def iterate(self) -> dict[str, float]:
        """Collect a rollout and learn from it, as SB3 does; a callback may cut it short."""
        steps = self._steps_now()
        self._choose_opponent()
        before = self.model.num_timesteps
        self._learn(steps)
        taken = self.model.num_timesteps - before
        self.decisions += taken
        self.hands += int(self.model.rollout_buffer.episode_starts.sum())
        self.stopped = self.callbacks.stopped
        if self.stopped:
            self.model._last_obs, self.model._last_episode_starts = self.callbacks.seen()
            return {}
        self._join_pool(self.decisions - taken)
        values = self.model.logger.name_to_value
        told = {name: float(values.get(key, 0.0)) for key, name in _TOLD.items()}
        self.model.logger.dump(self.model.num_timesteps)
        told["entropy"] = -told["entropy"]
        told["learning_rate"] = self._rate()
        if not self._sound():
            raise Diverged(f"weights became none after {self.decisions:,} decisions")
        return told

    def _steps_now(self) -> int:
        """Steps of this iteration: fewer in the last, so that the budget is met closely."""
        settings = self.settings
        left = math.ceil((settings.decisions - self.decisions) / settings.n_envs)
        return min(settings.n_steps, left) if left > 0 else settings.n_steps

    def _learn(self, steps: int) -> None:
        """One rollout of so many steps, and what SB3 learns from it."""
        model = self.model
        if steps != model.n_steps:
            model.n_steps = model.rollout_buffer.buffer_size = steps
            model.rollout_buffer.reset()
        try:
            model.learn(
                steps * self.settings.n_envs, callback=self.callbacks, reset_num_timesteps=False
            )
        except ValueError as error:
            if self._sound():
                raise
            # Distributions refuse probabilities that are no numbers.
            raise Diverged(f"weights became none after {self.decisions:,} decisions") from error

    def _sound(self) -> bool:
        """Whether all weights are numbers."""
        return all(bool(each.isfinite().all()) for each in self.model.policy.parameters())

    def end(self) -> None:
        """Tell the callbacks that the training is over."""
        self.callbacks.end()

    def _choose_opponent(self) -> None:
        """Every so often another of the pool takes the other seat."""
        every, size = self.settings.swap_every, self.settings.n_steps * self.settings.n_envs
        if self.decisions // every == (self.decisions - size) // every:
            return
        members = [*self.fixed, *self._selves]
        if members:
            self.games.opponent = members[int(self.random.integers(len(members)))]

    def _join_pool(self, before: int) -> None:
        every = self.settings.pool_every
        if self.decisions // every == before // every:
            return
        self.pool.append(self.player())
        if len(self.pool) > self.settings.pool_size:
            del self.pool[int(self.random.integers(len(self.pool) - 1))]
        self._make_selves()

    def _make_selves(self) -> None:
        self._selves = [
            player_of(self.settings, weights, self.network_card(), "sample")
            for weights in self.pool
        ]

    # -- what comes out

    def player(self) -> dict[str, Array]:
        """The policy's weights under the names of a checkpoint."""
        return {name: each.detach().cpu().numpy().copy() for name, each in self._parameters()}

    def _parameters(self) -> Iterator[tuple[str, Tensor]]:
        policy = self.model.policy
        layers = [each for each in policy.mlp_extractor.policy_net if isinstance(each, nn.Linear)]
        named = [(f"hidden.{k}", layer) for k, layer in enumerate(layers)]
        for name, layer in [*named, ("policy", policy.action_net)]:
            for part, tensor in layer.named_parameters():
                yield f"{name}.{part}", tensor

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Begin with the weights of a checkpoint, which fit; the critic stays new."""
        with torch.no_grad():
            for name, tensor in self._parameters():
                tensor.copy_(torch.from_numpy(weights[name]))

    def network_card(self) -> NetworkCard:
        """What the card of a checkpoint says of the network."""
        return NetworkCard(
            kind="mlp", inputs=input_names(self.places), hidden_sizes=self.settings.hidden_sizes
        )

    def write_beside(self, path: Path) -> None:
        """SB3's own zip, for those who go on with SB3."""
        self.model.save(path.with_suffix(".zip"))

    # -- what a resumed training needs

    def state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Everything that the rest of the training depends on."""
        model = self.model
        arrays = of_tensors("policy.", model.policy.state_dict())
        arrays |= of_optimizer("optimizer.", model.policy.optimizer)
        for place, one in enumerate(self.pool):
            arrays |= {f"pool.{place}.{name}": array for name, array in one.items()}
        arrays |= {f"games.{name}": array for name, array in self.games.state().items()}
        if model._last_episode_starts is not None:
            arrays["starts"] = model._last_episode_starts
        arrays["torch"] = torch.get_rng_state().numpy()
        kind, keys, place, has_gauss, gauss = np.random.get_state()
        arrays["numpy"] = np.asarray(keys)
        members = [*self.fixed, *self._selves]
        playing = self.games.opponent
        told = Kept(
            decisions=self.decisions,
            hands=self.hands,
            pool=len(self.pool),
            opponent=members.index(playing) if playing in members else -1,
            random=dict(self.random.bit_generator.state),
            numpy=(str(kind), int(place), int(has_gauss), float(gauss)),
            updates=model._n_updates,
            calls=self.callbacks.calls,
        )
        return arrays, msgspec.to_builtins(told)

    def restore(self, arrays: dict[str, Array], plain: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        told = convert(plain, Kept, "trainer")
        model = self.model
        restore_module(model.policy, arrays, "policy.")
        restore_optimizer(model.policy.optimizer, arrays, "optimizer.")
        self.pool = [part_of(arrays, f"pool.{place}.") for place in range(told.pool)]
        self._make_selves()
        if told.opponent >= 0:
            self.games.opponent = [*self.fixed, *self._selves][told.opponent]
        model._last_obs = self.games.restore(part_of(arrays, "games."))
        model._last_episode_starts = arrays.get("starts")
        model.num_timesteps = told.decisions
        model._n_updates = told.updates
        self.callbacks.calls = told.calls
        torch.set_rng_state(torch.from_numpy(arrays["torch"].copy()))
        kind, place, has_gauss, gauss = told.numpy
        np.random.set_state((kind, arrays["numpy"], place, has_gauss, gauss))
        self.random.bit_generator.state = told.random
        self.decisions, self.hands = told.decisions, told.hands
