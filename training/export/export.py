"""Export of checkpoints: as an ONNX graph, or as a folder with a model card.

A graph takes observations and action masks, and returns masked logits and the most likely action.
It takes the whole observation of the environments, in the suit order of the training; selecting the
network's inputs and making ranks relative are parts of it. A folder is as the Hugging Face Hub
wants it.
"""

from __future__ import annotations

import json
import shlex
import warnings
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import yaml

from ...agents.checkpoints import (
    Checkpoint,
    join_rule_names,
    read_checkpoint,
    resolve_rules,
    specialize_checkpoint,
    strip_critic,
    write_checkpoint,
)
from ...agents.checkpoints.bundled import network_for
from ...common.files import check_writable, write_file
from ...common.markup import markdown_block, markdown_code, markdown_table, markdown_text
from ...common.plugins import error_location, error_text
from ...common.suggestions import not_installed
from ...engine.observation.history import HISTORY_COLUMNS, history_rows
from ...engine.observation.spec import spec_of
from ...engine.rules import RulesLike

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import Tensor, nn


OPSET = 17
_TOLERANCE = 1e-4
MODEL_CARD = "README.md"
POLICY = "policy"
"""Name of the checkpoint in the folder, by which agents find it."""

# Inputs and outputs of a graph, with shapes, for its metadata.
INPUTS = {
    "observation": "int8 [batch, {size}], an observation of the environments",
    "action_mask": "int8 [batch, {actions}], 1 for legal actions",
}
OUTPUTS = {
    "logits": "float32 [batch, {actions}]",
    "action": "int64 [batch], the most likely legal action",
}


def metadata_of(checkpoint: Checkpoint) -> dict[str, str]:
    """Metadata that is written into a graph: rules, suit order, inputs and outputs."""
    card = checkpoint.card
    size = "×".join(map(str, _observation_shape(checkpoint)))
    metadata = {
        "rules": join_rule_names(checkpoint.rules),
        "rule_sets": json.dumps(card.rules),
        "suit_order": card.suit_order,
        "observation": card.network.observation,
        "observation_version": str(card.observation_version),
        "horizon": card.horizon,
        "reward": card.reward,
    }
    for kind, tensors in (("input", INPUTS), ("output", OUTPUTS)):
        for name, about in tensors.items():
            metadata[f"{kind} {name}"] = about.format(actions=card.actions, size=size)
    if card.horizon == "foreplay":
        metadata["warning"] = (
            "the network was trained on the foreplay and has never seen an endgame: the graph "
            "plays endgames badly. Use it where episodes end with the foreplay "
            "(horizon='foreplay'), or leave endgames to the exact solver, as the checkpoint does "
            "as an agent"
        )
    return metadata


def onnx_model(checkpoint: Checkpoint) -> tuple[ModelProto, float]:
    """ONNX model of a checkpoint, and the largest difference of its logits from torch's."""
    import onnx
    import torch

    from .policy_module import PolicyModule

    policy = PolicyModule(checkpoint)
    inputs = _random_inputs(checkpoint)
    file = BytesIO()
    with warnings.catch_warnings():
        # The older exporter of torch, deprecated, is the one that needs no package besides onnx.
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                policy,
                tuple(inputs.values()),
                file,  # type: ignore[arg-type]
                dynamo=False,
                opset_version=OPSET,
                input_names=[*INPUTS],
                output_names=[*OUTPUTS],
                dynamic_axes={name: {0: "batch"} for name in (*INPUTS, *OUTPUTS)},
            )
        except torch.onnx.errors.OnnxExporterError as error:
            raise ValueError(
                f"{checkpoint.path}: its network has what ONNX lacks: {str(error).splitlines()[0]}"
            ) from error
        except Exception as error:
            if not checkpoint.card.network.module:
                raise
            raise ValueError(
                f"{checkpoint.path}: its network, {checkpoint.card.network.module}, raised "
                f"{error_text(error)} ({error_location(error)})"
            ) from error
    model = onnx.load_from_string(file.getvalue())
    model.producer_name = "german-whist"
    onnx.helper.set_model_props(model, metadata_of(checkpoint))
    difference = _max_difference(model, policy, inputs)
    try:
        # The trace may have kept the number of rows that it was made with.
        few = _max_difference(model, policy, _random_inputs(checkpoint, rows=3))
    except Exception as error:
        raise ValueError(
            f"{checkpoint.path}: the graph of its network, {checkpoint.card.network.module}, holds "
            f"for {len(inputs['action_mask'])} rows alone: in forward, let no shape depend on the "
            f"number of rows, as by len(observations) or int() ({error_text(error)})"
        ) from error
    return model, max(difference, few)


def _observation_shape(checkpoint: Checkpoint) -> tuple[int, ...]:
    rules = checkpoint.rules[0]
    if checkpoint.card.network.observation == "history":
        return history_rows(rules), HISTORY_COLUMNS
    return (spec_of(rules).size,)


def _random_inputs(checkpoint: Checkpoint, rows: int = 256) -> dict[str, Tensor]:
    """Observations and masks as tensors, by the names of a graph's inputs."""
    import torch

    rng = np.random.default_rng(0)
    masks = rng.random((rows, checkpoint.card.actions)) < 0.25
    masks[:, 0] |= ~masks.any(axis=1)
    shape = (rows, *_observation_shape(checkpoint))
    if checkpoint.card.network.observation == "history":
        # Any rows of the first three tricks: a kind, a player, a card, a trick.
        observations = rng.integers([8, 3, 54, 3], size=shape)
    else:
        observations = rng.random(shape) < 0.15
    return {
        name: torch.from_numpy(array.astype(np.int8))
        for name, array in zip(INPUTS, (observations, masks), strict=True)
    }


