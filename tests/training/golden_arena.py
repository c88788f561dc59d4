"""Reports of the arena as they are known, of a result that was made up and not played.

`python tests/training/golden_arena.py` writes them anew, after a change that is meant to be seen.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from german_whist.agents.base import ModelFile
from german_whist.engine.arrays import Array
from german_whist.engine.rules import load_rules
from german_whist.training.arena.intervals import Estimate
from german_whist.training.arena.page import as_html
from german_whist.training.arena.report import as_csv, as_markdown, as_text
from german_whist.training.arena.results import (
    Course,
    Forfeit,
    Ladder,
    Pairing,
    PlayerDetails,
    Result,
    Stages,
    ladder_of,
)

KEPT = Path(__file__).with_name("golden")
PLAYERS = ("anna", "ben & co", "carl")


def _around(value: float, reach: float) -> Estimate:
    return Estimate(value, value - reach, value + 1.5 * reach)


def _pairing(first: int, second: int, share: float) -> Pairing:
    """Figures that are all different, so that one in another's place is seen."""
    lead = share - 0.5
    course = Course(
        tricks_won=tuple(None if trick == 8 else share + 0.02 * (trick - 9) for trick in range(20)),
        trumps=tuple(0.3 * lead * trick for trick in range(16)) + (None,) * 4,
        high_cards=tuple(-0.2 * lead * trick + 0.05 for trick in range(16)) + (None,) * 4,
    )
    return Pairing(
        player=PLAYERS[first],
        opponent=PLAYERS[second],
        pairs=600 + 7 * second,
        hands=1200 + 1011 * first,
        win_rate=_around(share, 0.0212 if first else 0.00031),
        as_played=None,
        hand_win_rate=_around(0.5 + lead / 3, 0.031),
        margin=_around(4.1 * lead, 0.27),
        points=_around(2.3 * lead, 0.19),
        as_leader=share + 0.041,
        as_dealer=share - 0.037,
        ending_margin=None if second == 2 else 1.7 * lead,
        stages=(
            Stages(5.31 + first, 0.173, False, 0.0431 * 10 ** (2 * first), 15_000),
            Stages(4.69 - second, 0.381 if first == 0 else 0.0, second == 2, None, 0),
        ),
        course=course,
        exact_endings=bool(first),
        forfeits=(Forfeit(PLAYERS[second], "illegal", 3, "deal 7: no such card"),) * first,
    )


def scores_of(pairing: Pairing) -> Array:
    """What the player of a pairing scored on each deal, at its win rate as nearly as may be."""
    return np.random.default_rng(7).binomial(2, pairing.win_rate.value, pairing.pairs)


def evaluation() -> Result:
    """One player against two others, as a match."""
    return Result(
        rules="quick",
        match="best of 3",
        seed=5,
        key="00112233445566778899aabbccddeeff",
        players=PLAYERS,
        pairings=(_pairing(0, 1, 0.6213), _pairing(0, 2, 0.4871)),
        details=(
            PlayerDetails("anna", "exact solver", "", ()),
            PlayerDetails(
                "ben & co",
                "exact solver",
                "endgame=network",
                (ModelFile("runs/b/checkpoints/01.safetensors", "00ff", "runs/b", 3_000_000),),
            ),
            PlayerDetails("carl", "own policy", "exact=True", (ModelFile("c.zip", "ff00"),)),
        ),
        notes=("carl <3> is slow",),
        command="german-whist evaluate anna --against ...",
        machine="a machine",
        version="9.9",
        seconds=4331.0,
        workers=2,
    )


def rungs(anchor: str | None = "carl") -> Result:
    """A ladder of three, every pairing seen from the player that comes first."""
    pairings = (_pairing(0, 1, 0.6213), _pairing(0, 2, 0.8071), _pairing(1, 2, 0.7152))
    ladder = ladder_of(PLAYERS, pairings, [scores_of(each) for each in pairings], anchor)
    assert isinstance(ladder, Ladder)
    result = replace(evaluation(), rules="all-margin", match=None, pairings=pairings)
    return replace(result, ladder=ladder, seconds=77.7, workers=1)


def reports() -> dict[str, str]:
    """Every report of both, by the name of the file that keeps it."""
    found = {}
    for name, result in (("evaluation", evaluation()), ("ladder", rungs())):
        found[f"{name}.txt"] = as_text(result) + "\n"
        found[f"{name}.md"] = as_markdown(result, "A page", "About it.")
        found[f"{name}.csv"] = as_csv(result)
        found[f"{name}.json"] = result.text()
        page = as_html(result, load_rules(result.rules))
        found[f"{name}.html"] = page.replace("><", ">\n<")
    return found


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for each, text in reports().items():
        (KEPT / each).write_text(text, encoding="utf-8")
