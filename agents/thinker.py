"""The champion, thinking: one card ahead, in imagined worlds, by what networks know.

`thinker:64` imagines 64 worlds, the other's hand drawn by what a network makes of its play so
far. In each it plays every card that the policy network does not rule out, lets that network
reply if a card was led, and asks a third one what the position before the next trick is worth,
both hands in view; all cards meet the same worlds. What is played is the card with the best
mean, to which a little is added for cards that the policy itself likes. A card that falls
clearly behind is dropped on the way.

Where one trick is left for the stock, few worlds are possible: all of them are tried, and what
follows is exact. So is what lies behind the last trick but one, as if the cards were open
then. The endgame is perfect.

`thinker:5ms` thinks for so long a move instead. After that come, by name, the tricks for the stock
that it thinks about, `thinker:64,last=4` (before those the policy network plays alone), how many
tricks more that network plays on before a position is judged, `thinker:64,ahead=1`, and the
networks that are to be used, `thinker:64,policy=PATH,worth=PATH,beliefs=PATH`; with
`beliefs=voids`, as in rules that no network of beliefs was made for, worlds heed nothing but
failures to follow suit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..engine.bits import NO_CARDS, ONE, bit, lowest, popcount, suit_set
from ..engine.cards import ACTIONS_IN_ALL, CARDS_IN_ALL
from ..engine.compiled import jit, pasted, warm_up
from ..engine.endgame import Scratch, Tables
from ..engine.endgame.layout import MOST_CARDS
from ..engine.endgame.solver import scratch_here
from ..engine.endings import has_exact_endings
from ..engine.play import Record, legal, play, row, stock_left
from ..engine.rules import Match, Rules
from ..engine.state import FOLLOW, GAME, LEAD
from ..engine.view import legal_in_view, write_position
from ..engine.worlds import PLAN, draw_hand, draw_world, plan_worlds, share_ways, shuffled
from .base import Array, CannotPlay, no_rng, no_views
from .beliefs import (
    MOST_HIDDEN,
    MOST_KNOWN,
    draw_planned,
    odds_of,
    plan_any_hands,
    read_beliefs,
    write_known,
)
from .checkpoint import checkpoint_for, read_checkpoint
from .endings import ending_worth
from .judges import judges
from .layers import NO_LAYERS, Layers, Rows, new_rows, pass_rows
from .network import NetworkAgent, PolicyNet, look, ones_of, policy_net
from .replies import PRIOR, Desk, ask, new_desk
from .searching import SearchAgent, to_search
from .shipped import BELIEFS, CHAMPION, WORTH, champion_for, network_for
from .worth import (
    MOST_PLACES,
    check_judged,
    paid_on_average,
    pays_of,
    read_worth,
    write_game_places,
)

VOIDS = "voids"
"""In the place of a network of beliefs: nothing is believed but what failures to follow show."""
ROUND = 16
"""Worlds between two looks at which cards have fallen behind."""
CLEARLY = 2.5
"""A card is dropped that lies so many standard errors behind the best."""
UNLIKELY = -36.0
"""A card is not tried whose logit lies so far below the best one's, but at the last trick."""
LIKELY = 0.02
"""Replies that are less likely are not looked at where every reply is weighed."""


class Minds(NamedTuple):
    """The networks that a search asks."""

    policy: PolicyNet
    replies: Layers
    worth: Layers
    beliefs: Layers
    guesses: bool
    """Whether worlds are drawn by the network of beliefs, or by failures to follow alone."""
    pays: np.ndarray
    """What each number of tricks in the ending pays, for the network of worth."""
    most: float
    """The most that a hand pays."""
    ahead: int
    """How many further tricks the policy plays out before a leaf is judged."""


