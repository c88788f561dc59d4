"""The answer to one fixed player: a search that knows how the other decides.

`responder:256,against=threshold` plays against `threshold`, and against nobody else. What the
other has played so far tells what it holds: hidden hands are drawn in proportion to how likely
the fixed player would have played as it did with each of them. Worlds of that kind can not be
drawn at once, so a chain of them is followed (Metropolis and Hastings): two cards whose places
are hidden change them, and the change stays by what it makes of the likelihood of all that the
other played.

In each world every card is tried. The other then plays by its own policy, from what it would
see, and the player itself by a policy of its own (`by`). In the games that a network of worth
judges it says after the trick, or after so many (`ahead`), what the position pays; with
`worth=none`, as elsewhere, the stock is played out. What is played is the card with the best
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
from ...common.jit.compiler import called, jit, pasted, warm_up
from ...engine.cards import ACTIONS_IN_ALL, CARDS_IN_ALL
from ...engine.dtypes import GAME, LEAD, MOST_TRICKS, NO_CARD, UNSEEN_CARD, VIEW
from ...engine.endgame import Scratch, Tables
from ...engine.endgame.game_values import why_not_exact
from ...engine.endgame.solver import scratch_here
from ...engine.play import Record, play, row, set_up
from ...engine.rng import below, fraction
from ...engine.rules import Match, Rules
from ...engine.sampling.determinizations import PLAN, draw_world, plan_worlds
from ...engine.view import View, legal_in_view, write_position
from ..base import Array, CannotPlay, ViewBatch
from ..checkpoints.bundled import WORTH
from ..checkpoints.checkpoint import find_checkpoint, model_file
from ..networks.auxiliary import judges
from ..networks.mlp import NO_LAYERS, Layers, Rows, new_rows, pass_rows
from ..networks.policy import Desk, new_desk
from ..networks.value import MOST_PLACES, paid_on_average, pays_of, read_worth, write_game_places
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


class Minds(NamedTuple):
    """Who plays in imagined worlds, and what they are worth."""

    other: Model
    own: Model
    worth: Layers
    judges: bool
    """Whether the network of worth is asked, or worlds are played out."""
    ahead: int
    """After how many tricks it is asked."""
    pays: np.ndarray
    """What each number of tricks in the ending pays, for that network."""
    first_steps: int
    steps: int


class Room(NamedTuple):
    """What one thread needs to search in."""

    scratch: Scratch
    plans: np.ndarray
    games: np.ndarray
    """The world at hand, and a trial in it."""
    look: np.ndarray
    desk: Desk
    own_desk: Desk
    judged: Rows
    views: np.ndarray
    """What the other saw at each of its decisions, but for its hand."""
    cards: np.ndarray
    """What it played there."""
    tricks: np.ndarray
    """In which trick."""
    sets: np.ndarray
    """At each decision: its hidden cards and those unseen by it, what it is known to have held,
    what it had played, and the hidden cards that had come to it by then, played ones included."""
    logs: np.ndarray
    """How likely it played so, as logarithms; and room for those of a change."""
    places: np.ndarray
    """Where each hidden card lies in the deal, when it came to the other, and which it is."""
    totals: np.ndarray
    state: np.ndarray
    """Decisions of the past, hidden cards, worlds so far."""


WHOLE, KNOWN, GONE, HELD = range(4)
PLACE, COMES, CARD = range(3)
PAST, HIDDEN, WORLDS = range(3)


def new_room(minds: Minds) -> Room:
    """Room to search in."""
    return Room(
        scratch_here(), np.zeros(1, PLAN), np.zeros(2, GAME), np.zeros(1, VIEW),
        new_desk(minds.other.net), new_desk(minds.own.net), new_rows(minds.worth, 1, MOST_PLACES),
        np.zeros(MOST_TRICKS, VIEW), np.zeros(MOST_TRICKS, np.int64),
        np.zeros(MOST_TRICKS, np.int64), np.zeros((4, MOST_TRICKS), np.uint64),
        np.zeros((2, MOST_TRICKS)), np.zeros((3, CARDS_IN_ALL), np.int64),
        np.zeros(ACTIONS_IN_ALL), np.zeros(3, np.int64),
    )  # fmt: skip


# -- what the other knew and did


@jit
def _note(rules: Record, view: Record, room: Room, game: Record, card: int) -> None:
    """Keep what the other sees in a game, if it is its turn, and what it plays there."""
    other = 1 - np.int64(view.seat)
    if game.turn != other:
        return
    at = room.state[PAST]
    seen = row(room.views, at)
    write_position(rules, game, other, seen)
    room.cards[at] = card
    room.tricks[at] = game.trick
    room.sets[WHOLE, at] = seen.hand | seen.unseen
    room.sets[GONE, at] = seen.played[0]
    room.sets[KNOWN, at] = game.known[other]
    room.state[PAST] = at + 1


@called
def _read_past(rules: Record, view: Record, room: Room) -> None:
    """Go over the hand so far, in the world at hand; its hidden cards matter nowhere here."""
    seat = np.int64(view.seat)
    room.games[1] = room.games[0]
    game = row(room.games, 1)
    # A game of the same deal, from its beginning.
    for index in range(len(game.led_cards)):
        game.led_cards[index] = 0
        game.followed_cards[index] = 0
    set_up(rules, game, seat if view.i_deal == 1 else 1 - seat)
    room.state[PAST] = 0
    for trick in range(len(view.led_cards)):
        for card in (np.int64(view.led_cards[trick]), np.int64(view.followed_cards[trick])):
            if card != NO_CARD:
                _note(rules, view, room, game, card)
                play(rules, game, card)


@called
def _read_places(rules: Record, view: Record, room: Room) -> None:
    """Where in the deal hidden cards lie, and when they came to the other."""
    hand, stock = np.int64(rules.hand), np.int64(rules.stock)
    count = 0
    for place in range(hand):
        room.places[PLACE, count] = 2 * place + (0 if view.i_deal == 1 else 1)
        room.places[COMES, count] = 0
        count += 1
    for trick in range(stock // 2):
        if view.other_draws[trick] == UNSEEN_CARD:
            room.places[PLACE, count] = 2 * hand + 2 * trick + 1
            room.places[COMES, count] = trick + 1
            count += 1
    for place in range(stock - np.int64(view.stock_left) + 1, stock):
        room.places[PLACE, count] = 2 * hand + place
        room.places[COMES, count] = NEVER
        count += 1
    room.state[HIDDEN] = count


@jit
def _log_chance(
    rules: Record, room: Room, minds: Minds, at: int, held: np.uint64
) -> float:  # fmt: skip
    """How likely the other played as it did at a decision, if so many hidden cards had come."""
    hand = (held & ~room.sets[GONE, at]) | room.sets[KNOWN, at]
    card = room.cards[at]
    if not (hand >> np.uint64(card)) & ONE:
        return -np.inf
    view = row(room.views, at)
    view.hand = hand
    view.unseen = room.sets[WHOLE, at] & ~hand
    chance = chance_of(rules, view, minds.other, room.desk, card)
    return np.log(chance) if chance > 0.0 else -np.inf


# -- worlds


@pasted
def _begin_chain(rules: Record, view: Record, minds: Minds, room: Room, stream: np.ndarray) -> None:
    """Draw any world that is in keeping with what was seen."""
    game = row(room.games, 0)
    draw_world(rules, view, row(room.plans, 0), stream, game)
    for index in range(room.state[HIDDEN]):
        room.places[CARD, index] = game.deal[room.places[PLACE, index]]
    for at in range(room.state[PAST]):
        held = NO_CARDS
        for index in range(room.state[HIDDEN]):
            if room.places[COMES, index] <= room.tricks[at]:
                held |= bit(room.places[CARD, index])
        room.sets[HELD, at] = held
        room.logs[0, at] = _log_chance(rules, room, minds, at, held)


@called
def _change(rules: Record, minds: Minds, room: Room, stream: np.ndarray) -> None:
    """Let two hidden cards change places, or not."""
    hidden = room.state[HIDDEN]
    one, two = below(stream, hidden), below(stream, hidden)
    if room.places[COMES, one] > room.places[COMES, two]:
        one, two = two, one
    first, last = room.places[COMES, one], room.places[COMES, two]
    if first == last:
        return
    moved = bit(room.places[CARD, one]) | bit(room.places[CARD, two])
    before = 0.0
    for at in range(room.state[PAST]):
        if first <= room.tricks[at] < last:
            before += room.logs[0, at]
    least = before + np.log(max(fraction(stream), 1e-300))
    for at in range(room.state[PAST]):
        if first <= room.tricks[at] < last:
            room.logs[1, at] = _log_chance(rules, room, minds, at, room.sets[HELD, at] ^ moved)
            least -= room.logs[1, at]
            # No chance is more than one, so what is left can not make up for it.
            if not least <= 0.0:
                return
    for at in range(room.state[PAST]):
        if first <= room.tricks[at] < last:
            room.sets[HELD, at] ^= moved
            room.logs[0, at] = room.logs[1, at]
    card = room.places[CARD, one]
    room.places[CARD, one] = room.places[CARD, two]
    room.places[CARD, two] = card


@jit
def _lay_out(view: Record, room: Room, stream: np.ndarray) -> None:
    """Make the world at hand that of the chain, the stock in any order."""
    game, other = row(room.games, 0), 1 - np.int64(view.seat)
    held = NO_CARDS
    hidden = room.state[HIDDEN]
    for index in range(hidden):
        if room.places[COMES, index] != NEVER:
            held |= bit(room.places[CARD, index])
            continue
        with_ = index + below(stream, hidden - index)
        card = room.places[CARD, with_]
        room.places[CARD, with_] = room.places[CARD, index]
        room.places[CARD, index] = card
        game.deal[room.places[PLACE, index]] = card
    game.hand[other] = (held & ~view.played[1]) | view.known


# -- what a card comes to


@called
def _come_to(
    rules: Record, known: Tables, minds: Minds, room: Room, seat: int, trick: int,
    stream: np.ndarray,
) -> float:  # fmt: skip
    """What `seat` is paid in the trial, which goes on by both policies from a trick on."""
    game, look = row(room.games, 1), row(room.look, 0)
    while True:
        if game.phase == LEAD:
            sign = 1.0 if game.leader == seat else -1.0
            left = np.int64(rules.stock) - np.int64(game.drawn)
            if left == 0:
                return sign * ending_worth(rules, known, room.scratch, game)
            if minds.judges and left > 2 and np.int64(game.trick) - trick >= minds.ahead:
                room.judged.counts[0] = write_game_places(rules, game, room.judged.places[0])
                pass_rows(minds.worth, room.judged, 1)
                return sign * paid_on_average(room.judged.out[0], minds.pays)
        turn = np.int64(game.turn)
        write_position(rules, game, turn, look)
        if turn == seat:
            play(rules, game, played(rules, look, minds.own, room.own_desk, stream))
        else:
            play(rules, game, played(rules, look, minds.other, room.desk, stream))


@called
def _begin(rules: Record, view: Record, room: Room, stream: np.ndarray) -> None:
    """What is known of the hand so far, and a first world."""
    room.totals[:] = 0
    room.state[WORLDS] = 0
    plan_worlds(rules, view, True, row(room.plans, 0))
    draw_world(rules, view, row(room.plans, 0), stream, row(room.games, 0))
    _read_past(rules, view, room)
    _read_places(rules, view, room)


@called
def _next_world(
    rules: Record, view: Record, minds: Minds, room: Room, stream: np.ndarray
) -> None:  # fmt: skip
    """Give the world at hand other hidden cards."""
    knows, steps = room.state[PAST] > 0, minds.steps
    if room.state[WORLDS] % CHAIN == 0 or not knows:
        _begin_chain(rules, view, minds, room, stream)
        steps = minds.first_steps
    for _ in range(steps if knows else 0):
        _change(rules, minds, room, stream)
    _lay_out(view, room, stream)
    room.state[WORLDS] += 1


@jit
def _try_worlds(
    rules: Record, known: Tables, view: Record, minds: Minds, room: Room, worlds: int,
    stream: np.ndarray,
) -> None:  # fmt: skip
    """Try every card in some more worlds."""
    seat = np.int64(view.seat)
    for _ in range(worlds):
        _next_world(rules, view, minds, room, stream)
        cards = legal_in_view(rules, view)
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            room.games[1] = room.games[0]
            play(rules, row(room.games, 1), card)
            room.totals[card] += _come_to(
                rules, known, minds, room, seat, np.int64(view.trick), stream
            )


@jit
def _score(minds: Minds, room: Room, card: int) -> float:
    """What a card came to on average; to one that its own network likes a little is added."""
    score = room.totals[card] / room.state[WORLDS]
    if minds.own.kind >= LIKELIEST:
        score += PRIOR * room.own_desk.logits[card]
    return score


@jit
def responder_actions(
    rules: np.ndarray, known: Tables, views: np.ndarray, rng: np.ndarray, worlds: int,
    go_on: bool, minds: Minds, room: Room, actions: np.ndarray,
) -> None:  # fmt: skip
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    first = row(rules, 0)
    for index in range(len(views)):
        view = row(views, index)
        cards = to_search(first, known, view, index, actions)
        if cards == NO_CARDS:
            continue
        stream = rng[index : index + 1]
        if not go_on:
            _begin(first, view, room, stream)
        _try_worlds(first, known, view, minds, room, worlds, stream)
        # Of equals the card that it would play by its own policy, which says what it likes.
        best = played(first, view, minds.own, room.own_desk, stream)
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            if _score(minds, room, card) > _score(minds, room, best) + 1e-9:
                best = card
        actions[index] = best


# -- the player


def check_answered(rules: Rules) -> None:
    """Refuse games whose hidden cards could not be followed."""
    followed = rules.faced == "every" and not rules.choice and not rules.exchange
    if not followed or why_not_exact(rules):
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
            {"against": "", "by": "", "worth": "", "ahead": "1"},
            "against=PLAYER, whom it answers, by=PLAYER, how it plays on itself, worth=PATH or "
            "worth=none, and ahead=TRICKS, after how many that is asked",
        )
        if not told["against"]:
            raise ValueError("a responder answers one player: name it, as in against=threshold")
        other = model_of(told["against"], self.rules)
        network = other.kind >= LIKELIEST
        worth = told["worth"]
        if not worth:
            worth = str(WORTH) if judges(WORTH, self.rules) else "none"
        fewer = NETWORK_STEPS if network else 1
        by = told["by"] or ("champion" if worth != "none" else "counting")
        models = [weights_of_model(each, self.rules) for each in (told["against"], by)]
        networks = [*filter(None, models), *([worth] if worth != "none" else [])]
        files = (model_file(find_checkpoint(each)) for each in networks)
        self.checkpoints = tuple(dict.fromkeys(files))
        self.minds = Minds(
            other,
            model_of(by, self.rules),
            NO_LAYERS if worth == "none" else read_worth(Path(worth), self.rules),
            worth != "none",
            tricks_option("ahead", told["ahead"], 1, self.rules, "are played out before that"),
            pays_of(self.rules),
            FIRST_STEPS // fewer,
            STEPS // fewer,
        )
        warm_up("responder", "agents", self._compile)

    def _room(self) -> Room:
        return new_room(self.minds)

    def _search(
        self, tables: Tables, batch: ViewBatch, samples: int, go_on: bool, room: Room
    ) -> None:
        responder_actions(
            self.record, tables, batch.views, batch.rng, samples, go_on, self.minds, room,
            batch.actions,
        )  # fmt: skip


@jit
def _imagine(
    rules: np.ndarray, view: np.ndarray, minds: Minds, room: Room, stream: np.ndarray,
    games: np.ndarray,
) -> None:  # fmt: skip
    first, seen = row(rules, 0), row(view, 0)
    _begin(first, seen, room, stream)
    for index in range(len(games)):
        _next_world(first, seen, minds, room, stream)
        games[index] = room.games[0]


def imagine(agent: ResponderAgent, view: View, count: int, seed: int = 0) -> Array:
    """Worlds as an agent imagines them for a view, as `GAME` records."""
    games, stream = np.zeros(count, GAME), np.array([seed], np.uint64)
    views = np.array(view.record, VIEW)
    _imagine(agent.record, views, agent.minds, new_room(agent.minds), stream, games)
    return games
