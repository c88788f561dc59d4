# pyright: strict
"""Export a checkpoint: as an ONNX file, or as a folder that you can share.

FILE.onnx holds a network that masks illegal actions itself. Its outputs are compared with those of
torch. FOLDER/ holds the policy and a model card for the Hugging Face Hub (README.md).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .worker_options import add_trust_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        help="path of a checkpoint or of a run, or the name of a bundled checkpoint "
        "such as champion",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.onnx|FOLDER/",
        help="file or folder to write (default: an ONNX file beside the checkpoint, "
        "or in the current folder for a bundled checkpoint)",
    )
    parser.add_argument(
        "--rules", metavar="NAME", help="rule set of the ONNX file, if the checkpoint plays several"
    )
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..agents.checkpoints import is_checkpoint, resolve_rules
    from ..agents.checkpoints.bundled import CHAMPION, EARLIER_CHAMPIONS, network_for
    from ..training.export.export import export_folder, export_onnx

    name = arguments.checkpoint
    source = network_for(resolve_rules(arguments.rules or "classic"), name)
    bundled = name in (CHAMPION, *EARLIER_CHAMPIONS) or not is_checkpoint(name)
    if arguments.rules and name != CHAMPION and not (arguments.output or ".onnx").endswith(".onnx"):
        raise ValueError(
            f"--rules is {arguments.rules!r}: it chooses the rules of a graph, FILE.onnx, and a "
            "checkpoint keeps all of its rules: leave it out"
        )
    if arguments.output and arguments.output.endswith("/"):
        print(f"wrote {export_folder(source, Path(arguments.output))}, and the policy beside it")
        return 0
    default = (Path(name) if bundled else source).with_suffix(".onnx")
    target = Path(arguments.output) if arguments.output else default
    if target.suffix != ".onnx":
        raise ValueError(
            f"{target}: its ending says what to write, and {target.suffix!r} is not .onnx, nor "
            "does a / name a folder"
        )
    replaced = ", which replaces the file that was there" if target.exists() else ""
    difference, metadata = export_onnx(source, target, arguments.rules)
    warning = metadata.pop("warning", None)
    width = max(map(len, metadata)) + 2
    print(f"{target}: logits within {difference:.1e} of torch's{replaced}")
    for title, about in metadata.items():
        print(f"  {title:<{width}}{about}")
    if warning is not None:
        print(f"warning: {warning}")
    return 0
