"""Fitting a network to hands, in steps that can be broken off and gone on with.

What is fitted is told by a `Study`: how hands become inputs, and how far off the network is.
The network that comes out is an average of the weights along the way.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save
from torch import Tensor, nn

from ...agents.checkpoints.checkpoint import CARD, WEIGHTS, write_checkpoint
from ...agents.checkpoints.schema import AuxiliaryCard, AuxiliaryKind
from ...common.files import atomic_write
from ...common.typing import Array, Arrays
from ...engine.rules import Rules
from ..rollout.tensor_state import (
    module_arrays,
    optimizer_arrays,
    restore_module,
    restore_optimizer,
)
from .recipe import Recipe, command_of

_TOGETHER = 4
SAVE_EVERY = 500
"""Steps after which the state of a fit is kept."""


def state_of(target: Path) -> Path:
    """What the rest of a fit depends on, until it has come to its end."""
    return target.with_name(target.name + ".state.safetensors")


def fitted(target: Path) -> bool:
    """Whether a network is there, and its fit has come to its end."""
    there = all(target.with_name(target.name + each).exists() for each in (WEIGHTS, CARD))
    return there and not state_of(target).exists()


class FitTask(Protocol):
    """What a network learns from hands."""

    kind: str
    inputs: int
    outputs: int

    def loss(self, net: nn.Module, hands: Array) -> Tensor:
        """How far off the network is on some hands."""
        ...

    def errors(self, net: nn.Module, hands: Array) -> list[float]:
        """The same for people to read, at each trick."""
        ...


@dataclass(frozen=True)
class FitConfig:
    """How a network is fitted."""

    layers: tuple[int, ...]
    epochs: float = 1.0
    hands: int = 512
    """Hands in a step."""
    rate: float = 0.001
    """The learning rate, which falls to nothing along half a cosine."""
    average: float = 0.999
    seed: int = 1


def layer_names(hidden: int) -> list[str]:
    """Names of a value or belief network's tensors in its file."""
    return [str(k) for k in range(hidden + 1)]


def layers(inputs: int, widths: Sequence[int], outputs: int, seed: int) -> nn.Sequential:
    """Layers of rectifiers."""
    torch.manual_seed(seed)
    sizes = [inputs, *widths]
    parts: list[nn.Module] = []
    for n, m in pairwise(sizes):
        parts += [nn.Linear(n, m), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(sizes[-1], outputs))