class Thoughts(NamedTuple):
    """What one thread needs to search in."""

    scratch: Scratch
    plans: np.ndarray
    desk: Desk
    games: np.ndarray
    """The world at hand, and room to play on in."""
    leaves: np.ndarray
    """What each card has led to in each world of a round."""
    asked: np.ndarray
    """Which of them wait for an answer of a network."""
    legal: np.ndarray
    orders: np.ndarray
    shown: np.ndarray
    replies: Rows
    judged: Rows
    guessed: Rows
    odds: np.ndarray
    """Of each unseen card to be in the other's hand."""
    ways: np.ndarray
    """How the hands that can be drawn weigh."""
    totals: np.ndarray
    """What each action came to in all worlds."""
    products: np.ndarray
    """Sums of products of the values of two cards, by their place among the legal ones."""
    cards: np.ndarray
    priors: np.ndarray
    weights: np.ndarray
    state: np.ndarray
    """How many cards, worlds so far, which cards are in question, as a set, and `THOROUGH`."""


COUNT, WORLDS, ACTIVE, THOROUGH = 0, 1, 2, 3
"""What the state holds; the last place says what becomes of cards that do not look good."""
DROPS, KEEPS, TRIES_ALL = 0, 1, 2
"""They are dropped; they are kept, but for those that the policy rules out; all are tried."""


def new_thoughts(minds: Minds, thorough: int = DROPS) -> Thoughts:
    """Room to think in."""
    rows = ROUND * MOST_CARDS
    return Thoughts(
        scratch_here(),
        np.zeros(1, PLAN),
        new_desk(minds.policy),
        np.zeros(4, GAME),
        np.zeros(rows, GAME),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.uint64),
        np.zeros((rows, 4), np.uint8),
        np.zeros((rows, minds.policy.sizes[-1]), np.int64),
        new_rows(minds.replies, rows, len(minds.policy.inputs)),
        new_rows(minds.worth, rows, MOST_PLACES),
        new_rows(minds.beliefs, 1, MOST_KNOWN),
        np.zeros(CARDS_IN_ALL),
        np.zeros((ACTIONS_IN_ALL, MOST_HIDDEN + 1)),
        np.zeros(CARDS_IN_ALL),
        np.zeros((MOST_CARDS, MOST_CARDS)),
        np.zeros(MOST_CARDS, np.int64),
        np.zeros(MOST_CARDS),
        np.zeros(ROUND),
        np.array([0, 0, 0, thorough], np.int64),
    )


# -- worlds


@pasted
def _guess(rules: Record, view: Record, minds: Minds, room: Thoughts) -> None:
    """Weigh the hands that the other may hold."""
    plan = row(room.plans, 0)
    plan_worlds(rules, view, not minds.guesses, plan)
    if not minds.guesses:
        return
    desk = room.desk
    at = np.zeros(4, np.int64)
    room.guessed.counts[0] = write_known(rules, view, desk.order, at, room.guessed.places[0])
    pass_rows(minds.beliefs, room.guessed, 1)
    odds_of(view, at, room.guessed.out[0], room.odds)
    plan_any_hands(view.unseen, np.int64(plan.hidden), room.odds, room.ways)


@pasted
def _imagine(
    rules: Record, view: Record, minds: Minds, room: Thoughts, stream: np.ndarray, game: Record
) -> None:
    """Give the world at hand another hidden hand and another stock."""
    plan = row(room.plans, 0)
    if minds.guesses:
        held = draw_planned(view.unseen, np.int64(plan.hidden), room.odds, room.ways, stream)
    else:
        held = draw_hand(view, plan, stream)
    rest = np.zeros(CARDS_IN_ALL, np.uint8)
    count = shuffled(view.unseen & ~held, stream, rest)
    _lay_out(rules, view, held, rest, count, game)


@jit
def _lay_out(
    rules: Record, view: Record, held: np.uint64, rest: np.ndarray, count: int, game: Record
) -> None:
    game.hand[1 - np.int64(view.seat)] = view.known | held
    hidden = 2 * np.int64(rules.hand) + np.int64(rules.stock) - count
    for place in range(count):
        game.deal[hidden + place] = rest[place]


