"""Best response to one fixed player: a search that knows how the opponent decides.

`responder:256,against=threshold` plays against `threshold`, and against nobody else. What the
other has played so far tells what it holds: hidden hands are drawn in proportion to how likely
the fixed player would have played as it did with each of them. Worlds of that kind cannot be
drawn at once, so a chain of them is followed (Metropolis and Hastings): two cards whose places
are hidden change them, and the change stays by what it makes of the likelihood of all that the
other played.

In each world every card is tried. The other then plays by its own policy, from what it would
see, and the player itself by a policy of its own (`by`). In the games that a value network
judges it says after the trick, or after so many (`ahead`), what the position pays; with
`value=none`, as elsewhere, the stock is played out. What is played is the card with the best
mean, to which a little is added for cards that a network which plays for it likes. Whom it can
answer, and what each is taken for, stands in `models`.

It is there to find out how much a player can be beaten by (docs/exploitability.md); what it wins
is a lower bound of that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest
from ...common.jit.compiler import forceinline, inline_ir, jit, noinline, warm_up
from ...engine.cards import N_ACTIONS, N_CARDS
from ...engine.dtypes import GAME, LEAD, MAX_TRICKS, NO_CARD, UNSEEN_CARD, VIEW
from ...engine.endgame import Scratch, Tables
from ...engine.endgame.game_values import inexact_reason
from ...engine.endgame.solver import thread_scratch
from ...engine.play import Record, play, row, set_up
from ...engine.rng import random_below, random_fraction
from ...engine.rules import Match, Rules
from ...engine.sampling.determinizations import (
    SAMPLING_PLAN,
    draw_determinization,
    plan_determinizations,
)
from ...engine.view import View, legal_in_view, write_position
from ..base import Array, CannotPlay, ViewBatch
from ..checkpoints.bundled import VALUE_WEIGHTS
from ..checkpoints.checkpoint import find_checkpoint, model_file
from ..networks.auxiliary import covers
from ..networks.mlp import NO_LAYERS, Layers, Rows, new_rows, pass_rows
from ..networks.policy import Desk, new_desk
from ..networks.value import (
    MOST_PLACES,
    paid_on_average,
    pays_of,
    read_value_network,
    write_game_places,
)
from .base import PRIOR, SearchAgent, to_search, tricks_option
from .leaf_values import ending_worth
from .opponent_models import LIKELIEST, Model, chance_of, model_of, played, weights_of_model

CHAIN = 16
"""Worlds of one chain; then another begins."""
FIRST_STEPS, STEPS = 400, 60
"""Changes that are tried before the first world of a chain, and before each other one."""
NETWORK_STEPS = 8
"""So many times fewer where a network has to be asked of each."""
NEVER = 99
"""When a card comes into the other's hand that is still in the stock."""


class ResponderModels(NamedTuple):
    """Who plays in sampled worlds, and what evaluates them."""

    other: Model
    own: Model
    value: Layers
    uses_value: bool
    """Whether the value network evaluates a world, or it is played out."""
    ahead: int
    """After how many tricks it does."""
    pays: np.ndarray
    """What each number of tricks in the ending pays, for that network."""
    first_steps: int
    steps: int


PAST = np.dtype(
    [
        ("card", np.int64),  # what the opponent played
        ("trick", np.int64),
        ("whole", np.uint64),  # its hidden cards then, and those unseen by it
        ("known", np.uint64),  # cards that it was known to hold
        ("gone", np.uint64),  # cards that it had played
        ("held", np.uint64),  # hidden cards that had come to it by then, played ones included
        ("log_prob", np.float64),  # of its card
        ("new_log_prob", np.float64),  # the same after a change that is not accepted yet
    ]
)
"""A past decision of the opponent, in the world of the chain."""

HIDDEN = np.dtype(
    [
        ("place", np.int64),  # where it lies in the deal
        ("comes", np.int64),  # before which trick it came to the opponent, or NEVER
        ("card", np.int64),
    ]
)
"""A card whose place is hidden, in the world of the chain."""

PROGRESS = np.dtype([("past", np.int64), ("hidden", np.int64), ("worlds", np.int64)])
"""How many past decisions and hidden cards there are, and worlds so far."""


class ResponderSearch(NamedTuple):
    """A search in games of one contract: rules, exact endings, models, and a thread's buffers."""

    rules: np.ndarray
    tables: Tables
    models: ResponderModels
    scratch: Scratch
    plans: np.ndarray
    games: np.ndarray
    """The world at hand, and a trial in it."""
    look: np.ndarray
    """Buffer of one view."""
    desk: Desk
    own_desk: Desk
    values: Rows
    """Of the value network."""
    views: np.ndarray
    """What the opponent saw at each of its decisions, but for its hand."""
    past: np.ndarray
    hidden: np.ndarray
    totals: np.ndarray
    progress: np.ndarray


