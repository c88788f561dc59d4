"""The error for a text that names no agent: it says what was probably meant, and its spelling."""

from __future__ import annotations

import os
from pathlib import Path

from ..common.files import suggest_path
from ..common.schema import short_repr
from ..common.suggestions import suggest
from .checkpoints import is_checkpoint

_FILE_ENDINGS = (".py", ".jsonl", ".yaml", ".yml", ".onnx", ".pt", ".zip")
_LONGEST_PATH = 1000


def unknown_agent(text: str, name: str, known: list[str]) -> str:
    """Why a text names no agent, and what was probably meant; `name` is its part before a colon."""
    if len(text) > _LONGEST_PATH:
        return f"{short_repr(text)} is no agent's name or path: it is {len(text):,} long"
    if not text.rpartition("=")[2].strip():
        problem = (
            f"{text!r} names no agent: nothing follows its ="
            if text
            else "the name of an agent is empty"
        )
        return f"{problem}; name an agent, as threshold, or the path of a checkpoint"
    path = Path(text.split(",")[0])
    if name.endswith(".py") and os.path.isfile(name):
        target = text.partition(":")[2] or "object"
        return (
            f"{text!r} is not an agent: a file of Python is named as a module, from the folder "
            f"that it is in, as {Path(name).stem}:{target}"
        )
    if path.suffix == ".zip" and os.path.isfile(path):
        return (
            f"{text!r} is not an agent: a model of Stable-Baselines3 is named as "
            f"sb3:{text},trusted, if you trust its author, since its file runs code"
        )
    if text and os.path.isdir(path):
        runs = sorted(str(child) for child in path.iterdir() if is_checkpoint(str(child)))
        if runs:
            return f"{text!r} is not an agent, but a folder of these: {', '.join(runs)}"
    if text and os.path.exists(path):
        return (
            f"{text!r} is not an agent: there is no checkpoint in it; give the path of a "
            ".safetensors file or of a run's folder"
        )
    path_before, _, parameters = text.rpartition(":")
    if path_before and is_checkpoint(path_before):
        return (
            f"{text!r} is not an agent: parameters follow the path of a checkpoint after a comma, "
            f"as in {path_before},{parameters}"
        )
    if "/" in text or os.sep in text or name.endswith(_FILE_ENDINGS):
        return f"{text!r} is not an agent: there is no such file or folder{suggest_path(path)}"
    bare, comma, parameters = text.partition(",")
    several = [part.strip() for part in text.split(",")]
    if comma and all(part in known for part in several):
        return f"{text!r} is not an agent, but several: give them apart, as in {' '.join(several)}"
    if comma and bare in known:
        return f"{text!r} is not an agent: parameters follow a colon, as in {bare}:{parameters}"
    if name.isidentifier() and os.path.isfile(f"{name}.py"):
        return (
            f"{text!r} is not an agent: there is a file {name}.py here, and what is in it is named "
            f"as {name}:Class"
        )
    if "=" in text:
        return f"{text!r} is not an agent: in NAME=AGENT the name is short and has no : , / or \\"
    suggestion = "agents of your own are named as module:object"
    return f"{text!r} is not an agent{suggest(name, sorted(known), more=suggestion)}"
