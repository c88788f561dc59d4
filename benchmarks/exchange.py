"""Value of the exchange in humbug: `python -m benchmarks.exchange`, a few minutes.

The champion plays against itself with a fixed exchange decision, never or always, every deal twice
with seats exchanged. Its own exchange decisions are counted from the records.
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


class FixedExchange(Champion):
    """The champion with a fixed exchange decision."""

    choice = KEEP

    def act(self, views: Any, rng: Any) -> Any:
        actions = super().act(views, rng)
        actions[views["phase"] == EXCHANGE] = self.choice
        return actions


class NeverExchange(FixedExchange):
    """Keeps every hand."""

    title = "never exchanging"


class AlwaysExchange(FixedExchange):
    """Takes every blind hand."""

    title, choice = "always exchanging", TAKE_BLIND


def count_choices(lines: list[str], player: str) -> Counter[tuple[str, bool, bool]]:
    """Counts of a player's seat, whether the non-dealer kept, and whether the player kept."""
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for line in lines:
        record = json.loads(line)
        dealer, players = record["dealer"], record["meta"]["players"]
        first, second = (word == CHOICE_WORDS[KEEP] for word in record["exchange"])
        if players[1 - dealer] == player:
            counts["non-dealer", True, first] += 1
        if players[dealer] == player:
            counts["dealer", first, second] += 1
    return counts


def main() -> None:
    """Play, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hands", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=53)
    arguments = parser.parse_args()
    lines: list[str] = []
    print("| the champion against itself | hands won | pay a hand |\n|---|--:|--:|")
    hands, seed = arguments.hands, arguments.seed
    for other in (NeverExchange, AlwaysExchange):
        pairing = evaluate(
            *("champion", f"{other.__module__}:{other.__name__}", RULES),
            hands=hands, seed=seed, key=f"{seed:032}", records=lines.append,
        ).pairings[0]  # fmt: skip
        rate, pay = percent_with_interval(pairing.win_rate), number_with_interval(pairing.points)
        print(f"| {other.title} | {rate} | {pay} |", flush=True)
    counts = count_choices(lines, "champion")
    print("\n| seat | after the other | keeps |\n|---|---|--:|")
    for seat, non_dealer_kept in (("non-dealer", True), ("dealer", True), ("dealer", False)):
        n_kept, n_exchanged = (counts[seat, non_dealer_kept, keeps] for keeps in (True, False))
        after = "" if seat == "non-dealer" else "kept" if non_dealer_kept else "exchanged"
        print(f"| {seat} | {after} | {100 * n_kept / (n_kept + n_exchanged):.1f} % |")


if __name__ == "__main__":
    main()
