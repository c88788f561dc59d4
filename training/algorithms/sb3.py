"""MaskablePPO of sb3-contrib on the native VecEnv, against a pool of opponents.

The learner plays one seat. An `OpponentPool` of fixed agents and earlier policies plays the other.
Checkpoints are the project's own, with SB3's zip beside them. The state of a run is plain arrays,
so that resuming it unpickles nothing.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from ...agents.base import Agent
from ...agents.calls import AgentFault
from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import Count, NetworkCard
from ...agents.networks.relative_ranks import InputRows, gather_rows
from ...common.plugins import error_location, error_text
from ...common.schema import convert
from ...common.typing import Array, JsonObject
from ...envs.opponent_pool import OpponentPool
from ...envs.options import Info
from ...envs.sb3 import GermanWhistVecEnv
from ..rollout.input_features import inputs_of
from ..rollout.tensor_state import (
    module_arrays,
    optimizer_arrays,
    restore_module,
    restore_optimizer,
    with_prefix,
)
from ..run_state import agent_from_weights
from .base import MASK_IGNORED, Arrays, CallbackFailed, Trainer, TrainerState, torch_device
from .settings import SB3Settings

if TYPE_CHECKING:
    from gymnasium import spaces
    from stable_baselines3.common.base_class import BaseAlgorithm
    from torch.utils.tensorboard.writer import SummaryWriter


_METRICS = {
    "train/entropy_loss": "entropy",
    "train/value_loss": "value_loss",
    "train/policy_gradient_loss": "policy_loss",
    "train/approx_kl": "approx_kl",
    "train/clip_fraction": "clip_fraction",
    "train/explained_variance": "explained_variance",
}
"""The run's metrics by SB3's names."""
_HYPERPARAMETERS = (
    "n_steps",
    "batch_size",
    "n_epochs",
    "gamma",
    "gae_lambda",
    "clip_range",
    "ent_coef",
    "vf_coef",
    "max_grad_norm",
    "seed",
)
"""Settings that SB3 has by the same names."""
_NOT_FINITE = "weights became NaN or infinite after {:,} decisions"


class InputSelection(BaseFeaturesExtractor):
    """The inputs of the observation that vary in these games."""

    def __init__(self, observation_space: spaces.Box, inputs: list[int]) -> None:
        super().__init__(observation_space, len(inputs))
        self.inputs: Tensor
        self.register_buffer("inputs", torch.tensor(inputs))

    def forward(self, observations: Tensor) -> Tensor:
        return observations.index_select(1, self.inputs)


class Model(MaskablePPO):
    """MaskablePPO whose files leave out the learning rate, a closure of the trainer."""

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "learning_rate", "lr_schedule"]


class LearnerVecEnv(GermanWhistVecEnv):
    """The games as the learner sees them, with scaled rewards and perhaps relative ranks.

    `infos` have the unscaled returns, and observations of the end with the printed ranks: SB3 reads
    those of truncated episodes alone, which there are none of.
    """

    def __init__(
        self, *args: Any, reward_scale: float, relative_ranks: bool, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.reward_scale, self.relative_ranks = reward_scale, relative_ranks
        shape = self.num_envs, self.rules.actions
        self._relative_masks = np.zeros(shape, np.int8)
        self._env_actions = np.zeros(shape, np.int64)

    def _observations(self) -> Any:
        if not self.relative_ranks:
            return super()._observations()
        batch = self._batch
        rows = InputRows(
            observations=batch.observations,
            masks=batch.masks,
            inputs=np.arange(batch.observations.shape[1]),
            relative_ranks=True,
            network_inputs=np.zeros_like(batch.observations),
            network_masks=self._relative_masks,
            env_actions=self._env_actions,
        )
        batch.batch.backend.run_rows(self.num_envs, gather_rows, rows)
        return rows.network_inputs

    def action_masks(self) -> Array:
        return self._relative_masks != 0 if self.relative_ranks else super().action_masks()

    def step_async(self, actions: Array) -> None:
        """Refuse actions outside of the masks: SB3 chooses those only by logits below -1e8."""
        games = np.arange(self.num_envs)
        if not self.action_masks()[games, actions].all():
            raise ArithmeticError(MASK_IGNORED)
        super().step_async(self._env_actions[games, actions] if self.relative_ranks else actions)

    def step_wait(self) -> tuple[Array, Array, Array, list[Info]]:
        observations, rewards, dones, infos = super().step_wait()
        return observations, rewards / np.float32(self.reward_scale), dones, infos


class SharedTensorBoard(TensorBoardOutputFormat):
    """Output to a writer of the run, without the scalars that the run writes itself."""

    def __init__(self, writer: SummaryWriter, excluded: Iterable[str]) -> None:
        self.writer = writer
        self._is_closed = False
        self._excluded = frozenset(excluded)

    def write(
        self,
        key_values: dict[str, object],
        key_excluded: dict[str, tuple[str, ...]],
        step: int = 0,
    ) -> None:
        excluded = self._excluded
        values = {name: value for name, value in key_values.items() if name not in excluded}
        formats = {name: value for name, value in key_excluded.items() if name not in excluded}
        super().write(values, formats, step)


class SessionCallbackList(CallbackList):
    """Callbacks over all calls of `learn`, one for each iteration.

    They see a single training: they start once, count on, and end when `end` is called.
    """

    def __init__(self, decisions: int) -> None:
        """`decisions` is the budget of the whole training."""
        super().__init__([])
        self.decisions = decisions
        self.stopped = False
        """Whether a callback has ended the training."""
        self._started = False

    def init_callback(self, model: BaseAlgorithm) -> None:
        if not self._started:
            super().init_callback(model)

    def on_training_start(self, locals_: dict[str, object], globals_: dict[str, object]) -> None:
        """Start the callbacks with the budget of the whole training, the first time."""
        if not self._started:
            super().on_training_start({**locals_, "total_timesteps": self.decisions}, globals_)
        self._started = True

    def on_step(self) -> bool:
        self.stopped = not super().on_step()
        return not self.stopped

    def on_training_end(self) -> None:
        """Do nothing: the end of one `learn` is not that of the training."""

    def end(self) -> None:
        """End the callbacks, if they were started."""
        if self._started:
            super().on_training_end()

    def last_step(self) -> tuple[Array, Array]:
        """Observations and dones of the last step."""
        return self.locals["new_obs"], self.locals["dones"]

    @property
    def calls(self) -> list[int]:
        """Number of calls of each callback."""
        return [callback.n_calls for callback in self.callbacks]

    @calls.setter
    def calls(self, counts: list[int]) -> None:
        for callback, count in zip(self.callbacks, counts, strict=False):
            callback.n_calls = count


class SB3State(TrainerState):
    """Plain values of a saved state."""

    snapshots: list[str]
    """Names of the earlier policies."""
    numpy: tuple[str, int, int, float]
    """NumPy's global generator, which SB3 draws from; its keys are an array."""
    updates: Count
    calls: list[Count]
    """Number of calls of each callback."""


