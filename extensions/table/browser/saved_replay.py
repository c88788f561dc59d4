# pyright: strict
"""Replays as one HTML file that needs nothing else: no server, no network, no other file.

The modules and styles of the table's page are put into it (`bundle`). A record goes in as JSON
whose `<`, `>` and `&` are written as escapes, and is only ever shown as text; a policy in the page
allows no other script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from german_whist.engine.records import GameRecord

from ..review.analysis import Analysis
from ..review.hands import NotableHand
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
    hand = {"replay": replay, "analysis": analysis, "notes": _notes(record.meta)}
    return _page(join_words(replay.players), [hand], "both" if seat is None else seat)


def hands_page(title: str, hands: Sequence[NotableHand]) -> str:
    """The page of several hands, from which one is chosen."""
    return _page(title, hands, "both")


def _page(title: str, hands: Sequence[object], seat: int | str) -> str:
    script, style = script_of(_FIRST_MODULE), style_of(*_STYLES)
    policy = (
        f"default-src 'none'; script-src {policy_hash(script)}; style-src {policy_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="{label("site.language")}" data-theme="light" data-motion="normal" data-suits="two">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(label("site.page", page=title))}</title>
<style>{style}</style>
</head>
<body data-page="replay">
<noscript>{escape(label("site.saved_no_script"))}</noscript>
{embed_json("saved", {"hands": hands, "seat": seat})}
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
