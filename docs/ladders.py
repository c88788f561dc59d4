"""Play the published ladders, one for each rule set, and write docs/ladder.md: `make ladder`.

First the champion plays against two opponents in every rule set, then a ladder of each. Results
are stored as JSON in docs/ladder, and not played again. With the names of rule sets only those are
played; with `--page` nothing is. The page is written from the stored results; a section without one
stays as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from german_whist.engine.rules import named_rules
from german_whist.evaluation import Result
from german_whist.evaluation.reports.text import as_markdown

ROOT = Path(__file__).resolve().parent.parent
PLAYED = ROOT / "docs" / "ladder"
PAGE = ROOT / "docs" / "ladder.md"
SEED = 17042026
KEY = f"{SEED:032}"
"""Of the champion's hands, so that they are the same again."""
YARDSTICKS = {"counting": 10_000, "flat-mc:64": 10_000}
"""How many hands the champion plays against whom."""
_TABLES = ("Ratings", "Cross table", "Stages, a hand", "Players")

ABOUT = """\
# The ladder

Every rule set has a ladder of its own, and the champion plays all of them. Every deal is played
twice with seats exchanged, and endings are exact wherever a player says so. `make ladder` plays all
of it again, some hours of one core; what was played is kept, so it goes on where it was stopped.

Milliseconds a move are time on the clock in the arena, which asks for many games at once, and were
taken while other runs shared the machine: they tell players apart, and [how fast](speed.md) tells
what one costs by itself.
"""
CHAMPION = """\
## The champion in every rule set

Hands won in per cent, a tie counting half, and what a hand pays by the rules, with 95 % intervals,
in as many hands as are told beside them:

```
german-whist evaluate champion --against PLAYER --rules NAME --hands N --seed {seed} --key {key}
```"""


def stored(name: str) -> Result | None:
    """A complete result, if it is stored; an interrupted run has written what there was."""
    path = PLAYED / f"{name}.json"
    if not path.exists():
        return None
    result = Result.from_json(json.loads(path.read_text("utf-8")))
    return result if result.complete else None


def play(name: str, words: Sequence[str]) -> None:
    """Store the result of a command of the arena as JSON, once."""
    if stored(name) is None:
        print(f"{name}: {' '.join(words)}", flush=True)
        command = [sys.executable, "-m", "german_whist", *words]
        subprocess.run([*command, "--json", str(PLAYED / f"{name}.json")], check=True)


def result_name(rules: str, opponent: str) -> str:
    """The name of the champion's hands against a player."""
    return f"{rules}-{opponent.replace(':', '-')}"


def play_opponent(rules: str, opponent: str) -> None:
    """The champion against one player."""
    words = ["evaluate", "champion", "--against", opponent, "--rules", rules]
    words += ["--hands", str(YARDSTICKS[opponent]), "--seed", str(SEED), "--key", KEY]
    play(result_name(rules, opponent), words)


def play_ladder(rules: str) -> None:
    """The ladder of a rule set: of the classic one with more players."""
    if rules == "classic":
        play(rules, ["ladder", "--config", "ladder"])
    else:
        play(rules, ["ladder", "--config", "family", "--rules", rules])


# -- the page


def estimate_text(told: dict[str, float], factor: float, form: str) -> str:
    """A figure with half of its interval."""
    reach = factor * (told["high"] - told["low"]) / 2
    return f"{format(factor * told['value'], form)} ± {format(reach, form.lstrip('+'))}"


def champion_section() -> str | None:
    """The champion against both opponents, a line for each rule set; None while one lacks."""
    header = ["rule set"]
    for opponent in YARDSTICKS:
        header += [f"against `{opponent}`", "pay", "hands"]
    lines = [header, ["---", *["--:"] * (len(header) - 1)]]
    for rules in named_rules():
        cells = [f"`{rules}`"]
        for opponent in YARDSTICKS:
            result = stored(result_name(rules, opponent))
            if result is None:
                return None
            pairing = result.pairings[0]
            cells.append(estimate_text(pairing.win_rate.to_json(), 100, ".1f"))
            cells.append(estimate_text(pairing.points.to_json(), 1, "+.3f"))
            cells.append(f"{pairing.hands:,}")
        lines.append(cells)
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{CHAMPION.format(seed=SEED, key=KEY)}\n\n{table}"


def ladder_section(rules: str, result: Result) -> Iterator[str]:
    """The ladder of a rule set as a section of the page, without the list of its pairings."""
    head, *sections = as_markdown(result).split("\n## ")
    yield f"## {rules}"
    yield head.strip().splitlines()[-1]
    for section in sections:
        title, _, text = section.partition("\n")
        if title in _TABLES:
            yield f"### {title}\n\n{text.strip()}"
        if title == "How it was made":
            # Where its files went is of no interest to others.
            yield re.sub(r" --(json|markdown) \S+", "", text.strip())


def page(before: str) -> str:
    """The page with a section for each stored result, and the others as they were before."""
    sections = {part.partition("\n")[0]: f"## {part.strip()}" for part in before.split("\n## ")[1:]}
    champion = champion_section()
    if champion is not None:
        sections[champion.partition("\n")[0].removeprefix("## ")] = champion
    for rules in named_rules():
        result = stored(rules)
        if result is not None:
            sections[rules] = "\n\n".join(ladder_section(rules, result))
    return "\n\n".join([ABOUT.strip(), *sections.values()]) + "\n"


def main() -> None:
    """Play what is wanted, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rules", nargs="*", default=[*named_rules()], help="rule sets (all)")
    parser.add_argument("--page", action="store_true", help="play nothing, write the page")
    given = parser.parse_args()
    if not given.page:
        PLAYED.mkdir(parents=True, exist_ok=True)
        for opponent in YARDSTICKS:
            for rules in given.rules:
                play_opponent(rules, opponent)
        for rules in given.rules:
            play_ladder(rules)
    PAGE.write_text(page(PAGE.read_text("utf-8")), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