def new_search(rules: np.ndarray, tables: Tables, models: ResponderModels) -> ResponderSearch:
    """A search by these models, with buffers of its own."""
    return ResponderSearch(
        rules, tables, models,
        thread_scratch(), np.zeros(1, SAMPLING_PLAN), np.zeros(2, GAME), np.zeros(1, VIEW),
        new_desk(models.other.net), new_desk(models.own.net),
        new_rows(models.value, 1, MOST_PLACES), np.zeros(MAX_TRICKS, VIEW),
        np.zeros(MAX_TRICKS, PAST), np.zeros(N_CARDS, HIDDEN),
        np.zeros(N_ACTIONS), np.zeros(1, PROGRESS),
    )  # fmt: skip


# -- what the opponent knew and did


@jit
def _note(search: ResponderSearch, view: Record, game: Record, card: int) -> None:
    """Keep what the opponent sees in a game, if it is its turn, and what it plays there."""
    other = 1 - np.int64(view.seat)
    if game.turn != other:
        return
    progress = row(search.progress, 0)
    seen, decision = row(search.views, progress.past), row(search.past, progress.past)
    write_position(row(search.rules, 0), game, other, seen)
    decision.card = card
    decision.trick = game.trick
    decision.whole = seen.hand | seen.unseen
    decision.gone = seen.played[0]
    decision.known = game.known_cards[other]
    progress.past += 1


@noinline
def _read_past(search: ResponderSearch, view: Record) -> None:
    """Go over the hand so far, in the world at hand; its hidden cards matter nowhere here."""
    rules, seat = row(search.rules, 0), np.int64(view.seat)
    search.games[1] = search.games[0]
    game = row(search.games, 1)
    # A game of the same deal, from its beginning.
    for index in range(len(game.led_cards)):
        game.led_cards[index] = 0
        game.followed_cards[index] = 0
    set_up(rules, game, seat if view.i_deal == 1 else 1 - seat)
    row(search.progress, 0).past = 0
    for trick in range(len(view.led_cards)):
        for card in (np.int64(view.led_cards[trick]), np.int64(view.followed_cards[trick])):
            if card != NO_CARD:
                _note(search, view, game, card)
                play(rules, game, card)