def _max_difference(model: ModelProto, policy: nn.Module, inputs: dict[str, Tensor]) -> float:
    """Largest difference of a graph's logits from torch's; raises if it is too large."""
    import torch
    from onnx import checker
    from onnx.reference import ReferenceEvaluator

    checker.check_model(model, full_check=True)
    arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
    logits, actions = map(np.asarray, ReferenceEvaluator(model).run(None, arrays))
    with torch.no_grad():
        torch_logits = policy(*inputs.values())[0].numpy()
    masks = arrays["action_mask"]
    difference = float(np.abs(logits - torch_logits).max())
    if difference > _TOLERANCE * max(1.0, float(np.abs(torch_logits[masks == 1]).max())):
        raise ArithmeticError(f"the graph's logits differ from torch's by {difference:.3g}")
    if not masks[np.arange(len(masks)), actions].all():
        raise ArithmeticError("the graph chose an action that its mask does not allow")
    return difference


def export_onnx(
    source: str | Path, target: str | Path, rules: RulesLike | None = None
) -> tuple[float, dict[str, str]]:
    """Write a checkpoint as an ONNX file, and compare the file's output with that of torch.

    Returns the largest difference between the logits of ONNX and torch, and the metadata of the
    file.

    - `source`: the path of a checkpoint or run, or the name of a bundled one such as
      `"champion-1"`.
    - `target`: the path of the file to write.
    - `rules`: which rule set to export, if the checkpoint was trained on several. `None` (default):
      its only one.
    """
    for package, extra in (("onnx", "onnx"), ("torch", "train")):
        if find_spec(package) is None:
            raise ValueError(not_installed("an export to ONNX", package, extra))
    checkpoint = read_checkpoint(network_for(resolve_rules(rules or "classic"), source))
    if checkpoint.card.network.kind == "table":
        raise ValueError(f"{checkpoint.path}: is a table; only networks are written as ONNX")
    chosen, *more = checkpoint.rules if rules is None else [resolve_rules(rules)]
    if more:
        raise ValueError(
            f"{checkpoint.path} plays {join_rule_names(checkpoint.rules)}, and a graph gets no "
            "rules: choose one by --rules"
        )
    checkpoint = specialize_checkpoint(checkpoint, chosen)
    model, difference = onnx_model(checkpoint)
    write_file(Path(target), model.SerializeToString())
    return difference, metadata_of(checkpoint)


def export_folder(source: str | Path, folder: Path) -> Path:
    """Write a checkpoint's policy and its model card into a folder; returns the card's path."""
    checkpoint = read_checkpoint(source)
    card_path = folder / MODEL_CARD
    if card_path.exists():
        raise ValueError(
            f"{card_path} is there already: delete it, or name another folder to write"
        )
    check_writable(card_path, make_folder=True)
    policy = strip_critic(checkpoint)
    written = read_checkpoint(write_checkpoint(folder / POLICY, policy.weights, policy.card))
    write_file(card_path, model_card(written, folder.resolve().name))
    return card_path


def model_card(checkpoint: Checkpoint, name: str) -> str:
    """The model card of a checkpoint: YAML for the Hub, results, use, training and hashes."""
    card, rules = checkpoint.card, [each.name for each in checkpoint.rules]
    machine, rules_text = markdown_text(card.machine), markdown_text(", ".join(rules))
    metrics = [
        {
            "type": "win_rate",
            "name": f"win rate against {each.title}, in %",
            "value": round(100 * each.win_rate, 1),
        }
        for each in card.evaluations
    ]
    result = {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"type": "german-whist", "name": ", ".join(rules)},
        "metrics": metrics,
    }
    header = {
        "library_name": "german-whist",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "german-whist", *rules],
        **({"model-index": [{"name": name, "results": [result]}]} if metrics else {}),
    }
    rows = [
        [
            markdown_text(each.title),
            f"{100 * each.win_rate:.1f} ± {100 * each.margin_of_error:.1f}",
            f"{each.hands:,}",
        ]
        for each in card.evaluations
    ]
    results = markdown_table(["agent", "hands won, in %", "hands"], rows) if rows else "None."
    commands = markdown_block("\n".join(card.commands))
    module = card.network.module
    trust = ["--trust", module] if module else []
    words = ["german-whist", "evaluate", name, "--against", "threshold", *trust]
    use = markdown_block(shlex.join(words))
    if module:
        use += (
            f"\n\nThe network is the class {markdown_code(module)}, whose source is not in this "
            "folder: it has to be where this name says, and loading the policy runs it."
        )
    settings = yaml.safe_dump(card.settings, sort_keys=False, allow_unicode=True)
    listed = yaml.safe_dump(msgspec.to_builtins(card.rules), sort_keys=False, allow_unicode=True)
    return f"""---
{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---

# {markdown_text(name)}

A policy for German Whist, for the rules {rules_text}. Horizon `{card.horizon}`, suits in the
suit order `{card.suit_order}`.

## Results

{results}

Intervals are 95 %, over deals that are played twice with exchanged seats.

## Use

{use}

## Training

{card.decisions:,} decisions, {card.hands:,} hands, {card.minutes:g} minutes ({machine}).

{commands}

{markdown_block(settings, "yaml")}

## Rules

{markdown_block(listed, "yaml")}

## Files

`{POLICY}.safetensors`: SHA-256 of its weights {card.sha256}
"""
