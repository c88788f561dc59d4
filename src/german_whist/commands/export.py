# pyright: strict
"""Write a checkpoint as ONNX, its mask inside the graph, checked against torch."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a checkpoint's path, or a run's")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.onnx", help="(default: beside the checkpoint)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write and check."""
    from ..agents.checkpoint import find_checkpoint
    from ..training.export import export

    source = find_checkpoint(arguments.checkpoint)
    target = arguments.output or source.with_suffix(".onnx")
    apart = export(source, target)
    print(f"{target}: logits within {apart:.1e} of torch's")
    return 0