@noinline
def _read_hidden(search: ResponderSearch, view: Record) -> None:
    """Where in the deal hidden cards lie, and when they came to the opponent."""
    rules = row(search.rules, 0)
    hand, stock = np.int64(rules.hand), np.int64(rules.stock)
    count = 0
    for place in range(hand):
        hidden = row(search.hidden, count)
        hidden.place = 2 * place + (0 if view.i_deal == 1 else 1)
        hidden.comes = 0
        count += 1
    for trick in range(stock // 2):
        if view.opponent_draws[trick] == UNSEEN_CARD:
            hidden = row(search.hidden, count)
            hidden.place = 2 * hand + 2 * trick + 1
            hidden.comes = trick + 1
            count += 1
    for place in range(stock - np.int64(view.stock_left) + 1, stock):
        hidden = row(search.hidden, count)
        hidden.place = 2 * hand + place
        hidden.comes = NEVER
        count += 1
    row(search.progress, 0).hidden = count


@forceinline
def _log_prob(search: ResponderSearch, at: int, held: np.uint64) -> float:
    """How likely the opponent played as it did at a decision, if these hidden cards had come."""
    decision = row(search.past, at)
    hand = (held & ~decision.gone) | decision.known
    card = decision.card
    if not (hand >> np.uint64(card)) & ONE:
        return -np.inf
    view = row(search.views, at)
    view.hand = hand
    view.unseen = decision.whole & ~hand
    chance = chance_of(row(search.rules, 0), view, search.models.other, search.desk, card)
    return np.log(chance) if chance > 0.0 else -np.inf


# -- worlds


@inline_ir
def _begin_chain(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    """Draw any world that is in keeping with what was seen."""
    game, progress = row(search.games, 0), row(search.progress, 0)
    draw_determinization(row(search.rules, 0), view, row(search.plans, 0), stream, game)
    for index in range(progress.hidden):
        hidden = row(search.hidden, index)
        hidden.card = game.deal[hidden.place]
    for at in range(progress.past):
        decision = row(search.past, at)
        held = NO_CARDS
        for index in range(progress.hidden):
            hidden = row(search.hidden, index)
            if hidden.comes <= decision.trick:
                held |= bit(hidden.card)
        decision.held = held
        decision.log_prob = _log_prob(search, at, held)


@noinline
def _walk_chain(search: ResponderSearch, steps: int, stream: np.ndarray) -> None:
    """So many steps of the chain, in one call: every call hands over all arrays of the search."""
    for _ in range(steps):
        _step(search, stream)


@forceinline
def _step(search: ResponderSearch, stream: np.ndarray) -> None:
    """A step of the chain: propose that two hidden cards change places, accept it or not.

    Metropolis and Hastings: proposals are symmetric, so a change is accepted with the ratio of
    the likelihoods of all that the opponent played. Only decisions between the times at which the
    two cards came to it see a difference.
    """
    progress = row(search.progress, 0)
    one = row(search.hidden, random_below(stream, progress.hidden))
    two = row(search.hidden, random_below(stream, progress.hidden))
    if one.comes > two.comes:
        one, two = two, one
    first, last = one.comes, two.comes
    if first == last:
        return
    moved = bit(one.card) | bit(two.card)
    before = 0.0
    for at in range(progress.past):
        decision = row(search.past, at)
        if first <= decision.trick < last:
            before += decision.log_prob
    least = before + np.log(max(random_fraction(stream), 1e-300))
    for at in range(progress.past):
        decision = row(search.past, at)
        if first <= decision.trick < last:
            decision.new_log_prob = _log_prob(search, at, decision.held ^ moved)
            least -= decision.new_log_prob
            # No probability is more than one, so what is left cannot make up for it.
            if not least <= 0.0:
                return
    for at in range(progress.past):
        decision = row(search.past, at)
        if first <= decision.trick < last:
            decision.held ^= moved
            decision.log_prob = decision.new_log_prob
    card = one.card
    one.card = two.card
    two.card = card


@jit
def _place_cards(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    """Make the world at hand that of the chain, the stock in any order."""
    game, other = row(search.games, 0), 1 - np.int64(view.seat)
    held = NO_CARDS
    count = row(search.progress, 0).hidden
    for index in range(count):
        hidden = row(search.hidden, index)
        if hidden.comes != NEVER:
            held |= bit(hidden.card)
            continue
        swapped = row(search.hidden, index + random_below(stream, count - index))
        card = swapped.card
        swapped.card = hidden.card
        hidden.card = card
        game.deal[hidden.place] = card
    game.hand[other] = (held & ~view.played[1]) | view.opponent_known


# -- what a card comes to


@noinline
def _come_to(search: ResponderSearch, seat: int, trick: int, stream: np.ndarray) -> float:
    """What `seat` is paid in the trial, which goes on by both policies from a trick on."""
    rules, models = row(search.rules, 0), search.models
    game, look = row(search.games, 1), row(search.look, 0)
    while True:
        if game.phase == LEAD:
            sign = 1.0 if game.leader == seat else -1.0
            left = np.int64(rules.stock) - np.int64(game.drawn)
            if left == 0:
                return sign * ending_worth(rules, search.tables, search.scratch, game)
            if models.uses_value and left > 2 and np.int64(game.trick) - trick >= models.ahead:
                rows = search.values
                rows.counts[0] = write_game_places(rules, game, rows.places[0])
                pass_rows(models.value, rows, 1)
                return sign * paid_on_average(rows.out[0], models.pays)
        turn = np.int64(game.turn)
        write_position(rules, game, turn, look)
        if turn == seat:
            play(rules, game, played(rules, look, models.own, search.own_desk, stream))
        else:
            play(rules, game, played(rules, look, models.other, search.desk, stream))


@noinline
def _begin(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    """What is known of the hand so far, and a first world."""
    rules, plan = row(search.rules, 0), row(search.plans, 0)
    search.totals[:] = 0
    row(search.progress, 0).worlds = 0
    plan_determinizations(rules, view, True, plan)
    draw_determinization(rules, view, plan, stream, row(search.games, 0))
    _read_past(search, view)
    _read_hidden(search, view)


@noinline
def _next_world(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    """Give the world at hand other hidden cards."""
    progress = row(search.progress, 0)
    knows, steps = progress.past > 0, search.models.steps
    if progress.worlds % CHAIN == 0 or not knows:
        _begin_chain(search, view, stream)
        steps = search.models.first_steps
    if knows:
        _walk_chain(search, steps, stream)
    _place_cards(search, view, stream)
    progress.worlds += 1


@jit
def _try_worlds(search: ResponderSearch, view: Record, worlds: int, stream: np.ndarray) -> None:
    """Try every card in some more worlds."""
    rules, seat = row(search.rules, 0), np.int64(view.seat)
    for _ in range(worlds):
        _next_world(search, view, stream)
        cards = legal_in_view(rules, view)
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            search.games[1] = search.games[0]
            play(rules, row(search.games, 1), card)
            search.totals[card] += _come_to(search, seat, np.int64(view.trick), stream)


@jit
def _score(search: ResponderSearch, card: int) -> float:
    """What a card came to on average; to one that its own network likes a little is added."""
    score = search.totals[card] / row(search.progress, 0).worlds
    if search.models.own.kind >= LIKELIEST:
        score += PRIOR * search.own_desk.logits[card]
    return score


@jit
def _responder_actions(search: ResponderSearch, batch: ViewBatch, worlds: int, go_on: bool) -> None:
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    rules = row(search.rules, 0)
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        cards = to_search(rules, search.tables, view, index, batch.actions)
        if cards == NO_CARDS:
            continue
        stream = batch.rng[index : index + 1]
        if not go_on:
            _begin(search, view, stream)
        _try_worlds(search, view, worlds, stream)
        # Of equals the card that it would play by its own policy, which says what it likes.
        best = played(rules, view, search.models.own, search.own_desk, stream)
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            if _score(search, card) > _score(search, best) + 1e-9:
                best = card
        batch.actions[index] = best


# -- the player


def check_answered(rules: Rules) -> None:
    """Refuse games whose hidden cards could not be followed."""
    followed = rules.faced == "every" and not rules.choice and not rules.exchange
    if not followed or inexact_reason(rules):
        raise CannotPlay(
            f"the responder does not play {rules.name}: it knows games in which one upcard is "
            "turned for each trick and the winner takes it, and whose ending is open, short and "
            "no race"
        )


class ResponderAgent(SearchAgent):
    """A search that answers one fixed player, whose way of deciding it knows."""

    kind = "responder"
    chunk = CHAIN

    def __init__(
        self,
        rules: Any = "classic",
        samples: object = 64,
        *words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is a number of worlds or a time a move; `words` name players and a network."""
        super().__init__(rules, samples, match)
        check_answered(self.rules)
        told = self._told(
            words,
            {"against": "", "by": "", "value": "", "ahead": "1"},
            "against=PLAYER, whom it answers, by=PLAYER, how it plays on itself, value=PATH or "
            "value=none, and ahead=TRICKS, after how many that is asked",
        )
        if not told["against"]:
            raise ValueError("a responder answers one player: name it, as in against=threshold")
        other = model_of(told["against"], self.rules)
        network = other.kind >= LIKELIEST
        worth = told["value"]
        if not worth:
            worth = str(VALUE_WEIGHTS) if covers(VALUE_WEIGHTS, self.rules) else "none"
        fewer = NETWORK_STEPS if network else 1
        by = told["by"] or ("champion" if worth != "none" else "counting")
        weights = [weights_of_model(each, self.rules) for each in (told["against"], by)]
        networks = [*filter(None, weights), *([worth] if worth != "none" else [])]
        files = (model_file(find_checkpoint(each)) for each in networks)
        self.checkpoints = tuple(dict.fromkeys(files))
        self.models = ResponderModels(
            other,
            model_of(by, self.rules),
            NO_LAYERS if worth == "none" else read_value_network(Path(worth), self.rules),
            worth != "none",
            tricks_option("ahead", told["ahead"], 1, self.rules, "are played out before that"),
            pays_of(self.rules),
            FIRST_STEPS // fewer,
            STEPS // fewer,
        )
        warm_up("responder", "agents", self._compile)

    def _room(self) -> ResponderSearch:
        return new_search(self.record, self._known[0], self.models)

    def _search(
        self, tables: Tables, batch: ViewBatch, samples: int, go_on: bool, room: ResponderSearch
    ) -> None:
        _responder_actions(room._replace(tables=tables), batch, samples, go_on)

    def sampled_worlds(self, view: View, count: int, seed: int = 0) -> Array:
        """Worlds as the search samples them for a view, as `GAME` records."""
        games, stream = np.zeros(count, GAME), np.array([seed], np.uint64)
        _sample_worlds(self._room(), np.array(view.record, VIEW), stream, games)
        return games


@jit
def _sample_worlds(
    search: ResponderSearch, views: np.ndarray, stream: np.ndarray, games: np.ndarray
) -> None:
    view = row(views, 0)
    _begin(search, view, stream)
    for index in range(len(games)):
        _next_world(search, view, stream)
        games[index] = search.games[0]
