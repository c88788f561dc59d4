"""Play the published ladders, one for each rule set, and write docs/ladder.md: `make ladder`.

First the champion plays against two yardsticks in every rule set, then a ladder of each. What was
played is kept in build/ladder, a file for each, and not played again; the page tells what is
there. With the names of rule sets only those are played.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from german_whist.engine.rules import named_rules

ROOT = Path(__file__).resolve().parent.parent
PLAYED = ROOT / "build" / "ladder"
PAGE = ROOT / "docs" / "ladder.md"
SEED = 17042026
KEY = f"{SEED:032}"
"""Of the champion's hands, so that they are the same again."""
YARDSTICKS = {"counting": 10_000, "flat-mc:64": 10_000}
"""How many hands the champion plays against whom."""
_TABLES = ("Ratings", "Cross table", "Stages, a hand")

ABOUT = """\
# The ladder

Every rule set has a ladder of its own, and the champion plays all of them. Every deal is played
twice with seats exchanged, and endings are exact wherever a player says so. `make ladder` plays all
of it again, some hours of one core; what was played is kept, so it goes on where it was stopped.

Milliseconds a move are time on the clock in the arena, which asks for many games at once, and were
taken while other runs shared the machine: they tell players apart, and [how fast](speed.md) tells
what one costs by itself.

## The champion in every rule set

Hands won in per cent, a tie counting half, and what a hand pays by the rules, with 95 % intervals,
in as many hands as are told beside them:

```
german-whist evaluate champion --against PLAYER --rules NAME --hands N --seed {seed} --key {key}
```"""


def play(name: str, words: Sequence[str]) -> Path:
    """What a command of the arena finds as JSON, and as Markdown beside it; played once."""
    found = PLAYED / f"{name}.json"
    # One that was stopped has written what there was.
    if not (found.exists() and json.loads(found.read_text("utf-8"))["complete"]):
        print(f"{name}: {' '.join(words)}", flush=True)
        page = found.with_suffix(".md")
        files = ["--markdown", str(page), "--json", str(found)]
        subprocess.run([sys.executable, "-m", "german_whist", *words, *files], check=True)
    return found


def play_yardstick(rules: str, opponent: str) -> Path:
    """The champion against one player."""
    words = ["evaluate", "champion", "--against", opponent, "--rules", rules]
    words += ["--hands", str(YARDSTICKS[opponent]), "--seed", str(SEED), "--key", KEY]
    return play(f"{rules}-{opponent.replace(':', '-')}", words)


def play_ladder(rules: str) -> Path:
    """The ladder of a rule set: of the classic one with more players."""
    if rules == "classic":
        return play(rules, ["ladder", "--config", "ladder"])
    return play(rules, ["ladder", "--config", "family", "--rules", rules])


# -- the page


def estimate_text(told: dict[str, float], factor: float, form: str) -> str:
    """A figure with half of its interval."""
    reach = factor * (told["high"] - told["low"]) / 2
    return f"{format(factor * told['value'], form)} ± {format(reach, form.lstrip('+'))}"


def strength_table() -> str:
    """The champion against the yardsticks, a line for each rule set."""
    header = ["rule set"]
    for opponent in YARDSTICKS:
        header += [f"against `{opponent}`", "pay", "hands"]
    lines = [header, ["---", *["--:"] * (len(header) - 1)]]
    for rules in named_rules():
        cells = [f"`{rules}`"]
        for opponent in YARDSTICKS:
            pairing = json.loads(play_yardstick(rules, opponent).read_text("utf-8"))["pairings"][0]
            cells.append(estimate_text(pairing["win_rate"], 100, ".1f"))
            cells.append(estimate_text(pairing["points"], 1, "+.3f"))
            cells.append(f"{pairing['hands']:,}")
        lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def ladder_section(rules: str) -> Iterator[str]:
    """The ladder of a rule set as a section of the page, without the list of its pairings."""
    page = play_ladder(rules).with_suffix(".md").read_text("utf-8")
    head, *sections = page.split("\n## ")
    yield f"## {rules}"
    yield head.strip().splitlines()[-1]
    for section in sections:
        title, _, text = section.partition("\n")
        if title in _TABLES:
            yield f"### {title}\n\n{text.strip()}"
        if title == "How it was made":
            # Where its files went is of no interest to others.
            yield re.sub(r" --(json|markdown) \S+", "", text.strip())


def main() -> None:
    """Play what is wanted, and write the page when all of it is there."""
    PLAYED.mkdir(parents=True, exist_ok=True)
    everything = list(named_rules())
    wanted = sys.argv[1:] or everything
    for opponent in YARDSTICKS:
        for rules in wanted:
            play_yardstick(rules, opponent)
    for rules in wanted:
        play_ladder(rules)
    if set(wanted) != set(everything):
        return
    parts = [ABOUT.format(seed=SEED, key=KEY), strength_table()]
    for rules in everything:
        parts += ladder_section(rules)
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
