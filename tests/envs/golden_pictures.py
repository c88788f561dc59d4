"""Pictures as they are known: made from fixed games, kept as digests and as lines of text.

`python tests/envs/golden_pictures.py` writes them anew, after a change that is meant to be seen.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from german_whist.engine.game import Game
from german_whist.engine.rules import Match
from german_whist.envs.pictures.painter import Painter

KEPT = Path(__file__).with_name("golden_pictures.json")
# Rules, how many actions are played (-1: all), and what else a picture depends on.
MOMENTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "the first lead": ("classic", 0, {}),
    "a card is led": ("classic", 1, {"seat": 1}),
    "some cards are known": ("classic", 17, {"names": ("north", "south & co")}),
    "the other hand is open": ("classic", 21, {"open_hands": True}),
    "the endgame": ("classic", 26, {"seat": 1}),
    "a card is led in the endgame": ("classic", 31, {}),
    "the hand is over": ("classic", -1, {}),
    "over with a tie": ("small-all", -1, {"seed": 7}),
    "the winner chooses": ("open-stock", 2, {"seat": 1}),
    "the winner may choose the hidden card": ("draft", 2, {}),
    "nothing is faced": ("no-trump", 1, {}),
    "no trumps": ("no-trump", 9, {"seat": 1}),
    "a race is won": ("race-7", -1, {}),
    "low wins": ("colour", 30, {"seed": 4}),
    "a match goes on": ("small-last", 60, {"match": Match(target=25)}),
    "two cards are left": ("small-all", 26, {"open_hands": True}),
    "the last stock cards": ("quick", 11, {"seat": 1}),
}


def pictures() -> dict[str, dict[str, Any]]:
    """Every moment as a digest of its SVG and as its lines of text."""
    return {name: _picture(*how) for name, how in MOMENTS.items()}


def _picture(
    rules: str,
    actions: int,
    more: dict[str, Any],
) -> dict[str, Any]:
    game = Game(rules, more.get("seed", 3), match=more.get("match"))
    while actions < 0 or actions:
        if game.over and game.match is None:
            break
        if game.over:
            game.deal_next()
        legal = game.legal()
        game.play(legal[len(game.actions) % len(legal)])
        actions -= 1
    how = (game, more.get("seat", 0), more.get("names", ("you", "opponent")))
    text, svg = (
        Painter(mode).paint(*how, open_hands=more.get("open_hands", False))
        for mode in ("ansi", "svg")
    )
    return {"text": text.splitlines(), "svg": hashlib.sha256(svg.encode()).hexdigest()[:16]}


if __name__ == "__main__":
    KEPT.write_text(json.dumps(pictures(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
