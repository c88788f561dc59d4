"""A checkpoint for others: as an ONNX graph, or in half precision.

A graph takes observation and mask, and gives masked logits and the best action. It
reads the whole observation of the environments, in the layout that the player was
trained in, picks its inputs itself and closes ranks where its network wants that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..agents.checkpoint import Checkpoint, policy_weights, read_checkpoint, write_checkpoint
from ..agents.closing import SETS_IN_PLAY, close_ranks
from ..engine.files import written_whole
from ..engine.layout import LAYOUT, OBSERVATION_SIZE

Array = np.ndarray[Any, Any]

OPSET = 17
NOT_LEGAL = -1e9
_TOLERANCE = 1e-4


# The inputs and outputs of a graph, for those who feed it.
INPUTS = {
    "observation": f"int8 [batch, {OBSERVATION_SIZE}], as the environments give it",
    "action_mask": "int8 [batch, {actions}], 1 for what is legal",
}
OUTPUTS = {
    "logits": "float32 [batch, {actions}]",
    "action": "int64 [batch], the most likely legal action",
}


def metadata_of(checkpoint: Checkpoint) -> dict[str, str]:
    """What has to be known to play a graph rightly; it is written into it."""
    card = checkpoint.card
    told = {
        "rules": ", ".join(rules.name for rules in checkpoint.rules),
        "layout": card.layout,
        "layout_version": str(card.layout_version),
        "horizon": card.horizon,
        "reward": card.reward,
    }
    for kind, ends in (("input", INPUTS), ("output", OUTPUTS)):
        for name, about in ends.items():
            told[f"{kind} {name}"] = about.format(actions=card.actions)
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


def graph_of(checkpoint: Checkpoint) -> Any:
    """The ONNX model of a checkpoint."""
    from onnx import TensorProto, helper, numpy_helper

    card = checkpoint.card
    network, actions = card.network, card.actions
    kept: list[Any] = []

    def constant(name: str, array: Array) -> str:
        kept.append(numpy_helper.from_array(array, name))
        return name

    def node(kind: str, inputs: list[str], outputs: str | list[str], **options: Any) -> str:
        several = [outputs] if isinstance(outputs, str) else outputs
        nodes.append(helper.make_node(kind, inputs, several, **options))
        return several[0]

    nodes: list[Any] = []
    closed = network.ranks == "closed"
    seen = node("Cast", ["observation"], "seen", to=TensorProto.FLOAT)
    if closed:
        seen = _closing(node, constant)
    node("Gather", [seen, constant("places", np.array(network.inputs))], "x0", axis=1)
    layers = len(network.layers)
    for k, name in enumerate([*(f"hidden.{k}" for k in range(layers)), "policy"]):
        parts = [
            constant(f"{name}.{part}", checkpoint.weights[f"{name}.{part}"].astype(np.float32))
            for part in ("weight", "bias")
        ]
        out = node("Gemm", [f"x{k}", *parts], "policy" if k == layers else f"y{k}", transB=1)
        if k < layers:
            node("Relu", [out], f"x{k + 1}")
    of_all = _opening(node, constant, actions) if closed else "policy"
    low = constant("not_legal", np.array(NOT_LEGAL, np.float32))
    node("Cast", ["action_mask"], "legal", to=TensorProto.BOOL)
    node("Where", ["legal", of_all, low], "logits")
    node("ArgMax", ["logits"], "action", axis=1, keepdims=0)
    graph = helper.make_graph(
        nodes,
        "german_whist",
        [
            helper.make_tensor_value_info(
                "observation", TensorProto.INT8, ["batch", OBSERVATION_SIZE]
            ),
            helper.make_tensor_value_info("action_mask", TensorProto.INT8, ["batch", actions]),
        ],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", actions]),
            helper.make_tensor_value_info("action", TensorProto.INT64, ["batch"]),
        ],
        kept,
    )
    model = helper.make_model(
        graph, producer_name="german-whist", opset_imports=[helper.make_opsetid("", OPSET)]
    )
    model.ir_version = 8
    helper.set_model_props(model, metadata_of(checkpoint))
    return model


def _closing(node: Callable[..., str], constant: Callable[[str, Array], str]) -> str:
    """Nodes that do what `close_ranks` does; `moves` says where each card in play goes.

    `moves[suit, rank, place]` is one where a card in play has as many cards in play above it
    as the place has places.
    """
    from onnx import TensorProto

    in_suits = constant("in_suits", np.array([-1, 4, 13]))
    one_row = constant("one_row", np.array([2]))
    one_column = constant("one_column", np.array([3]))
    flat = constant("flat", np.array([-1, 52]))
    rows: dict[str, str] = {}
    sizes = [group.size for group in LAYOUT.groups]
    pieces = [f"seen_{group.name}" for group in LAYOUT.groups]
    node("Split", ["seen", constant("sizes", np.array(sizes))], pieces, axis=1)
    for name in SETS_IN_PLAY:
        rows[name] = node("Reshape", [f"seen_{name}", in_suits], f"{name}_in_suits")
    node("Max", list(rows.values()), "in_play")
    above = np.tril(np.ones((13, 13), np.float32), -1)
    node("MatMul", ["in_play", constant("higher", above)], "cards_above")
    node("Unsqueeze", ["cards_above", one_column], "cards_above_each")
    places = constant("places_above", np.arange(12, -1, -1, dtype=np.float32))
    node("Equal", ["cards_above_each", places], "goes")
    node("Cast", ["goes"], "goes_there", to=TensorProto.FLOAT)
    node("Unsqueeze", ["in_play", one_column], "in_play_each")
    node("Mul", ["goes_there", "in_play_each"], "moves")
    for name, row in rows.items():
        node("Unsqueeze", [row, one_row], f"{name}_rows")
        node("MatMul", [f"{name}_rows", "moves"], f"{name}_moved")
        node("Reshape", [f"{name}_moved", flat], f"closed_{name}")
    moved = [piece.replace("seen_", "closed_") if piece.removeprefix("seen_") in rows else piece
             for piece in pieces]  # fmt: skip
    return node("Concat", moved, "closed", axis=1)


def _opening(node: Callable[..., str], constant: Callable[[str, Array], str], actions: int) -> str:
    """Nodes that take the logits of moved cards back to the cards."""
    parts = ["policy_cards", "policy_others"] if actions > 52 else ["policy_cards"]
    sizes = constant("kinds", np.array([52, actions - 52][: len(parts)]))
    node("Split", ["policy", sizes], parts, axis=1)
    columns = constant("columns", np.array([-1, 4, 13, 1]))
    node("Reshape", ["policy_cards", columns], "policy_columns")
    node("MatMul", ["moves", "policy_columns"], "policy_back")
    node("Reshape", ["policy_back", "flat"], "policy_of_cards")
    return node("Concat", ["policy_of_cards", *parts[1:]], "policy_of_all", axis=1)


def check_graph(model: Any, checkpoint: Checkpoint, rows: int = 256) -> float:
    """How far the graph's logits are from torch's, at most, on random rows; refused if too far."""
    import torch
    from onnx import checker
    from onnx.reference import ReferenceEvaluator

    checker.check_model(model, full_check=True)
    chance = np.random.default_rng(0)
    actions = checkpoint.card.actions
    observations = (chance.random((rows, OBSERVATION_SIZE)) < 0.15).astype(np.int8)
    masks = (chance.random((rows, actions)) < 0.25).astype(np.int8)
    shown = np.tile(np.arange(actions), (rows, 1))
    seen = observations.copy()
    if checkpoint.card.network.ranks == "closed":
        for row in range(rows):
            close_ranks(seen[row], shown[row])
        # Only cards in play have a logit.
        for row in range(rows):
            masks[row, np.setdiff1d(np.arange(actions), shown[row])] = 0
    masks[np.arange(rows), shown.max(axis=1)] = 1
    fed = {"observation": observations, "action_mask": masks}
    logits, best = map(np.asarray, ReferenceEvaluator(model).run(None, fed))
    weights = {name: torch.tensor(array).float() for name, array in checkpoint.weights.items()}
    x = torch.tensor(seen)[:, list(checkpoint.card.network.inputs)].float()
    for k in range(len(checkpoint.card.network.layers)):
        layer = torch.nn.functional.linear(
            x, weights[f"hidden.{k}.weight"], weights[f"hidden.{k}.bias"]
        )
        x = torch.relu(layer)
    placed = torch.nn.functional.linear(x, weights["policy.weight"], weights["policy.bias"])
    wanted = np.full((rows, actions), NOT_LEGAL, np.float32)
    for row, place in zip(*np.nonzero(shown >= 0), strict=True):
        if masks[row, shown[row, place]]:
            wanted[row, shown[row, place]] = placed[row, place]
    apart = float(np.abs(logits - wanted).max())
    if apart > _TOLERANCE * max(1.0, float(np.abs(wanted[masks == 1]).max())):
        raise ArithmeticError(f"the graph's logits are {apart:.3g} away from torch's")
    if not masks[np.arange(rows), best].all():
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


def export_onnx(source: str | Path, target: Path) -> Exported:
    """Write a checkpoint as ONNX, checked against torch."""
    for package, extra in (("onnx", "onnx"), ("torch", "train")):
        if find_spec(package) is None:
            raise ValueError(
                f"{package} is not installed, and a graph is written and checked with it: "
                f"pip install 'german-whist[{extra}]'"
            )
    checkpoint = read_checkpoint(source)
    kind = checkpoint.card.network.kind
    if kind != "mlp":
        raise ValueError(
            f"{checkpoint.path}: its network is of the kind {kind!r}, which reads the events of a "
            "hand as well; only networks of the kind 'mlp', which read one observation, are "
            "written as ONNX"
        )
    model = graph_of(checkpoint)
    apart = check_graph(model, checkpoint)
    with written_whole(target) as file:
        file.write(model.SerializeToString())
    return Exported(apart, metadata_of(checkpoint))


def export_half(source: str | Path, target: Path) -> int:
    """Write a checkpoint in half precision, to be passed on; returns its size in bytes."""
    checkpoint = read_checkpoint(source)
    if target.resolve() == checkpoint.path.resolve():
        raise ValueError(f"{target} is the checkpoint itself: name another file")
    with np.errstate(over="ignore"):
        weights = {
            name: each.astype(np.float16) for name, each in policy_weights(checkpoint).items()
        }
    for name, each in weights.items():
        if not np.isfinite(each).all():
            raise ValueError(
                f"{checkpoint.path}: {name} holds numbers that are too large for half precision"
            )
    network = msgspec.structs.replace(checkpoint.card.network, critic=None)
    card = msgspec.structs.replace(checkpoint.card, network=network)
    return write_checkpoint(target.with_suffix(""), weights, card).stat().st_size
