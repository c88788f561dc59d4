"""A checkpoint as an ONNX graph: observation and mask in, masked logits and the best action out.

The graph reads the whole observation of the environments, in the layout that the
player was trained in, and picks its inputs itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..agents.checkpoint import Checkpoint, read_checkpoint
from ..engine.files import written_whole
from ..engine.layout import OBSERVATION_SIZE

Array = np.ndarray[Any, Any]

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

    places = constant("places", np.array(card["network"]["inputs"], np.int64))
    nodes = [
        helper.make_node("Gather", ["observation", places], ["chosen"], axis=1),
        helper.make_node("Cast", ["chosen"], ["x0"], to=TensorProto.FLOAT),
    ]
    layers = len(card["network"]["layers"])
    for k, name in enumerate([*(f"hidden.{k}" for k in range(layers)), "policy"]):
        parts = [
            constant(f"{name}.{part}", checkpoint.weights[f"{name}.{part}"].astype(np.float32))
            for part in ("weight", "bias")
        ]
        out = "logits_of_all" if k == layers else f"y{k}"
        nodes.append(helper.make_node("Gemm", [f"x{k}", *parts], [out], transB=1))
        if k < layers:
            nodes.append(helper.make_node("Relu", [out], [f"x{k + 1}"]))
    low = constant("not_legal", np.array(NOT_LEGAL, np.float32))
    nodes += [
        helper.make_node("Cast", ["action_mask"], ["legal"], to=TensorProto.BOOL),
        helper.make_node("Where", ["legal", "logits_of_all", low], ["logits"]),
        helper.make_node("ArgMax", ["logits"], ["action"], axis=1, keepdims=0),
    ]
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
    masks[:, 0] = 1
    fed = {"observation": observations, "action_mask": masks}
    logits, best = map(np.asarray, ReferenceEvaluator(model).run(None, fed))
    weights = {name: torch.tensor(array).float() for name, array in checkpoint.weights.items()}
    x = torch.tensor(observations)[:, checkpoint.card["network"]["inputs"]].float()
    for k in range(len(checkpoint.card["network"]["layers"])):
        layer = torch.nn.functional.linear(
            x, weights[f"hidden.{k}.weight"], weights[f"hidden.{k}.bias"]
        )
        x = torch.relu(layer)
    wanted = torch.nn.functional.linear(x, weights["policy.weight"], weights["policy.bias"])
    wanted = wanted.masked_fill(torch.tensor(masks) == 0, NOT_LEGAL).numpy()
    apart = float(np.abs(logits - wanted).max())
    if apart > _TOLERANCE * max(1.0, float(np.abs(wanted[masks == 1]).max())):
        raise ArithmeticError(f"the graph's logits are {apart:.3g} away from torch's")
    if not masks[np.arange(rows), best].all():
        raise ArithmeticError("the graph chose an action that its mask does not allow")
    return apart


def export(source: str | Path, target: Path) -> float:
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