# -- replies


@jit
def _ask_in(rules: Record, minds: Minds, room: Thoughts, count: int, phase: int) -> int:
    """Ask the policy in the leaves of a phase that have a choice; returns how many were asked."""
    net, asked = minds.policy, 0
    view = row(room.desk.views, 0)
    for leaf in range(count):
        game = row(room.leaves, leaf)
        if game.phase != phase or not _goes_on(rules, game):
            continue
        cards = legal(rules, game)
        if cards & (cards - ONE) == NO_CARDS:
            continue
        write_position(rules, game, np.int64(game.turn), view)
        room.legal[asked] = look(
            rules, view, net.trumps_first, net.closed, room.orders[asked], room.shown[asked],
            room.desk.observation,
        )  # fmt: skip
        ones = ones_of(room.desk.observation, net.inputs, room.desk.places)
        room.replies.counts[asked] = ones
        for k in range(ones):
            room.replies.places[asked, k] = room.desk.places[k]
        room.asked[asked] = leaf
        asked += 1
    pass_rows(minds.replies, room.replies, asked)
    return asked


@jit
def _goes_on(rules: Record, game: Record) -> bool:
    """Whether imagined play goes on here: a trick is ended, but no last one for the stock begun."""
    return game.phase == FOLLOW or stock_left(rules, game) > 2


