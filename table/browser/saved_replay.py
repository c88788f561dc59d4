# pyright: strict
"""A replay as one HTML file that needs nothing else: no server, no network, no other file.

The modules and styles of the table's page are put into it (`bundle`). A record goes in as JSON
whose `<`, `>` and `&` are written as escapes, and is only ever shown as text; a policy in the page
allows no other script.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from ...engine.records import GameRecord
from ..review.analysis import Analysis
from ..review.replay import make_replay
from ..text.labels import label
from ..text.words import join_words, plain_text
from .bundle import embed_json, labels_in, policy_hash, script_of, style_of

_FIRST_MODULE = "saved_page.js"
_STYLES = ("base.css", "table_view.css", "replay.css")
_MAX_NOTES = 6


def replay_page(
    record: GameRecord, analysis: Analysis | None = None, seat: int | None = None
) -> str:
    """The page of a hand, with its analysis if there is one, from one seat or with both open."""
    replay = make_replay(record)
    saved: dict[str, object] = {
        "replay": replay,
        "analysis": analysis,
        "seat": "both" if seat is None else seat,
        "notes": _notes(record.meta),
    }
    script, style = script_of(_FIRST_MODULE), style_of(*_STYLES)
    policy = (
        f"default-src 'none'; script-src {policy_hash(script)}; style-src {policy_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = escape(label("site.page", page=join_words(replay.players)))
    return f"""<!doctype html>
<html lang="{label("site.language")}" data-theme="light" data-motion="normal" data-suits="two">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body data-page="replay">
<noscript>{escape(label("site.saved_no_script"))}</noscript>
{embed_json("hand", saved)}
{embed_json("labels", labels_in(script))}
<script type="module">{script}</script>
</body>
</html>
"""


def _notes(meta: Mapping[str, object]) -> list[str]:
    notes = [
        f"{plain_text(name)}: {plain_text(str(value))}"
        for name, value in meta.items()
        if isinstance(value, (str, int, float)) and not isinstance(value, bool)
    ]
    return notes[:_MAX_NOTES]
