"""Fit of a network to files of hands: Adam with an average of the weights, resumable.

A `FitTask` turns hands into inputs and defines the loss. The exponential moving average of the
weights is the result.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save
from torch import Tensor, nn

from german_whist.agents.checkpoints import WEIGHTS, write_checkpoint
from german_whist.agents.checkpoints.schema import SearchNetworkCard, SearchNetworkKind
from german_whist.common.files import write_file
from german_whist.common.signals import UNSTABLE, RunStopped
from german_whist.common.typing import Array, Arrays
from german_whist.engine.rules import Rules
from german_whist.training.rollout.networks import MLP
from german_whist.training.rollout.tensor_state import (
    module_arrays,
    optimizer_arrays,
    restore_module,
    restore_optimizer,
)

from .recipe import Recipe, command_of

_MIXED_FILES = 4
_WARMUP_STEPS = 200
SAVE_EVERY = 500
"""Steps between two saved states."""


def state_path(target: Path) -> Path:
    """Path of the state of an unfinished fit."""
    return target.with_name(target.name + ".state.safetensors")


def is_fitted(target: Path) -> bool:
    """Whether a network is written and its fit is finished."""
    return target.with_name(target.name + WEIGHTS).exists() and not state_path(target).exists()


class FitTask(Protocol):
    """A loss of a network on hands."""

    kind: str
    inputs: int
    outputs: int

    def loss(self, net: nn.Module, hands: Array) -> Tensor: ...

    def metrics(self, net: nn.Module, hands: Array) -> dict[str, list[float]]:
        """Validation metrics by name, each of the whole or of every trick or decision."""
        ...


@dataclass(frozen=True)
class FitConfig:
    """Hyperparameters of a fit."""

    hidden_sizes: tuple[int, ...]
    epochs: float = 1.0
    batch_size: int = 512
    """Hands of a step."""
    learning_rate: float = 0.001
    """Peak learning rate, after a linear warm-up and before a decay to 0 by half a cosine."""
    ema_decay: float = 0.999
    seed: int = 1


def layer_names(hidden: int) -> list[str]:
    """Names of a value or belief network's tensors in its file."""
    return [str(k) for k in range(hidden + 1)]


def new_net(task: FitTask, config: FitConfig) -> MLP:
    """A network with random weights."""
    torch.manual_seed(config.seed)
    return MLP([task.inputs, *config.hidden_sizes, task.outputs])