@jit
def _real(room: Thoughts, asked: int, place: int) -> int:
    card = room.shown[asked, place]
    return card + 13 * (np.int64(room.orders[asked, card // 13]) - card // 13)


@pasted
def _play_likeliest(rules: Record, minds: Minds, room: Thoughts, count: int, phase: int) -> None:
    """The policy's likeliest card in every leaf of a phase."""
    asked = _ask_in(rules, minds, room, count, phase)
    for index in range(asked):
        best = -1
        logits = room.replies.out[index]
        for place in range(len(logits)):
            fits = (room.legal[index] >> np.uint64(place)) & ONE
            if fits and (best < 0 or logits[place] > logits[best]):
                best = place
        play(rules, row(room.leaves, room.asked[index]), _real(room, index, best))
    if phase != FOLLOW:
        return
    for leaf in range(count):
        game = row(room.leaves, leaf)
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))


@jit
def play_out(rules: Record, minds: Minds, room: Thoughts, count: int) -> None:
    """The policy's reply to a card that was led, and what it plays in the tricks after."""
    for ply in range(1 + 2 * minds.ahead):
        _play_likeliest(rules, minds, room, count, LEAD if ply % 2 else FOLLOW)


# -- what leaves are worth


@jit
def _ending(rules: Record, known: Tables, scratch: Scratch, game: Record, seat: int) -> float:
    worth = 1.0 * ending_worth(rules, known, scratch, game)
    return worth if game.leader == seat else -worth


@jit
def open_last_trick(
    rules: Record, known: Tables, scratch: Scratch, games: np.ndarray, trials: np.ndarray,
    most: float,
) -> float:  # fmt: skip
    """What the leader of `games[0]` is paid when the last trick for the stock is played open.

    `trials` is room for two games, `most` the most that a hand pays.
    """
    game = row(games, 0)
    seat = np.int64(game.leader)
    best = -2 * most
    leads = game.hand[seat]
    while leads and best < most:
        card = lowest(leads)
        leads &= leads - ONE
        trials[0] = games[0]
        led = row(trials, 0)
        play(rules, led, card)
        replies = legal(rules, led)
        worst = 2 * most
        while replies and worst > best:
            reply = lowest(replies)
            replies &= replies - ONE
            trials[1] = trials[0]
            after = row(trials, 1)
            play(rules, after, reply)
            worst = min(worst, _ending(rules, known, scratch, after, seat))
        best = max(best, worst)
    return best


@pasted
def _judge(
    rules: Record, known: Tables, minds: Minds, room: Thoughts, seat: int, count: int,
    worths: np.ndarray,
) -> None:  # fmt: skip
    """What `seat` is paid for each leaf, which all stand before a trick."""
    asked = 0
    for leaf in range(count):
        game = row(room.leaves, leaf)
        left = stock_left(rules, game)
        sign = 1.0 if game.leader == seat else -1.0
        if left == 0:
            worths[leaf] = _ending(rules, known, room.scratch, game, seat)
        elif left == 2:
            worths[leaf] = sign * open_last_trick(
                rules, known, room.scratch, room.leaves[leaf : leaf + 1], room.games[2:4],
                minds.most,
            )  # fmt: skip
        else:
            room.judged.counts[asked] = write_game_places(rules, game, room.judged.places[asked])
            room.asked[asked] = leaf
            asked += 1
    pass_rows(minds.worth, room.judged, asked)
    for index in range(asked):
        leaf = room.asked[index]
        worth = paid_on_average(room.judged.out[index], minds.pays)
        worths[leaf] = worth if room.leaves[leaf].leader == seat else -worth  # pyright: ignore[reportAttributeAccessIssue]


# -- a decision


@pasted
def _begin(rules: Record, view: Record, minds: Minds, room: Thoughts, stream: np.ndarray) -> None:
    """The cards in question, what the policy thinks of them, and a first world."""
    ask(rules, view, minds.policy, room.desk)
    cards = legal_in_view(rules, view)
    room.totals[:] = 0
    room.products[:] = 0
    room.state[COUNT] = 0
    room.state[WORLDS] = 0
    room.state[ACTIVE] = 0
    top, total = np.float32(-np.inf), 0.0
    for each in room.desk.logits:
        top = max(top, each)
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        at = room.state[COUNT]
        room.cards[at] = card
        room.priors[at] = np.float64(room.desk.logits[card] - top)
        if room.state[THOROUGH] == TRIES_ALL or view.stock_left == 2 or room.priors[at] > UNLIKELY:
            room.state[ACTIVE] |= 1 << at
        total += np.exp(room.priors[at])
        room.state[COUNT] = at + 1
    for at in range(room.state[COUNT]):
        room.priors[at] -= np.log(total)
    _guess(rules, view, minds, room)
    draw_world(rules, view, row(room.plans, 0), stream, row(room.games, 0))


@pasted
def _play_cards(rules: Record, room: Thoughts, first: int) -> int:
    """Play each card in question in the world at hand, in leaves `first` and on."""
    leaf = first
    for at in range(room.state[COUNT]):
        if (room.state[ACTIVE] >> at) & 1:
            room.leaves[leaf] = room.games[0]
            play(rules, row(room.leaves, leaf), room.cards[at])
            leaf += 1
    return leaf


@pasted
def _round(
    rules: Record, known: Tables, view: Record, minds: Minds, room: Thoughts, worlds: int,
    stream: np.ndarray,
) -> None:  # fmt: skip
    """Try the cards in question in some more worlds."""
    seat = np.int64(view.seat)
    leaves = 0
    for _ in range(worlds):
        _imagine(rules, view, minds, room, stream, row(room.games, 0))
        leaves = _play_cards(rules, room, leaves)
    play_out(rules, minds, room, leaves)
    worths = np.empty(leaves)
    _judge(rules, known, minds, room, seat, leaves, worths)
    each = leaves // worlds
    for world in range(worlds):
        _note(room, worths[world * each : (world + 1) * each], 1.0)
    room.state[WORLDS] += worlds


@pasted
def _note(room: Thoughts, worths: np.ndarray, weight: float) -> None:
    """Enter what the cards in question came to in one world."""
    k = 0
    for at in range(room.state[COUNT]):
        if (room.state[ACTIVE] >> at) & 1:
            room.totals[room.cards[at]] += weight * worths[k]
            j = 0
            for other in range(at + 1):
                if (room.state[ACTIVE] >> other) & 1:
                    room.products[at, other] += worths[k] * worths[j]
                    j += 1
            k += 1


@jit
def _best(room: Thoughts) -> int:
    """The place of the best card in question."""
    best, most = -1, 0.0
    for at in range(room.state[COUNT]):
        if (room.state[ACTIVE] >> at) & 1:
            score = _score(room, at)
            if best < 0 or score > most:
                best, most = at, score
    return best


@jit
def _score(room: Thoughts, at: int) -> float:
    return room.totals[room.cards[at]] / max(1, room.state[WORLDS]) + PRIOR * room.priors[at]


@pasted
def _drop(room: Thoughts) -> None:
    """Forget the cards that have clearly fallen behind."""
    best, worlds = _best(room), room.state[WORLDS]
    for at in range(room.state[COUNT]):
        if at == best or not (room.state[ACTIVE] >> at) & 1:
            continue
        apart = (room.totals[room.cards[best]] - room.totals[room.cards[at]]) / worlds
        square = room.products[at, at] + room.products[best, best]
        square -= 2 * room.products[max(at, best), min(at, best)]
        spread = np.sqrt(max(square / worlds - apart * apart, 0.0) / worlds)
        if _score(room, best) - _score(room, at) > CLEARLY * spread + 0.01:
            room.state[ACTIVE] &= ~(1 << at)


@pasted
def _every_world(
    rules: Record, known: Tables, view: Record, minds: Minds, room: Thoughts, counted: int
) -> None:  # fmt: skip
    """Before the last trick for the stock: every card that may lie there, every reply.

    What comes out counts as so many worlds.
    """
    seat = np.int64(view.seat)
    worlds, leaves, total = 0, 0, 0.0
    left = view.unseen
    rest = np.zeros(1, np.uint8)
    while left:
        card = lowest(left)
        left &= left - ONE
        weight = _weight(rules, view, minds, room, view.unseen & ~bit(card))
        if weight == 0.0:
            continue
        rest[0] = card
        _lay_out(rules, view, view.unseen & ~bit(card), rest, 1, row(room.games, 0))
        leaves = _play_cards(rules, room, leaves)
        room.weights[worlds] = weight
        total += weight
        worlds += 1
    if worlds == 0:
        return
    worths = np.empty(leaves)
    _weigh_replies(rules, known, minds, room, seat, leaves, worths)
    each = leaves // worlds
    for world in range(worlds):
        share = room.weights[world] / total
        _note(room, worths[world * each : (world + 1) * each], counted * share)
    room.state[WORLDS] += counted


@pasted
def _weight(
    rules: Record, view: Record, minds: Minds, room: Thoughts, held: np.uint64
) -> float:  # fmt: skip
    """How likely this hidden hand is, against others."""
    weight = 1.0
    if minds.guesses:
        while held:
            weight *= room.odds[lowest(held)]
            held &= held - ONE
        return weight
    plan = row(room.plans, 0)
    if plan.weighted == 0:
        return weight
    share = np.zeros(4, np.uint8)
    for suit in range(4):
        share[suit] = popcount(held & suit_set(suit))
    return share_ways(plan, np.uint64(rules.hand + 1), share)


@pasted
def _weigh_replies(
    rules: Record, known: Tables, minds: Minds, room: Thoughts, seat: int, leaves: int,
    worths: np.ndarray,
) -> None:  # fmt: skip
    """What `seat` is paid on average over the policy's replies, in leaves of the last trick."""
    asked = _ask_in(rules, minds, room, leaves, FOLLOW)
    waiting = 0
    for leaf in range(leaves):
        game = row(room.leaves, leaf)
        if waiting < asked and room.asked[waiting] == leaf:
            worths[leaf] = _over_replies(rules, known, room, waiting, leaf, seat)
            waiting += 1
            continue
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))
        worths[leaf] = _ending(rules, known, room.scratch, game, seat)


