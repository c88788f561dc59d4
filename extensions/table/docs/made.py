"""What is made from the code: messages in TypeScript, the reference of commands, a table."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from write import commands_page, with_tables

from german_whist.table.browser import finished_hands, messages, requests, serve_learning
from german_whist.table.commands import GROUPS
from german_whist.table.game import opponents, progress, statistics
from german_whist.table.review import analysis, hands, hints, networks, replay

REQUESTS = (requests.TableRequest, requests.SpeedRequest)
ANSWERS = (
    messages.TableUpdate,
    messages.Menu,
    messages.Refusal,
    messages.TableSummary,
    serve_learning.Problem,
    serve_learning.AnswerResult,
    serve_learning.PlayoutLine,
    serve_learning.PuzzleStats,
    progress.Exercise,
    progress.LessonProgress,
    finished_hands.HandSummary,
    finished_hands.AnalysisProgress,
    analysis.Analysis,
    analysis.PositionValues,
    networks.NetworkReview,
    hands.NotableHand,
    replay.Replay,
    hints.SeenCards,
    hints.Hint,
    opponents.RulesText,
    statistics.Statistics,
)
SCALARS = {
    "integer": "number",
    "number": "number",
    "string": "string",
    "boolean": "boolean",
    "null": "null",
}


FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """The texts of files that are made, by their path in the extension's folder."""
    names = [name for commands in GROUPS.values() for name in commands]
    benchmark = runpy.run_path(str(FOLDER.parent / "benchmarks" / "analyst.py"))
    chunks = list(map(json.loads, benchmark["OUT"].read_text("utf-8").splitlines()))
    tables = {"analyst": benchmark["report"](chunks), "held-out": benchmark["held_out"](chunks)}
    return {
        "docs/strength.md": with_tables((FOLDER / "strength.md").read_text("utf-8"), tables),
        "docs/commands.md": commands_page("Commands of the table", names),
        "browser/messages.d.ts": message_types(),
    }


def message_types() -> str:
    """TypeScript declarations of what server and page tell each other."""
    _, kinds = msgspec.json.schema_components((*REQUESTS, *ANSWERS), ref_template="{name}")
    optional = {kind.__name__ for kind in _structs(Struct) if _leaves_out(kind)}
    parts = ["// What the server and the page tell each other, made from the code by `make docs`."]
    for name, kind in kinds.items():
        if "properties" not in kind:
            parts.append(f"export type {name} = {_type(kind)};")
            continue
        required = kind["required"] if name in optional else kind["properties"]
        fields = "".join(
            f"  {field}{'' if field in required else '?'}: {_type(schema)};\n"
            for field, schema in kind["properties"].items()
        )
        parts.append(f"export interface {name} {{\n{fields}}}")
    return "\n\n".join(parts) + "\n"


def _structs(kind: type[Struct]) -> list[type[Struct]]:
    return [struct for sub in kind.__subclasses__() for struct in (sub, *_structs(sub))]


def _leaves_out(kind: type[Struct]) -> bool:
    """Whether fields with a default may be missing."""
    config = kind.__struct_config__
    return config.omit_defaults or config.forbid_unknown_fields


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"])
    if "anyOf" in schema:
        return " | ".join(map(_type, schema["anyOf"]))
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    if schema["type"] == "array":
        return f"Array<{_type(schema['items'])}>"
    if schema["type"] == "object":
        return f"Record<string, {_type(schema['additionalProperties'])}>"
    return SCALARS[schema["type"]]