class SB3Trainer(Trainer):
    """MaskablePPO as a run steps it."""

    settings_kind = SB3Settings
    callback_kinds = (BaseCallback,)

    def __init__(self, settings: SB3Settings, device: str = "cpu") -> None:
        super().__init__(settings)
        self.callbacks = SessionCallbackList(settings.decisions)
        options = settings.options
        relative_ranks = settings.card_ranks == "relative"
        self.inputs = inputs_of(options, relative_ranks)
        self.pool = OpponentPool(
            settings.opponents,
            options.rules,
            match=options.match,
            sampling=settings.pool_sampling,
            size=settings.pool_size or None,
            seed=settings.seed,
        )
        self.snapshots: dict[str, dict[str, Array]] = {}
        """Weights of the earlier policies that play, by their names in the pool."""
        self.games = LearnerVecEnv(
            settings.n_envs,
            options.rules,
            opponent=self.pool,
            reward=settings.reward,
            suit_order=settings.suit_order,
            horizon=settings.horizon,
            reward_scale=settings.reward_scale,
            relative_ranks=relative_ranks,
            illegal="raise",
        )
        self.model = Model(
            "MlpPolicy",
            self.games,
            learning_rate=lambda _: self._learning_rate(),
            **{name: getattr(settings, name) for name in _HYPERPARAMETERS},
            policy_kwargs={
                "net_arch": {"pi": list(settings.hidden_sizes), "vf": list(settings.hidden_sizes)},
                "activation_fn": nn.ReLU,
                "features_extractor_class": InputSelection,
                "features_extractor_kwargs": {"inputs": self.inputs.tolist()},
            },
            device=device,
        )
        self.model.set_logger(Logger(None, []))
        self._state_before_fault: tuple[Arrays, JsonObject] | None = None
        """State to resume from if an opponent or a callback fails in the middle of an iteration."""

    @classmethod
    def from_settings(cls, settings: SB3Settings) -> SB3Trainer:
        return cls(settings, torch_device(settings))

    def add_callback(self, callback: object) -> bool:
        if isinstance(callback, BaseCallback):
            self.callbacks.callbacks.append(callback)
        return isinstance(callback, BaseCallback)

    def watch(self, writer: SummaryWriter) -> None:
        """Write SB3's own scalars with a writer of TensorBoard."""
        names = *_METRICS.values(), "learning_rate", "decisions_per_second"
        written_by_run = [f"train/{name}" for name in names]
        self.model.set_logger(Logger(None, [SharedTensorBoard(writer, written_by_run)]))

    def _learning_rate(self) -> float:
        return self.settings.learning_rate * (1 - self._progress)

    @property
    def _progress(self) -> float:
        return min(1.0, self.decisions / self.settings.decisions)

    # -- one iteration

    def iterate(self) -> dict[str, float]:
        """Collect a rollout and learn from it, as SB3 does; a callback may cut it short."""
        model, before = self.model, self.model.num_timesteps
        if not len(self.pool):
            self._add_policy()
        # Copies nothing of the networks, which do not learn before the rollout is complete.
        state = self.state()
        try:
            self._learn()
        except (AgentFault, CallbackFailed):
            self._state_before_fault = state
            raise
        timesteps = model.num_timesteps - before
        self.decisions += timesteps
        self.hands += int(model.rollout_buffer.episode_starts.sum())
        self.stopped = self.callbacks.stopped
        if self.stopped:
            # `learn` stores these after a whole rollout only; a resumed run needs them.
            model._last_obs, model._last_episode_starts = self.callbacks.last_step()
            return {}
        self._grow_pool(self.decisions - timesteps)
        values = model.logger.name_to_value
        metrics = {name: float(values.get(key, 0.0)) for key, name in _METRICS.items()}
        is_whole = model.n_steps == self.settings.n_steps
        if is_whole:
            model.logger.dump(model.num_timesteps)
        metrics["entropy"] = -metrics["entropy"]
        if math.isnan(metrics["explained_variance"]):  # SB3's value where all returns are equal
            metrics["explained_variance"] = 0.0
        metrics["learning_rate"] = float(model.policy.optimizer.param_groups[0]["lr"])
        if not self._is_finite():
            raise ArithmeticError(_NOT_FINITE.format(self.decisions))
        return metrics if is_whole else {}

    def _learn(self) -> None:
        """Call `learn` for one rollout: shorter in the last, so that the budget is met closely."""
        model, settings = self.model, self.settings
        remaining = math.ceil((settings.decisions - self.decisions) / settings.n_envs)
        n_steps = min(settings.n_steps, remaining) if remaining > 0 else settings.n_steps
        if n_steps != model.n_steps:
            model.n_steps = model.rollout_buffer.buffer_size = n_steps
            model.rollout_buffer.reset()
        n_samples = n_steps * settings.n_envs
        model.batch_size = _batch_size(n_samples, settings.batch_size)
        model.normalize_advantage = n_samples > 1
        if settings.anneal_ent_coef:
            model.ent_coef = settings.ent_coef * (1 - self._progress)
        try:
            with _naming_callbacks():
                model.learn(n_samples, callback=self.callbacks, reset_num_timesteps=False)
        except ValueError as error:
            if self._is_finite():
                raise
            # Torch's distributions refuse NaN with a ValueError.
            raise ArithmeticError(_NOT_FINITE.format(self.decisions)) from error

    def _is_finite(self) -> bool:
        return all(bool(param.isfinite().all()) for param in self.model.policy.parameters())

    def close(self) -> None:
        with _naming_callbacks():
            self.callbacks.end()

    def _grow_pool(self, before: int) -> None:
        """Add the current policy to the pool every `pool_every` decisions."""
        every = self.settings.pool_every
        if self.settings.pool_size and self.decisions // every != before // every:
            self._add_policy()

    def _add_policy(self) -> None:
        name = f"{self.decisions:,} decisions"
        self.snapshots[name] = self.policy_weights()
        self.pool.add(self._snapshot_agent(name), name)
        playing = {*self.pool.agents, *self.games.state()["opponents"].tolist()}
        names = {self.pool.names[index] for index in playing}
        self.snapshots = {name: self.snapshots[name] for name in self.snapshots if name in names}

    def _snapshot_agent(self, name: str) -> Agent:
        return agent_from_weights(
            self.settings, self.snapshots[name], self.network_card(), "sample"
        )

    # -- checkpoints

    def policy_weights(self) -> dict[str, Array]:
        """Weights of the policy under the names of a checkpoint."""
        return {name: param.detach().cpu().numpy().copy() for name, param in self._parameters()}

    def _parameters(self) -> Iterator[tuple[str, Tensor]]:
        policy = self.model.policy
        hidden = [
            layer for layer in policy.mlp_extractor.policy_net if isinstance(layer, nn.Linear)
        ]
        layers = [(f"hidden.{k}", layer) for k, layer in enumerate(hidden)]
        for name, layer in [*layers, ("policy", policy.action_net)]:
            for param_name, param in layer.named_parameters():
                yield f"{name}.{param_name}", param

    def load_weights(self, weights: Mapping[str, Array]) -> None:
        """Load the policy of a checkpoint; the critic stays new."""
        with torch.no_grad():
            for name, param in self._parameters():
                param.copy_(torch.from_numpy(weights[name]))

    def network_card(self) -> NetworkCard:
        return NetworkCard(
            kind="mlp",
            inputs=input_names(self.inputs),
            hidden_sizes=self.settings.hidden_sizes,
            card_ranks=self.settings.card_ranks,
        )

    def write_extra_files(self, path: Path) -> None:
        """Write SB3's own zip, whose model reads what the environments show."""
        if self.settings.card_ranks == "absolute":
            self.model.save(path.with_suffix(".zip"))

    # -- state

    def state(self) -> tuple[Arrays, JsonObject]:
        if self._state_before_fault is not None:
            return self._state_before_fault
        model = self.model
        arrays = module_arrays("policy.", model.policy.state_dict())
        arrays |= optimizer_arrays("optimizer.", model.policy.optimizer)
        for index, weights in enumerate(self.snapshots.values()):
            arrays |= {f"snapshots.{index}.{name}": array for name, array in weights.items()}
        arrays |= {f"pool.{name}": array for name, array in self.pool.state().items()}
        # SB3 deals the games in the first iteration.
        if model._last_episode_starts is not None:
            arrays |= {f"games.{name}": array for name, array in self.games.state().items()}
            arrays["starts"] = model._last_episode_starts
        arrays["torch"] = torch.get_rng_state().numpy()
        kind, keys, position, has_gauss, gauss = np.random.get_state()
        arrays["numpy"] = np.asarray(keys)
        state = SB3State(
            decisions=self.decisions,
            hands=self.hands,
            snapshots=list(self.snapshots),
            numpy=(str(kind), int(position), int(has_gauss), float(gauss)),
            updates=model._n_updates,
            calls=self.callbacks.calls,
        )
        return arrays, msgspec.to_builtins(state)

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        state = convert(plain, SB3State, "trainer")
        model = self.model
        restore_module(model.policy, arrays, "policy.")
        restore_optimizer(model.policy.optimizer, arrays, "optimizer.")
        self.snapshots = {
            name: with_prefix(arrays, f"snapshots.{index}.")
            for index, name in enumerate(state.snapshots)
        }
        snapshot_agents = {name: self._snapshot_agent(name) for name in self.snapshots}
        self.pool.restore(with_prefix(arrays, "pool."), snapshot_agents)
        if "starts" in arrays:
            model._last_obs = self.games.restore(with_prefix(arrays, "games."))
            model._last_episode_starts = arrays["starts"]
        model.num_timesteps = state.decisions
        model._n_updates = state.updates
        self.callbacks.calls = state.calls
        torch.set_rng_state(torch.from_numpy(arrays["torch"].copy()))
        kind, position, has_gauss, gauss = state.numpy
        np.random.set_state((kind, arrays["numpy"], position, has_gauss, gauss))
        self.decisions, self.hands = state.decisions, state.hands


@contextmanager
def _naming_callbacks() -> Generator[None]:
    """Report an exception of a callback with its place; `sys.exit` ends no run in silence."""
    try:
        yield
    except (Exception, SystemExit) as error:
        frames = walk_tb(error.__traceback__)
        if not any(isinstance(frame.f_locals.get("self"), BaseCallback) for frame, _ in frames):
            raise
        raise CallbackFailed(
            f"a callback of SB3 raised {error_text(error)} ({error_location(error)})"
        ) from error


def _batch_size(n_samples: int, batch_size: int) -> int:
    """The batch size, or the next one that leaves no minibatch of a single sample.

    SB3 divides by the standard deviation of advantages in a minibatch, which one sample lacks.
    """
    while batch_size < n_samples and n_samples % batch_size == 1:
        batch_size += 1
    return batch_size
