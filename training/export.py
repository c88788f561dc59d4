"""A checkpoint for others: as an ONNX graph, or in half precision.

A graph takes observation and mask, and gives masked logits and the best action. It
reads the whole observation of the environments, in the layout that the player was
trained in, picks its inputs itself and closes ranks where its network wants that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from ..agents.closing import SETS_IN_PLAY, close_ranks
from ..engine.files import written_whole
from ..engine.layout import LAYOUT, OBSERVATION_SIZE

Array = np.ndarray[Any, Any]

# What `write_checkpoint` says of the file that it writes.
_WRITTEN = ("format", "weights")
OPSET = 17
NOT_LEGAL = -1e9
_TOLERANCE = 1e-4


def graph_of(checkpoint: Checkpoint) -> Any:
    """The ONNX model of a checkpoint."""
    from onnx import TensorProto, helper, numpy_helper

    card = checkpoint.card
    actions = card["actions"]
    kept: list[Any] = []

    def constant(name: str, array: Array) -> str:
        kept.append(numpy_helper.from_array(array, name))
        return name

    def node(kind: str, inputs: list[str], outputs: str | list[str], **options: Any) -> str:
        several = [outputs] if isinstance(outputs, str) else outputs
        nodes.append(helper.make_node(kind, inputs, several, **options))
        return several[0]

    nodes: list[Any] = []
    closed = card["network"].get("ranks", "real") == "closed"
    seen = node("Cast", ["observation"], "seen", to=TensorProto.FLOAT)
    if closed:
        seen = _closing(node, constant)
    node("Gather", [seen, constant("places", np.array(card["network"]["inputs"]))], "x0", axis=1)
    layers = len(card["network"]["layers"])
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
    told = {name: str(card[name]) for name in ("layout", "layout_version", "horizon", "reward")}
    told["rules"] = ", ".join(rules.name for rules in checkpoint.rules)
    helper.set_model_props(model, told)
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
    actions = checkpoint.card["actions"]
    observations = (chance.random((rows, OBSERVATION_SIZE)) < 0.15).astype(np.int8)
    masks = (chance.random((rows, actions)) < 0.25).astype(np.int8)
    shown = np.tile(np.arange(actions), (rows, 1))
    seen = observations.copy()
    if checkpoint.card["network"].get("ranks", "real") == "closed":
        for row in range(rows):
            close_ranks(seen[row], shown[row])
        # Only cards in play have a logit.
        for row in range(rows):
            masks[row, np.setdiff1d(np.arange(actions), shown[row])] = 0
    masks[np.arange(rows), shown.max(axis=1)] = 1
    fed = {"observation": observations, "action_mask": masks}
    logits, best = map(np.asarray, ReferenceEvaluator(model).run(None, fed))
    weights = {name: torch.tensor(array).float() for name, array in checkpoint.weights.items()}
    x = torch.tensor(seen)[:, checkpoint.card["network"]["inputs"]].float()
    for k in range(len(checkpoint.card["network"]["layers"])):
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


def export_onnx(source: str | Path, target: Path) -> float:
    """Write a checkpoint as ONNX, checked; returns how far it is from torch at most."""
    try:
        import onnx  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError("onnx is not installed: pip install 'german-whist[onnx]'") from None
    checkpoint = read_checkpoint(source)
    model = graph_of(checkpoint)
    apart = check_graph(model, checkpoint)
    with written_whole(target) as file:
        file.write(model.SerializeToString())
    return apart


def export_half(source: str | Path, target: Path) -> int:
    """Write a checkpoint in half precision, to be passed on; returns its size in bytes."""
    checkpoint = read_checkpoint(source)
    if target.resolve() == checkpoint.path.resolve():
        raise ValueError(f"{target} is the checkpoint itself: name another file")
    weights = {name: each.astype(np.float16) for name, each in checkpoint.weights.items()}
    told = {key: value for key, value in checkpoint.card.items() if key not in _WRITTEN}
    return write_checkpoint(target.with_suffix(""), weights, told).stat().st_size
