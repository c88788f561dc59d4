"""A checkpoint as a folder for the Hugging Face Hub: the policy, and a model card."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

from ...agents.checkpoints import Checkpoint, read_checkpoint, strip_critic, write_checkpoint
from ...common.files import check_writable, write_file
from ...common.markdown import markdown_table

MODEL_CARD = "README.md"
POLICY = "policy"
"""Name of the checkpoint in the folder, by which agents find it."""


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
            each.title,
            f"{100 * each.win_rate:.1f} ± {100 * each.margin_of_error:.1f}",
            f"{each.hands:,}",
        ]
        for each in card.evaluations
    ]
    results = markdown_table(["agent", "hands won, in %", "hands"], rows) if rows else "None."
    commands = "\n".join(card.commands)
    settings = yaml.safe_dump(card.settings, sort_keys=False, allow_unicode=True)
    listed = yaml.safe_dump(msgspec.to_builtins(card.rules), sort_keys=False, allow_unicode=True)
    return f"""---
{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---

# {name}

A policy for German Whist, for the rules {", ".join(rules)}. Horizon `{card.horizon}`, suits in the
layout `{card.layout}`.

## Results

{results}

Intervals are 95 %, over deals that are played twice with exchanged seats.

## Use

```
german-whist evaluate {name} --against threshold
german-whist play {name}
```

## Training

{card.decisions:,} decisions, {card.hands:,} hands, {card.minutes:g} minutes ({card.machine}).

```
{commands}
```

```yaml
{settings}```

## Rules

```yaml
{listed}```

## Files

`{POLICY}.safetensors`: SHA-256 of its weights {card.sha256}
"""
