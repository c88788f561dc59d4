"""Counterfactual regret minimisation on sampled hands: a table that learns what it has not played.

Lanctot, Waugh, Zinkevich and Bowling 2009, "Monte Carlo sampling for regret minimization in
extensive games" (external sampling). In each hand one player walks: it tries every card wherever
it is to play, while the deal and the cards of the other are drawn. Wherever it was to play each
card's regret grows by what the card would have been worth beyond what was played there; what is
played is in proportion to regrets above nothing. Where the other was to play, its strategy is
added to the average, which comes to an equilibrium and is the player. Later hands count for more
in both (Brown and Sandholm 2019, "Solving imperfect-information games via discounted regret
minimization", arXiv:1809.04040, who weigh by the number of the hand: `averaging` 1).

Decisions are those of the public tree, by which `solve` and `nash` know them too: all that both
have seen, and one's own hand. Endings are worth what exact play makes of them. Read it from top
to bottom: `_walk` is the algorithm, on the engine's own games.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Struct

from ...agents.checkpoints.schema import Count as Counted
from ...agents.checkpoints.schema import NetworkCard
from ...agents.equilibrium.path import Paths, cells_of_view, paths_of
from ...agents.equilibrium.public_tree import MOST_CARDS, public_tree, why_not
from ...agents.sampling import sample
from ...common.jit.bitset import ONE, lowest
from ...common.jit.compiler import forceinline, jit, warm_up
from ...common.schema import convert
from ...common.typed_settings import PositiveInt, SettingsError, doc
from ...engine.batch.kernels import ENDGAME_REACHED, NO_EVENT, advance, score_endgame
from ...engine.batch.results import RESULT
from ...engine.cards import N_CARDS
from ...engine.dtypes import GAME, VIEW
from ...engine.endgame import Scratch, Tables, new_scratch, solve
from ...engine.endgame.game_values import endgame_tables
from ...engine.play import deal_numbered, legal, new_match, row
from ...engine.rng import random_fraction
from ...engine.view import write_view
from ..settings import Settings
from .base import Arrays, Trainer

Array = np.ndarray[Any, Any]

MOST_CELLS = 20_000_000
_FIT = "2x4-h2, 2x5-h3, 3x4-h4 and 2x5-h2 are small enough"


class CFRSettings(Settings, frozen=True, kw_only=True):
    """Counterfactual regret minimisation on sampled hands, in a table: for small decks."""

    fixed: ClassVar[tuple[str, ...]] = (
        *("trainer", "rules", "reward", "horizon", "layout", "seed", "init", "averaging"),
    )

    trainer: str = "cfr"
    rules: Annotated[Any, doc("Rule set with a small deck: name, YAML file, run or mapping.")] = (
        "2x4-h2"
    )
    averaging: Annotated[
        float,
        doc("Exponent of the iteration in its weight; 0: uniform, 1: linear averaging.",
             ge=0, le=2),
    ] = 2.0  # fmt: skip
    iteration: Annotated[
        PositiveInt, doc("Decisions in an iteration, after which metrics are logged.")
    ] = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = self.options.rules
        why = why_not(rules)
        if why is None and len(rules.deck) > MOST_CARDS:
            why = f"have a deck of {len(rules.deck)} cards, too many for a table"
        if why is not None:
            raise SettingsError(f"rules: cfr learns a table, and the rules {rules.name} {why}: "
                                f"{_FIT}")  # fmt: skip
        if self.options.horizon != "foreplay":
            raise SettingsError(
                f"horizon is {self.horizon!r}: cfr takes endings for what they are worth; leave it "
                "out"
            )
        if self.init:
            raise SettingsError(
                f"init is {self.init!r}: cfr learns a table, which begins with nothing; leave it "
                "out"
            )


# -- one hand


class Desk(NamedTuple):
    """What a walk reads and writes: a row of most arrays for each decision on its way."""

    plan: np.ndarray
    """One `PLAN` record: what is played and paid."""
    known: Tables
    scratch: Scratch
    paths: Paths
    regrets: np.ndarray
    sums: np.ndarray
    """The average strategy: how often each card was played, by the weights of the hands."""
    games: np.ndarray
    results: np.ndarray
    seen: np.ndarray
    cells: np.ndarray
    """By card: where it is kept in `regrets` and `sums`."""
    cards: np.ndarray
    counts: np.ndarray
    """How many cards may be played."""
    at: np.ndarray
    """Which of them is being played."""
    shares: np.ndarray
    worth: np.ndarray
    """What each of them turned out to pay the player who walks."""
    stream: np.ndarray


_MOST = 20
"""Cards of a hand, at most."""


@forceinline
def _look(desk: Any, depth: int) -> bool:
    """Find the cards of a decision and what is played; whether anything was known of it."""
    rules, game = row(desk.plan, 0).rules, row(desk.games, depth)
    view, cells = row(desk.seen, 0), desk.cells[depth]
    seat: Any = np.int64(game.turn)
    write_view(rules, game, seat, view)
    cells_of_view(desk.paths, view, cells)
    count, total, known = 0, 0.0, False
    left = legal(rules, game)
    while left:
        card = lowest(left)
        left &= left - ONE
        regret = np.float64(desk.regrets[cells[card]])
        known |= regret != 0
        desk.cards[depth, count] = card
        desk.shares[depth, count] = max(regret, 0.0)
        total += max(regret, 0.0)
        count += 1
    for k in range(count):
        desk.shares[depth, k] = desk.shares[depth, k] / total if total > 0 else 1.0 / count
    desk.counts[depth] = count
    desk.at[depth] = 0
    return known


@forceinline
def _play(desk: Any, depth: int) -> bool:
    """Play a card in a copy of the game; whether the hand is over, or what is left is known."""
    plan = row(desk.plan, 0)
    desk.games[depth + 1] = desk.games[depth]
    desk.results[depth + 1] = desk.results[depth]
    game, result = row(desk.games, depth + 1), row(desk.results, depth + 1)
    led_to = advance(plan, game, desk.cards[depth, desk.at[depth]], result)
    if led_to == ENDGAME_REACHED:
        leader, trump = np.int64(game.turn), int(game.trump)
        mine, theirs = game.hand[leader], game.hand[1 - leader]
        best = solve(desk.known, desk.scratch, mine, theirs, trump)
        score_endgame(plan, game, best, result)
    return led_to != NO_EVENT


@jit
def _walk(desk: Any, number: int, walker: int, weight: float, told: np.ndarray) -> int:
    """Play a hand, one player trying everything; returns the decisions that it came to.

    How many of them were known, and the entropy of all, is added to `told`.
    """
    plan, game, result = row(desk.plan, 0), row(desk.games, 0), row(desk.results, 0)
    new_match(game)
    deal_numbered(plan.rules, game, plan.seed, np.uint64(number), desk.stream)
    result.paid[0] = 0.0
    result.paid[1] = 0.0
    depth, decisions, new, worth = 0, 0, True, 0.0
    while depth >= 0:
        shares, cards, cells = desk.shares[depth], desk.cards[depth], desk.cells[depth]
        walks = np.int64(row(desk.games, depth).turn) == walker
        if new:
            decisions += 1
            told[0] += 1.0 if _look(desk, depth) else 0.0
            for k in range(desk.counts[depth]):
                if shares[k] > 0:
                    told[1] -= shares[k] * np.log(shares[k])
                if not walks:
                    desk.sums[cells[cards[k]]] += np.float32(weight * shares[k])
            if not walks:
                desk.at[depth] = sample(shares[: desk.counts[depth]], random_fraction(desk.stream))
        else:  # the card that was played has turned out to be worth this
            desk.worth[depth, desk.at[depth]] = worth
            if not walks:
                depth -= 1
                continue
            desk.at[depth] += 1
            if desk.at[depth] == desk.counts[depth]:
                worth = 0.0
                for k in range(desk.counts[depth]):
                    worth += shares[k] * desk.worth[depth, k]
                for k in range(desk.counts[depth]):
                    regret = weight * (desk.worth[depth, k] - worth)
                    desk.regrets[cells[cards[k]]] += np.float32(regret)
                depth -= 1
                continue
        new = not _play(desk, depth)
        if new:
            depth += 1
        else:
            worth = row(desk.results, depth + 1).paid[walker]
    return decisions


@jit
def _walk_many(
    desk: Any, first: int, least: int, weighing: float, told: np.ndarray
) -> tuple[int, int]:
    """Hands from the number `first` on, until there are so many decisions; both are counted.

    The players walk in turn.
    """
    decisions, hands = 0, 0
    while decisions < least:
        weight = np.float64(first + hands + 1) ** weighing
        decisions += _walk(desk, first + hands, (first + hands) & 1, weight, told)
        hands += 1
    return decisions, hands


# -- the training


class Kept(Struct, forbid_unknown_fields=True, frozen=True):
    """What a training under way knows beside its arrays."""

    decisions: Counted
    hands: Counted


class CFR(Trainer):
    """A training under way."""

    settings_kind = CFRSettings
    settings: CFRSettings

    def __init__(self, settings: CFRSettings) -> None:
        super().__init__(settings)
        options = settings.options
        tree = public_tree(options.rules)
        if tree.size > MOST_CELLS:
            raise SettingsError(
                f"rules: cfr would have to learn {tree.size:,} numbers for {options.rules.name}, "
                f"and {MOST_CELLS:,} are the most: {_FIT}"
            )
        plan = options.config_record()
        plan["seed"] = settings.seed
        (known,) = endgame_tables(options.rules)
        depth = 2 * options.rules.foreplay_tricks + 1
        self.desk = Desk(
            plan, known, new_scratch(), paths_of(tree),
            np.zeros(tree.size, np.float32), np.zeros(tree.size, np.float32),
            np.zeros(depth, GAME), np.zeros(depth, RESULT), np.zeros(1, VIEW),
            np.zeros((depth, N_CARDS), np.int64), np.zeros((depth, _MOST), np.int64),
            np.zeros(depth, np.int64), np.zeros(depth, np.int64),
            np.zeros((depth, _MOST)), np.zeros((depth, _MOST)), np.zeros(1, np.uint64),
        )  # fmt: skip
        warm_up("walks of cfr", "training", lambda: _walk_many(self.desk, 0, 0, 1.0, np.zeros(2)))

    def iterate(self) -> dict[str, float]:
        """Walk until there are so many decisions."""
        settings, told = self.settings, np.zeros(2)
        wanted = min(settings.iteration, settings.decisions - self.decisions)
        decisions, hands = _walk_many(self.desk, self.hands, wanted, settings.averaging, told)
        self.decisions += decisions
        self.hands += hands
        known, entropy = (told / max(decisions, 1)).tolist()
        return {"known": known, "entropy": entropy}

    def player(self) -> Arrays:
        """The average strategy."""
        most = max(np.float32(1), self.desk.sums.max())
        return {"cells": self.desk.sums / most}

    def network_card(self) -> NetworkCard:
        """What the card of a checkpoint says of it."""
        return NetworkCard(kind="table", inputs=(), hidden_sizes=(), cells=len(self.desk.sums))

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that the rest of the training depends on."""
        arrays = {"regrets": self.desk.regrets, "sums": self.desk.sums}
        return arrays, {"decisions": self.decisions, "hands": self.hands}

    def restore(self, arrays: Arrays, plain: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        told = convert(plain, Kept, "trainer")
        for name, mine in (("regrets", self.desk.regrets), ("sums", self.desk.sums)):
            if arrays[name].shape != mine.shape:
                raise ValueError(f"{name} has {len(arrays[name]):,} numbers, and not {len(mine):,}")
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} holds numbers that are not finite")
            mine[:] = arrays[name]
        self.decisions, self.hands = told.decisions, told.hands