@pasted
def _over_replies(
    rules: Record, known: Tables, room: Thoughts, index: int, leaf: int, seat: int
) -> float:
    logits = room.replies.out[index]
    top = np.float32(-np.inf)
    for place in range(len(logits)):
        if (room.legal[index] >> np.uint64(place)) & ONE:
            top = max(top, logits[place])
    total, sum_ = 0.0, 0.0
    for place in range(len(logits)):
        if (room.legal[index] >> np.uint64(place)) & ONE:
            share = np.exp(np.float64(logits[place] - top))
            if share < LIKELY:
                continue
            room.games[1] = room.leaves[leaf]
            after = row(room.games, 1)
            play(rules, after, _real(room, index, place))
            total += share
            sum_ += share * _ending(rules, known, room.scratch, after, seat)
    return sum_ / total


@jit
def thinker_actions(
    rules: np.ndarray, known: Tables, views: np.ndarray, rng: np.ndarray, worlds: int,
    go_on: bool, minds: Minds, room: Thoughts, actions: np.ndarray,
) -> None:  # fmt: skip
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    first = row(rules, 0)
    for index in range(len(views)):
        view = row(views, index)
        if to_search(first, known, view, index, actions) == NO_CARDS:
            continue
        stream = rng[index : index + 1]
        if not go_on:
            _begin(first, view, minds, room, stream)
        if view.stock_left == 2:
            _every_world(first, known, view, minds, room, worlds)
        else:
            _search(first, known, view, minds, room, worlds, stream)
        actions[index] = room.cards[_best(room)]