class Fit:
    """A fit in progress: network, averaged network, optimizer, and step."""

    def __init__(
        self, task: FitTask, config: FitConfig, files: list[Path], net: MLP | None = None
    ) -> None:
        """`net` is the network to start from; None: random weights."""
        self.task, self.config = task, config
        self.files = files
        self.counts = [len(np.load(path, mmap_mode="r")) for path in files]
        self.net = net or new_net(task, config)
        self.average = copy.deepcopy(self.net).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=config.learning_rate)
        self.step = 0
        groups = [*self._file_groups(0)]
        smallest = min(sum(self.counts[k] for k in group) for group in groups)
        self.batch_size = min(config.batch_size, smallest)
        self.steps = max(1, int(config.epochs * sum(map(self._batch_count, groups))))

    def _file_groups(self, epoch: int) -> Iterator[list[int]]:
        """Groups of files whose hands are shuffled together in an epoch."""
        order = np.random.default_rng([self.config.seed, epoch]).permutation(len(self.files))
        for first in range(0, len(order), _MIXED_FILES):
            yield order[first : first + _MIXED_FILES].tolist()

    def _batch_count(self, group: list[int]) -> int:
        return sum(self.counts[k] for k in group) // self.batch_size

    def batches(self) -> Iterator[Array]:
        """Batches of hands from the current step on, the same in a resumed fit."""
        step, epoch = 0, 0
        while True:
            for number, group in enumerate(self._file_groups(epoch)):
                count = self._batch_count(group)
                if step + count <= self.step:
                    step += count
                    continue
                rng = np.random.default_rng([self.config.seed, epoch, number])
                hands = np.concatenate([np.load(self.files[k]) for k in group])
                hands = hands[rng.permutation(len(hands))]
                for batch in range(count):
                    if step >= self.step:
                        yield hands[batch * self.batch_size : (batch + 1) * self.batch_size]
                    step += 1
            epoch += 1

    def train_step(self, hands: Array) -> float:
        """Take a step of the optimizer; returns the loss."""
        config = self.config
        decay = 0.5 * (1 + math.cos(math.pi * min(1.0, self.step / self.steps)))
        warmup = min(1.0, (self.step + 1) / _WARMUP_STEPS)
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * warmup * decay
        loss = self.task.loss(self.net, hands)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        ema_decay = min(config.ema_decay, self.step / (self.step + 10))
        with torch.no_grad():
            for mean, param in zip(self.average.parameters(), self.net.parameters(), strict=True):
                mean.lerp_(param, 1 - ema_decay)
        return float(loss.detach())

    def run(
        self,
        target: Path,
        log: Callable[[str], object],
        validation: Array,
        write: Callable[[Fit, Path], object],
    ) -> None:
        """Train to the end, save the state on the way, and write the network."""
        losses: list[float] = []
        for hands in self.batches():
            if self.step >= self.steps:
                break
            losses.append(self.train_step(hands))
            if not math.isfinite(losses[-1]):
                raise RunStopped(
                    f"the fit of {target} diverged: its loss became {losses[-1]} in step "
                    f"{self.step}; give a smaller learning rate, in another folder",
                    UNSTABLE,
                )
            last = self.step >= self.steps
            if last or self.step % SAVE_EVERY == 0:
                metrics = self.task.metrics(self.average, validation)
                loss = float(np.mean(losses[-SAVE_EVERY:]))
                text = "  ".join(
                    " ".join([name, *(f"{value:.3f}" for value in values)])
                    for name, values in metrics.items()
                )
                log(f"{self.step} of {self.steps}  loss {loss:.4f}  {text}")
                if not last:
                    self.save(target)
        write(self, target)
        state_path(target).unlink(missing_ok=True)

    def save(self, target: Path) -> None:
        tensors = module_arrays("net.", self.net.state_dict())
        tensors |= module_arrays("average.", self.average.state_dict())
        tensors |= optimizer_arrays("adam.", self.optimizer)
        metadata = {"step": str(self.step), "config": json.dumps(asdict(self.config))}
        contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        write_file(state_path(target), save(contiguous, metadata))

    def restore(self, target: Path) -> bool:
        """Resume from a saved state; returns whether there is one."""
        path = state_path(target)
        if not path.exists():
            return False
        with safe_open(path, framework="np") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        before = json.loads(metadata["config"])
        if before != json.loads(json.dumps(asdict(self.config))):
            raise ValueError(
                f"{path} belongs to a fit with other settings ({before}): delete it, and the fit "
                "begins anew"
            )
        self.step = int(metadata["step"])
        restore_module(self.net, tensors, "net.")
        restore_module(self.average, tensors, "average.")
        restore_optimizer(self.optimizer, tensors, "adam.")
        return True


def half_weights(net: MLP, names: Iterable[str]) -> Arrays:
    """Weights of the layers by these names, in half precision."""
    return {
        f"{name}.{key}": param.detach().numpy().astype(np.float16)
        for name, layer in zip(names, net.layers, strict=True)
        for key, param in layer.named_parameters()
    }


def write_search_network(rules: Rules, recipe: Recipe, fit: Fit, target: Path) -> Path:
    """Write a value or belief network in half precision, with its card."""
    hidden_sizes = fit.config.hidden_sizes
    card = SearchNetworkCard(
        kind=cast("SearchNetworkKind", fit.task.kind),
        inputs=fit.task.inputs,
        hidden_sizes=hidden_sizes,
        outputs=fit.task.outputs,
        rules=(rules.as_mapping(),),
        hands=fit.step * fit.batch_size,
        settings=recipe.as_mapping(),
        commands=(command_of(recipe),),
    )
    return write_checkpoint(target, half_weights(fit.average, layer_names(len(hidden_sizes))), card)