class Fit:
    """A fit under way: the network, its average, the optimiser, and how far it is."""

    def __init__(
        self, study: FitTask, plan: FitConfig, files: list[Path], start: nn.Module | None = None
    ) -> None:
        """`start` is the network to go on from; one with random weights if there is none."""
        self.study, self.plan = study, plan
        self.files = files
        self.counts = [len(np.load(path, mmap_mode="r")) for path in files]
        self.net = start or layers(study.inputs, plan.layers, study.outputs, plan.seed)
        self.average = copy.deepcopy(self.net).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=plan.rate)
        self.step = 0
        self.batch = min(plan.hands, *(sum(self.counts[k] for k in each)
                                       for each in self._groups(0)))  # fmt: skip
        self.steps = max(1, int(plan.epochs * sum(map(self._batches_in, self._groups(0)))))

    def _groups(self, epoch: int) -> Iterator[list[int]]:
        """The files of an epoch, those together whose hands are mixed."""
        order = np.random.default_rng([self.plan.seed, epoch]).permutation(len(self.files))
        for first in range(0, len(order), _TOGETHER):
            yield order[first : first + _TOGETHER].tolist()

    def _batches_in(self, files: list[int]) -> int:
        return sum(self.counts[k] for k in files) // self.batch

    def batches(self) -> Iterator[Array]:
        """The hands of the steps that are left; the same after a stop as without one."""
        step, epoch = 0, 0
        while True:
            for number, files in enumerate(self._groups(epoch)):
                here = self._batches_in(files)
                if step + here <= self.step:
                    step += here
                    continue
                mixed = np.random.default_rng([self.plan.seed, epoch, number])
                hands = np.concatenate([np.load(self.files[k]) for k in files])
                hands = hands[mixed.permutation(len(hands))]
                for at in range(here):
                    if step >= self.step:
                        yield hands[at * self.batch : (at + 1) * self.batch]
                    step += 1
            epoch += 1

    def learn(self, hands: Array) -> float:
        """One step of the optimiser; returns the loss."""
        plan = self.plan
        falling = 0.5 * (1 + math.cos(math.pi * min(1.0, self.step / self.steps)))
        for group in self.optimizer.param_groups:
            group["lr"] = plan.rate * min(1.0, (self.step + 1) / 200) * falling
        loss = self.study.loss(self.net, hands)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        keep = min(plan.average, self.step / (self.step + 10))
        with torch.no_grad():
            for mean, now in zip(self.average.parameters(), self.net.parameters(), strict=True):
                mean.lerp_(now, 1 - keep)
        return float(loss.detach())

    def go(self, target: Path, tell: Callable[[str], object], checked: Array,
           write: Callable[[Fit, Path], object]) -> None:  # fmt: skip
        """Learn until the end, keeping the state on the way, and write the network."""
        losses: list[float] = []
        for hands in self.batches():
            if self.step >= self.steps:
                break
            losses.append(self.learn(hands))
            last = self.step >= self.steps
            if last or self.step % SAVE_EVERY == 0:
                told = " ".join(f"{each:.3f}" for each in self.study.errors(self.average, checked))
                mean = float(np.mean(losses[-SAVE_EVERY:]))
                tell(f"{self.step} of {self.steps}  loss {mean:.4f}  errors {told}")
                if not last:
                    self.save(target)
        write(self, target)
        state_of(target).unlink(missing_ok=True)

    # -- going on after a stop

    def save(self, target: Path) -> None:
        """Keep all that the rest depends on."""
        kept = module_arrays("net.", self.net.state_dict())
        kept |= module_arrays("average.", self.average.state_dict())
        kept |= optimizer_arrays("adam.", self.optimizer)
        told = {"step": str(self.step), "plan": json.dumps(asdict(self.plan))}
        with atomic_write(state_of(target)) as file:
            file.write(save({k: np.ascontiguousarray(each) for k, each in kept.items()}, told))

    def restore(self, target: Path) -> bool:
        """Go on from what `save` kept; False where nothing was."""
        path = state_of(target)
        if not path.exists():
            return False
        with safe_open(path, framework="np") as file:
            told, kept = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        before = json.loads(told["plan"])
        now = json.loads(json.dumps(asdict(self.plan)))
        if before != now:
            raise ValueError(
                f"{path} belongs to a fit with other settings ({before}): give the same, or "
                "another name for what is fitted"
            )
        self.step = int(told["step"])
        restore_module(self.net, kept, "net.")
        restore_module(self.average, kept, "average.")
        restore_optimizer(self.optimizer, kept, "adam.")
        return True


def half_weights(net: nn.Module, names: Iterable[str]) -> Arrays:
    """The weights of linear layers under these names, in half precision."""
    linear = (each for each in net.modules() if isinstance(each, nn.Linear))
    return {
        f"{name}.{part}": parameter.detach().numpy().astype(np.float16)
        for name, layer in zip(names, linear, strict=True)
        for part, parameter in layer.named_parameters()
    }


def write_network(target: Path, fit: Fit, rules: Rules, recipe: Recipe) -> Path:
    """Write a value or belief network in half precision, with its card."""
    weights = half_weights(fit.average, layer_names(len(fit.plan.layers)))
    card = AuxiliaryCard(
        kind=cast("AuxiliaryKind", fit.study.kind),
        inputs=fit.study.inputs,
        hidden_sizes=fit.plan.layers,
        outputs=fit.study.outputs,
        rules=(rules.as_mapping(),),
        hands=fit.step * fit.batch,
        settings=recipe.as_mapping(),
        commands=(command_of(recipe),),
    )
    return write_checkpoint(target, weights, card)