@pasted
def _search(
    rules: Record, known: Tables, view: Record, minds: Minds, room: Thoughts, worlds: int,
    stream: np.ndarray,
) -> None:  # fmt: skip
    """Try the cards in question in so many worlds, or until one is left."""
    while worlds > 0:
        if room.state[WORLDS] and room.state[THOROUGH] == DROPS:
            _drop(room)
        if _is_clear(room):
            break
        _round(rules, known, view, minds, room, min(ROUND, worlds), stream)
        worlds -= ROUND


@jit
def _is_clear(room: Thoughts) -> bool:
    return room.state[ACTIVE] & (room.state[ACTIVE] - 1) == 0


def minds_of(
    rules: Rules, policy: Path, worth: Path | None, beliefs: str | Path, ahead: int
) -> Minds:  # fmt: skip
    """Networks by their paths, refused where they were not made for these rules."""
    net = policy_net(checkpoint_for(read_checkpoint(policy), rules))
    guesses = str(beliefs) != VOIDS
    return Minds(
        net,
        Layers(net.sizes, net.weights),
        NO_LAYERS if worth is None else read_worth(worth, rules),
        read_beliefs(beliefs, rules) if guesses else NO_LAYERS,
        guesses,
        pays_of(rules),
        float(rules.most_pay),
        ahead,
    )


def check_playable(rules: Rules) -> None:
    """Refuse games whose last tricks for the stock it could not think about."""
    faced = rules.faced == "every" or (rules.faced == "after-first" and rules.foreplay_tricks > 1)
    if rules.choice or not faced or not has_exact_endings(rules):
        raise CannotPlay(
            f"the thinker does not play {rules.name}: it knows games in which the winner of a "
            "trick takes the upcard, and whose ending is open, short and no race"
        )


def is_late(views: Array, tricks: int) -> Array:
    """Which views are of the last tricks for the stock, so many of them."""
    left = views["stock_left"]
    return (left > 0) & (left <= 2 * tricks)


def shared_out(
    some: Array, acts: Callable[..., Array], others: Callable[..., Array], views: Array, rng: Array
) -> Array:
    """Actions by one player for some of the views, and by another for the rest."""
    if not some.any():
        return others(views, rng)
    if some.all():
        return acts(views, rng)
    actions = np.empty(len(views), np.int64)
    actions[some] = acts(views[some], rng[some])
    actions[~some] = others(views[~some], rng[~some])
    return actions


