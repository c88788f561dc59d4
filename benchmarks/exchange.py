"""What the exchange of humbug is worth: `python -m benchmarks.exchange`, a few minutes.

The champion plays against itself with its answer fixed, never or always exchanging, every deal
twice with seats exchanged; all else it plays as ever. Its own answers are counted from the records.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from german_whist.agents.search.champion import Champion
from german_whist.engine.cards import CHOICE_WORDS, KEEP, TAKE_BLIND
from german_whist.engine.dtypes import EXCHANGE
from german_whist.evaluation.formats import number_with_interval, percent_with_interval
from german_whist.evaluation.tournament import evaluate

RULES = "humbug"


class Answering(Champion):
    """The champion with one answer to the exchange, whatever it holds."""

    answer = KEEP

    def act(self, views: Any, rng: Any) -> Any:
        """The champion's cards, and the answer."""
        actions = super().act(views, rng)
        actions[views["phase"] == EXCHANGE] = self.answer
        return actions


class Keeping(Answering):
    """Keeps every hand."""


class Taking(Answering):
    """Takes every blind hand."""

    answer = TAKE_BLIND


def answers_of(lines: list[str], player: str) -> Counter[tuple[str, bool, bool]]:
    """How often a player of some records kept its hand: as whom, after what, and whether."""
    found: Counter[tuple[str, bool, bool]] = Counter()
    for line in lines:
        record = json.loads(line)
        dealer, players = record["dealer"], record["meta"]["players"]
        first, second = (word == CHOICE_WORDS[KEEP] for word in record["exchange"])
        if players[1 - dealer] == player:
            found["non-dealer", True, first] += 1
        if players[dealer] == player:
            found["dealer", first, second] += 1
    return found


def main() -> None:
    """Play, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hands", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=53)
    given = parser.parse_args()
    lines: list[str] = []
    print("| the champion against itself | hands won | pay a hand |\n|---|--:|--:|")
    for title, other in (("never exchanging", Keeping), ("always exchanging", Taking)):
        pairing = evaluate(
            *("champion", f"{other.__module__}:{other.__name__}", RULES),
            hands=given.hands, seed=given.seed, key=f"{given.seed:032}", records=lines.append,
        ).pairings[0]  # fmt: skip
        rate, pay = percent_with_interval(pairing.win_rate), number_with_interval(pairing.points)
        print(f"| {title} | {rate} | {pay} |", flush=True)
    answers = answers_of(lines, "champion")
    print("\n| seat | after the other | keeps |\n|---|---|--:|")
    for seat, other_kept in (("non-dealer", True), ("dealer", True), ("dealer", False)):
        kept, took = (answers[seat, other_kept, kept] for kept in (True, False))
        after = "" if seat == "non-dealer" else "kept" if other_kept else "exchanged"
        print(f"| {seat} | {after} | {100 * kept / (kept + took):.1f} % |")


if __name__ == "__main__":
    main()
