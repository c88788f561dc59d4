"""A checkpoint for others: as an ONNX graph, or in half precision.

A graph takes observation and mask, and gives masked logits and the best action. It
reads the whole observation of the environments, in the layout that the player was
trained in, picks its inputs itself and closes ranks where its network wants that.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ...agents.checkpoints.checkpoint import (
    Checkpoint,
    checkpoint_for,
    names_of,
    policy_alone,
    read_checkpoint,
    rules_wanted,
    write_checkpoint,
)
from ...common.files import atomic_write
from ...engine.observation.layout import layout_of

OPSET = 17
_TOLERANCE = 1e-4


# The inputs and outputs of a graph, for those who feed it.
INPUTS = {
    "observation": "int8 [batch, {places}], as the environments give it",
    "action_mask": "int8 [batch, {actions}], 1 for what is legal",
}
OUTPUTS = {
    "logits": "float32 [batch, {actions}]",
    "action": "int64 [batch], the most likely legal action",
}


def metadata_of(checkpoint: Checkpoint) -> dict[str, str]:
    """What has to be known to play a graph rightly; it is written into it."""
    card = checkpoint.card
    places = layout_of(checkpoint.rules[0]).size
    told = {
        "rules": names_of(checkpoint.rules),
        "rule_sets": json.dumps(card.rules),
        "layout": card.layout,
        "layout_version": str(card.layout_version),
        "horizon": card.horizon,
        "reward": card.reward,
    }
    for kind, ends in (("input", INPUTS), ("output", OUTPUTS)):
        for name, about in ends.items():
            told[f"{kind} {name}"] = about.format(actions=card.actions, places=places)
    warning = warning_of(checkpoint)
    return {**told, "warning": warning} if warning else told


def warning_of(checkpoint: Checkpoint) -> str:
    """What the network was never taught, and a graph of it does all the same; "" for nothing."""
    if checkpoint.card.horizon != "foreplay":
        return ""
    return (
        "the network was trained on the foreplay and has never seen an ending: the graph plays "
        "endings badly. Use it where episodes end with the foreplay (horizon='foreplay'), or leave "
        "endings to the exact solver, as the checkpoint does as a player"
    )


def graph_of(checkpoint: Checkpoint) -> tuple[Any, float]:
    """The ONNX model of a checkpoint, and how far its logits are from torch's; refused if too far.

    Written by torch's own exporter, the one that needs no other package than onnx.
    """
    import onnx
    import torch

    from .onnx_policy import OnnxPolicy

    policy = OnnxPolicy(checkpoint)
    fed = _random_rows(checkpoint.card.actions, layout_of(checkpoint.rules[0]).size)
    written = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells that another exporter is newer
        torch.onnx.export(
            policy, tuple(fed.values()), written, dynamo=False, opset_version=OPSET,  # type: ignore[arg-type]
            input_names=[*INPUTS], output_names=[*OUTPUTS],
            dynamic_axes={name: {0: "batch"} for name in (*INPUTS, *OUTPUTS)},
        )  # fmt: skip
    model = onnx.load_from_string(written.getvalue())
    model.producer_name = "german-whist"
    onnx.helper.set_model_props(model, metadata_of(checkpoint))
    return model, _distance(model, policy, fed)


def _random_rows(actions: int, places: int, rows: int = 256) -> dict[str, Any]:
    """Observations and masks by the names of a graph's inputs, as tensors."""
    import torch

    chance = np.random.default_rng(0)
    masks = chance.random((rows, actions)) < 0.25
    masks[:, 0] |= ~masks.any(axis=1)
    seen = chance.random((rows, places)) < 0.15
    return {
        name: torch.from_numpy(each.astype(np.int8))
        for name, each in zip(INPUTS, (seen, masks), strict=True)
    }


def _distance(model: Any, policy: Any, fed: dict[str, Any]) -> float:
    """How far a graph's logits are from those of the module that it was made of."""
    import torch
    from onnx import checker
    from onnx.reference import ReferenceEvaluator

    checker.check_model(model, full_check=True)
    arrays = {name: each.numpy() for name, each in fed.items()}
    logits, best = map(np.asarray, ReferenceEvaluator(model).run(None, arrays))
    with torch.no_grad():
        wanted = policy(*fed.values())[0].numpy()
    masks = arrays["action_mask"]
    apart = float(np.abs(logits - wanted).max())
    if apart > _TOLERANCE * max(1.0, float(np.abs(wanted[masks == 1]).max())):
        raise ArithmeticError(f"the graph's logits are {apart:.3g} away from torch's")
    if not masks[np.arange(len(masks)), best].all():
        raise ArithmeticError("the graph chose an action that its mask does not allow")
    return apart


@dataclass(frozen=True)
class Exported:
    """A graph that was written."""

    apart: float
    """How far its logits are from torch's, at most."""
    metadata: dict[str, str]
    """What is told of it, in the file as well."""

    def text(self) -> str:
        """In lines."""
        told = {name: about for name, about in self.metadata.items() if name != "warning"}
        width = max(map(len, told)) + 2
        lines = [f"  {name:<{width}}{about}" for name, about in told.items()]
        if "warning" in self.metadata:
            lines.append(f"warning: {self.metadata['warning']}")
        return "\n".join(lines)


def export_onnx(source: str | Path, target: Path, rules: Any = None) -> Exported:
    """Write a checkpoint as ONNX, checked against torch; of several rule sets the named one."""
    for package, extra in (("onnx", "onnx"), ("torch", "train")):
        if find_spec(package) is None:
            raise ValueError(
                f"{package} is not installed, and a graph is written and checked with it: "
                f"pip install 'german-whist[{extra}]'"
            )
    checkpoint = read_checkpoint(source)
    if checkpoint.card.network.kind == "table":
        raise ValueError(f"{checkpoint.path}: is a table; only networks are written as ONNX")
    wanted, *others = checkpoint.rules if rules is None else [rules_wanted(rules)]
    if others:
        raise ValueError(
            f"{checkpoint.path} plays {names_of(checkpoint.rules)}, and a graph is told no rules: "
            "choose one by --rules"
        )
    checkpoint = checkpoint_for(checkpoint, wanted)
    model, apart = graph_of(checkpoint)
    with atomic_write(target) as file:
        file.write(model.SerializeToString())
    return Exported(apart, metadata_of(checkpoint))


def export_half(source: str | Path, target: Path) -> int:
    """Write a checkpoint in half precision, to be passed on; returns its size in bytes."""
    checkpoint = read_checkpoint(source)
    if target.resolve() == checkpoint.path.resolve():
        raise ValueError(f"{target} is the checkpoint itself: name another file")
    if checkpoint.card.network.kind == "table":
        raise ValueError(
            f"{checkpoint.path}: is a table, whose smallest numbers half precision does not hold: "
            "pass its two files on as they are"
        )
    alone = policy_alone(checkpoint)
    with np.errstate(over="ignore"):
        weights = {name: each.astype(np.float16) for name, each in alone.weights.items()}
    for name, each in weights.items():
        if not np.isfinite(each).all():
            raise ValueError(
                f"{checkpoint.path}: {name} holds numbers that are too large for half precision"
            )
    return write_checkpoint(target.with_suffix(""), weights, alone.card).stat().st_size