def _tricks(name: str, text: str, least: int, rules: Rules, about: str) -> int:
    """How many of the tricks for the stock."""
    most = rules.stock_cards // 2
    if text == "all":
        return most
    if text.isdecimal() and least <= int(text) <= most:
        return int(text)
    raise ValueError(
        f"{name} is {text!r}: it is how many of the tricks for the stock {about}, from {least} to "
        f"{most} in {rules.name}"
    )


class ThinkerAgent(SearchAgent):
    """The policy network, networks of worth and of beliefs, and imagined worlds."""

    kind = "thinker"
    usual_worlds = "voids"
    chunk = ROUND

    def __init__(
        self,
        rules: Any = "classic",
        samples: object = 64,
        *words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is worlds or a time a move; `words` are `last=K`, `ahead=K` and networks."""
        super().__init__(rules, samples, "voids", match)
        check_playable(self.rules)
        told = self._told(
            words,
            {"policy": CHAMPION, "worth": str(WORTH), "beliefs": "", "last": "all", "ahead": "0"},
            "last=TRICKS and ahead=TRICKS, and networks by name, as in policy=PATH, worth=PATH, "
            f"beliefs=PATH, and beliefs={VOIDS}",
        )
        self._last = _tricks(
            "last", told["last"], 1, self.rules, "are thought about, the last ones"
        )
        ahead = _tricks(
            "ahead", told["ahead"], 0, self.rules, "are played on in imagination, the next ones"
        )
        policy = network_for(self.rules, told["policy"])
        # With two tricks left for the stock all leaves are exact.
        worth = Path(told["worth"]) if self._last > 2 else None
        usual = str(BELIEFS) if judges(BELIEFS, self.rules) else VOIDS
        self.minds = minds_of(self.rules, policy, worth, told["beliefs"] or usual, ahead)
        everything = 2 * self._last >= self.rules.stock_cards
        self._before = None if everything else NetworkAgent(self.rules, policy)
        warm_up("thinker", "agents", lambda: SearchAgent.act(self, no_views(), no_rng()))

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules with the package's networks: nothing is compiled for it."""
        try:
            check_playable(rules)
            check_judged(rules)
            champion_for(rules)
        except CannotPlay:
            return False
        return judges(WORTH, rules) and judges(BELIEFS, rules)

    def act(self, views: Array, rng: Array) -> Array:
        """The best card found for each view."""
        if self._before is None:
            return super().act(views, rng)
        late = is_late(views, self._last)
        return shared_out(late, super().act, self._before.act, views, rng)

    def advise(self, views: Array, rng: Array) -> tuple[Array, Array]:
        """The best card found for each view, and what each came to where it thinks."""
        if self._before is None:
            return super().advise(views, rng)
        late = is_late(views, self._last)
        actions = np.empty(len(views), np.int64)
        worths = np.full((len(views), MOST_CARDS), np.nan, np.float32)
        actions[late], worths[late] = super().advise(views[late], rng[late])
        actions[~late] = self._before.act(views[~late], rng[~late])
        return actions, worths

    def _room(self) -> Thoughts:
        return new_thoughts(self.minds)

    def _thorough_room(self) -> Thoughts:
        return new_thoughts(self.minds, TRIES_ALL)

    def _advising_room(self) -> Thoughts:
        return new_thoughts(self.minds, KEEPS)

    def _tried(self, room: Thoughts) -> int:
        return int(room.state[ACTIVE])

    def _settled(self, room: Thoughts) -> bool:
        """All is known at the last trick for the stock, and where one card is left."""
        active = int(room.state[ACTIVE])
        last = room.games["drawn"][0] + 2 == self.rules.stock_cards
        return bool(last or active & (active - 1) == 0)

    def _search(
        self, known: Tables, views: Array, streams: Array, samples: int, go_on: bool,
        room: Thoughts, actions: Array,
    ) -> None:  # fmt: skip
        thinker_actions(
            self.record, known, views, streams, samples, go_on, self.minds, room, actions
        )
