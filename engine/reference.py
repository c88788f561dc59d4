"""The rules of German Whist as plain Python: the executable specification.

Read from top to bottom: the rule sets, a trick, what a player observes, a hand, a match. Nothing
here is fast, and no other module of the package imports it. The tests play the compiled engine
against it, action by action and view by view.

Cards are numbers, `13 * suit + rank`: clubs, diamonds, hearts and spades are the suits 0 to 3; two
to ace the ranks 0 to 12. A short deck uses a part of the same numbers. To play a card is the action
of its number; 52, 53 and 54 are the other actions.

    >>> from random import Random
    >>> random = Random(1)
    >>> deal = random.sample(RULE_SETS["classic"].deck, 52)
    >>> game = ReferenceGame(RULE_SETS["classic"], deal, dealer=0)
    >>> while game.phase != "over":
    ...     game.play(random.choice(game.legal()))
    >>> sum(game.counting), sum(game.payoffs())
    (13, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

TAKE_HIDDEN = 52  # the winner of a trick, who may choose, takes the stock card that lies face down
KEEP_HAND = 53  # before an exchange: play the hand that was dealt
TAKE_BLIND = 54  # before an exchange: lay the hand away unseen, and take a blind one
RED_SUITS = (1, 2)  # diamonds and hearts

Event = tuple[Any, ...]
"""What a player observes, by its name and details; `Observer` lists the events."""


# -- the rule sets


@dataclass(frozen=True)
class ReferenceRules:
    """A game of the family; the defaults are those of `classic`."""

    name: str
    suits: int = 4
    ranks: int = 13
    """The highest ranks of each suit are in the deck."""
    hand: int = 13
    """Cards that a player holds."""
    stock: int = 26
    """Cards to draw; what is left then is set aside unseen."""
    trumps: Literal["upcard", "none"] = "upcard"
    """The suit of the first stock card is trumps, or there are none."""
    contract: Literal["high", "low", "colour"] = "high"
    """More tricks win, or fewer; `colour`: more after a red first upcard, fewer after a black."""
    counts: Literal["last", "all"] = "last"
    """The tricks played once the stock is gone count, or all."""
    pay: Literal["win", "margin", "over_book"] = "win"
    """The winner gets 1, the difference of the tricks, or the tricks above `book`."""
    book: int | None = None
    """None: half of the counting tricks, rounded down."""
    slam_pay: int | None = None
    """With `over_book`: pay for all counting tricks."""
    face_up: int = 1
    """Stock cards that lie face up at a time: 1 or 2."""
    faced: Literal["every", "after-first", "never"] = "every"
    """When stock cards lie face up: at every trick, from the second on, or never."""
    choice: bool = False
    """The winner of a trick chooses one of the two stock cards, and the loser takes the other."""
    race: int | None = None
    """Counting tricks that win and end the hand."""
    exchange: bool = False
    """Four hands are dealt, and each player may take a blind one before the first lead."""

    @property
    def counting_tricks(self) -> int:
        """Number of tricks of a full hand that count."""
        return self.hand + (self.stock // 2 if self.counts == "all" else 0)

    @property
    def deck(self) -> list[int]:
        return [
            13 * suit + rank for suit in range(self.suits) for rank in range(13 - self.ranks, 13)
        ]


RULE_SETS = {
    rules.name: rules
    for rules in (
        # The last 13 tricks count.
        ReferenceRules("classic"),
        ReferenceRules("margin", pay="margin"),
        ReferenceRules("club-last", pay="over_book", book=6, slam_pay=10),
        # All 26 tricks count.
        ReferenceRules("all-tricks", counts="all"),
        ReferenceRules("all-margin", counts="all", pay="margin"),
        ReferenceRules("club-all", counts="all", pay="over_book", book=13),
        ReferenceRules("race-7", counts="all", race=7),
        ReferenceRules("race-9", counts="all", race=9),
        # Short decks.
        ReferenceRules(
            "small-last", ranks=7, hand=7, stock=14, pay="over_book", book=3, slam_pay=5
        ),
        ReferenceRules(
            "small-all", ranks=7, hand=7, stock=14, counts="all", pay="over_book", book=6
        ),
        ReferenceRules("quick", ranks=8, hand=10, stock=12),
        # Other contracts, upcards and draws.
        ReferenceRules("colour", contract="colour", pay="over_book", book=6),
        ReferenceRules("no-trump", trumps="none", faced="after-first"),
        ReferenceRules("open-stock", face_up=2, choice=True),
        ReferenceRules("draft", choice=True),
        # No stock: the Swedish relative.
        ReferenceRules("humbug", stock=0, pay="over_book", book=6, exchange=True),
    )
}


# -- a trick


def suit_of(card: int) -> int:
    return card // 13


def legal_cards(hand: Sequence[int], led: int | None) -> list[int]:
    """Cards that may be played, sorted: any to a lead, else the suit led if there is one."""
    if led is not None:
        same_suit = [card for card in hand if suit_of(card) == suit_of(led)]
        if same_suit:
            return sorted(same_suit)
    return sorted(hand)


def lead_wins(lead: int, follow: int, trump: int | None) -> bool:
    """Whether the card led wins: by rank in the same suit, else unless the other is a trump."""
    if suit_of(lead) == suit_of(follow):
        return lead > follow
    return suit_of(follow) != trump


# -- what a player observes


class Observer:
    """What one player knows: the events observed so far, and what follows from them.

    An observer hears events only, so nothing that it knows can depend on a card that its player has
    not seen. The events:

    - `("deal", dealer, own cards)`
    - `("upcards", cards)`: stock cards were turned face up, the upper one first
    - `("turned", card)`: the dealer's last card, turned up before an exchange
    - `("kept", seat)` or `("exchanged", seat)`: whether a player took a blind hand
    - `("blind", cards)`: the blind hand that this player took
    - `("now", phase, seat)`: who has to do what; `("now", "over", None)` at the end
    - `("lead", seat, card)` and `("follow", seat, card)`
    - `("won", seat)`: who took the trick
    - `("chose", seat, action)`
    - `("draw", seat, "faced" | "hidden", card)`: None for a card that this player has not seen; the
      winner draws first
    """

    def __init__(self, rules: ReferenceRules, seat: int) -> None:
        self.rules = rules
        self.seat = seat
        self.events: list[Event] = []
        self.dealer = 0
        self.hand: list[int] = []
        self.trump: int | None = None
        self.low = rules.contract == "low"
        self.phase = "lead"
        self.turn: int | None = None
        self.upcards: list[int] = []
        self.stock_left = rules.stock
        self.tricks: list[dict[str, Any]] = []
        self.counting = [0, 0]
        self.opponent_known: set[int] = set()
        self.opponent_hand_size = rules.hand
        self.opponent_void: dict[int, int] = {}
        self.unseen = set(rules.deck)
        self.turned: int | None = None
        self.exchanged: list[bool | None] = [None, None]
        self.laid_away: set[int] = set()

    def observe(self, event: Event) -> None:
        self.events.append(event)
        match event:
            case "deal", dealer, cards:
                self.dealer = dealer
                self._take_hand(cards)
            case "upcards", cards:
                if not self.tricks:
                    self._name_trumps(suit_of(cards[0]))
                self.upcards = list(cards)
                self.unseen.difference_update(cards)
            case "now", phase, turn:
                self.phase, self.turn = phase, turn
            case "lead", seat, card:
                draws = ("own_draw", "opponent_draw", "own_took", "opponent_took")
                trick = {"leader": seat, "lead": card, "follow": None} | dict.fromkeys(draws)
                self.tricks.append(trick)
                self._note_played(seat, card)
            case "follow", seat, card:
                self.tricks[-1]["follow"] = card
                led = suit_of(self.tricks[-1]["lead"])
                if seat != self.seat and suit_of(card) != led:
                    self.opponent_void[led] = 0
                self._note_played(seat, card)
            case "won", seat:
                # The two cards played for are still in the stock.
                if self.rules.counts == "all" or self.stock_left == 0:
                    self.counting[seat] += 1
            case "draw", seat, how, card:
                self._note_draw(seat, how, card)
            case _:
                # "chose" tells no more than the two draws that come after it.
                self._note_exchange(event)

    def _take_hand(self, cards: Sequence[int]) -> None:
        self.hand = list(cards)
        self.unseen.difference_update(cards)

    def _name_trumps(self, suit: int) -> None:
        if self.rules.trumps == "upcard":
            self.trump = suit
        if self.rules.contract == "colour":
            self.low = suit not in RED_SUITS

    def _note_played(self, seat: int, card: int) -> None:
        if seat == self.seat:
            self.hand.remove(card)
        else:
            self.opponent_known.discard(card)
            self.unseen.discard(card)
            self.opponent_hand_size -= 1

    def _note_draw(self, seat: int, how: str, card: Any) -> None:
        who = "own" if seat == self.seat else "opponent"
        self.tricks[-1] |= {f"{who}_draw": card, f"{who}_took": how}
        self.stock_left -= 1
        if how == "faced":
            self.upcards.remove(card)
        if seat == self.seat:
            self.hand.append(card)
            self.unseen.discard(card)
            return
        self.opponent_hand_size += 1
        if card is not None:
            self.opponent_known.add(card)
            return
        # A card drawn unseen may be of a suit that the opponent had none of.
        for suit in self.opponent_void:
            self.opponent_void[suit] += 1

    def _note_exchange(self, event: Event) -> None:
        match event:
            case "turned", card:
                self.turned = card
                self._name_trumps(suit_of(card))
                if self.dealer != self.seat:
                    self.opponent_known.add(card)
                self.unseen.discard(card)
            case "kept", seat:
                self.exchanged[seat] = False
            case "exchanged", seat:
                self.exchanged[seat] = True
                if seat == self.dealer and self.turned is not None:
                    # Both know that the turned card went away with the dealer's hand.
                    self.opponent_known.discard(self.turned)
                    self.laid_away.add(self.turned)
            case "blind", cards:
                self.laid_away.update(self.hand)
                self._take_hand(cards)

    def view(self) -> dict[str, Any]:
        """Everything that this player may know.

        - `phase`, `turn`: who has to do what; `turn` is None when the hand is over.
        - `upcards`: stock cards that lie face up now, the upper one first.
        - `led`: the card that waits for an answer, or None.
        - `trick_number`: number of tricks that are complete. In stage one a trick is complete when
          both have drawn, in stage two when it is taken; so it is the place in `tricks` of the
          trick that is played now. Nobody draws for the trick that ends a race.
        - `stock_left`: cards left in the stock, those that lie face up included.
        - `leader`: who leads the trick that is played now; None when the hand is over.
        - `tricks`: the tricks, with None for what has not happened or was not seen; `own_took` and
          `opponent_took` are "faced" or "hidden".
        - `counting`: own and opponent's counting tricks.
        - `opponent_known`: cards that the opponent took openly and still holds.
        - `unseen`: cards never seen: the opponent's others, the stock face down, cards set aside.
        - `opponent_void`: for each suit that the opponent failed to follow, the number of cards
          that it has drawn unseen since, the draw of that trick included.
        - `turned`: the dealer's card that was turned up before an exchange, or None.
        - `exchanged`: own and opponent's exchange: True, False, or None for not yet.
        - `laid_away`: cards known to be out of play since the exchange.
        - `events`: all that was observed, in order.
        """
        own, opponent = self.seat, 1 - self.seat
        trick_open = self.phase in ("follow", "choose")
        leader = self.tricks[-1]["leader"] if trick_open else self.turn
        if self.phase == "exchange":
            leader = 1 - self.dealer
        return {
            "seat": own,
            "dealer": self.dealer,
            "hand": sorted(self.hand),
            "trump": self.trump,
            "low": self.low,
            "phase": self.phase,
            "turn": self.turn,
            "upcards": list(self.upcards),
            "led": self.tricks[-1]["lead"] if self.phase == "follow" else None,
            "trick_number": len(self.tricks) - 1 if trick_open else len(self.tricks),
            "stock_left": self.stock_left,
            "leader": leader,
            "tricks": [dict(trick) for trick in self.tricks],
            "counting": (self.counting[own], self.counting[opponent]),
            "opponent_known": sorted(self.opponent_known),
            "unseen": sorted(self.unseen),
            "opponent_hand_size": self.opponent_hand_size,
            "opponent_void": dict(self.opponent_void),
            "turned": self.turned,
            "exchanged": (self.exchanged[own], self.exchanged[opponent]),
            "laid_away": sorted(self.laid_away),
            "events": list(self.events),
        }


# -- a hand


class ReferenceGame:
    """One hand, from the deal to its payoffs.

    `deal` is the deck in the order in which it is dealt: one card at a time, the non-dealer's
    first, then the stock from its top, then the cards set aside. With an exchange four hands are
    dealt: the first blind one, the non-dealer's, the second blind one, the dealer's.
    """

    def __init__(self, rules: ReferenceRules, deal: Sequence[int], dealer: int) -> None:
        if sorted(deal) != rules.deck:
            raise ValueError(
                f"deal is no permutation of the deck of {rules.name}: give each of its "
                f"{len(rules.deck)} cards once"
            )
        self.rules = rules
        self.dealer = dealer
        self.hands: list[list[int]] = [[], []]
        self.blind: list[list[int]] = [[], []]
        """Blind hands, by the seat that may take them; later the hands laid away."""
        self.stock: list[int] = []
        """Stock from its top, with the cards that lie face up."""
        self.aside: list[int] = []
        self.upcards: list[int] = []
        self.counting = [0, 0]
        """Counting tricks of either seat."""
        self.led: int | None = None
        self.phase = "lead"
        """`exchange`, `lead`, `follow`, `choose` or `over`."""
        self.turn: int | None = None
        self.observers = (Observer(rules, 0), Observer(rules, 1))
        self._deal(deal)
        self._name_trumps()
        for seat in (0, 1):
            self._report_to(seat, ("deal", dealer, tuple(sorted(self.hands[seat]))))
        self._face_upcards()
        if self.turned is not None:
            self._report(("turned", self.turned))
        self._set_phase("exchange" if rules.exchange else "lead", 1 - dealer)

    def legal(self) -> list[int]:
        """Cards to play or take, then other actions; empty when the hand is over."""
        if self.turn is None:
            return []
        if self.phase == "exchange":
            return [KEEP_HAND, TAKE_BLIND]
        if self.phase == "choose":
            hidden = [TAKE_HIDDEN] if len(self.upcards) == 1 else []
            return sorted(self.upcards) + hidden
        return legal_cards(self.hands[self.turn], self.led)

    def play(self, action: int) -> None:
        """Do what the player to move has chosen."""
        if self.turn is None or action not in self.legal():
            raise ValueError(f"action {action} is not legal: {self.phase} allows {self.legal()}")
        if self.phase == "exchange":
            self._exchange(self.turn, action)
        elif self.phase == "choose":
            self._choose(self.turn, action)
        elif self.led is None:
            self._lead(self.turn, action)
        else:
            self._follow(self.turn, self.led, action)

    def view(self, seat: int) -> dict[str, Any]:
        """Everything that a player may know; `Observer.view` lists it."""
        return self.observers[seat].view()

    def payoffs(self) -> list[int]:
        """What each seat gets for the hand: the winner's pay, and its negative."""
        most = max(self.counting)
        raced = self.rules.race is None or most >= self.rules.race
        if self.counting[0] == self.counting[1] or not raced:
            return [0, 0]
        pay = self._pay(most, min(self.counting))
        more = self.counting.index(most)
        # A low contract pays the same to the player with fewer tricks.
        winner = 1 - more if self.low else more
        return [pay, -pay] if winner == 0 else [-pay, pay]

    def _pay(self, most: int, fewest: int) -> int:
        rules = self.rules
        if rules.pay == "win":
            return 1
        if rules.pay == "margin":
            return most - fewest
        if rules.slam_pay is not None and most == rules.counting_tricks:
            return rules.slam_pay
        book = rules.counting_tricks // 2 if rules.book is None else rules.book
        return max(0, most - book)

    def _deal(self, deal: Sequence[int]) -> None:
        """One card at a time, the non-dealer's first; then the stock; the rest is set aside."""
        places = [self.hands[1 - self.dealer], self.hands[self.dealer]]
        if self.rules.exchange:
            places = [self.blind[1 - self.dealer], places[0], self.blind[self.dealer], places[1]]
        dealt = len(places) * self.rules.hand
        for place, card in enumerate(deal[:dealt]):
            places[place % len(places)].append(card)
        self.stock = list(deal[dealt : dealt + self.rules.stock])
        self.aside = list(deal[dealt + self.rules.stock :])

    def _name_trumps(self) -> None:
        """The first stock card makes trumps; with an exchange, the dealer's last card does."""
        rules = self.rules
        first = self.hands[self.dealer][-1:] if rules.exchange else self.stock[:1]
        self.turned = first[0] if rules.exchange and rules.faced == "every" else None
        self.trump = suit_of(first[0]) if rules.trumps == "upcard" else None
        self.low = rules.contract == "low"
        if rules.contract == "colour":
            self.low = suit_of(first[0]) not in RED_SUITS

    def _face_upcards(self) -> None:
        """Turn the top of the stock face up, where the rules say so."""
        late = self.rules.faced == "after-first" and len(self.stock) == self.rules.stock
        face_down = self.rules.faced == "never" or late
        self.upcards = [] if face_down else self.stock[: self.rules.face_up]
        if self.upcards:
            self._report(("upcards", tuple(self.upcards)))

    def _exchange(self, seat: int, action: int) -> None:
        """The non-dealer first: keep the hand, or lay it away for the blind one."""
        if action == TAKE_BLIND:
            self.hands[seat], self.blind[seat] = self.blind[seat], self.hands[seat]
            self._report(("exchanged", seat))
            self._report_to(seat, ("blind", tuple(sorted(self.hands[seat]))))
        else:
            self._report(("kept", seat))
        if seat == self.dealer:
            self._set_phase("lead", 1 - seat)
        else:
            self._set_phase("exchange", self.dealer)

    def _lead(self, seat: int, card: int) -> None:
        self.hands[seat].remove(card)
        self.led = card
        self._report(("lead", seat, card))
        self._set_phase("follow", 1 - seat)

    def _follow(self, seat: int, lead: int, card: int) -> None:
        """The trick is complete: count it if it counts, then draw if there is a stock."""
        self.hands[seat].remove(card)
        self._report(("follow", seat, card))
        winner = 1 - seat if lead_wins(lead, card, self.trump) else seat
        self.led = None
        if self.rules.counts == "all" or not self.stock:
            self.counting[winner] += 1
        self._report(("won", winner))
        if self.rules.race is not None and self.counting[winner] >= self.rules.race:
            self._set_phase("over", None)
        elif not self.stock:
            self._next_trick(winner)
        elif self.rules.choice and self.upcards:
            self._set_phase("choose", winner)
        else:
            self._draw(winner, self.stock[0])

    def _choose(self, winner: int, action: int) -> None:
        self._report(("chose", winner, action))
        self._draw(winner, self.stock[1] if action == TAKE_HIDDEN else action)

    def _draw(self, winner: int, winners_card: int) -> None:
        """The winner takes that one of the top two cards, the loser the other."""
        first, second = self.stock[:2]
        losers_card = second if winners_card == first else first
        self.stock = self.stock[2:]
        for seat, card in ((winner, winners_card), (1 - winner, losers_card)):
            self.hands[seat].append(card)
            if card in self.upcards:
                self._report(("draw", seat, "faced", card))
            else:
                self._report_to(seat, ("draw", seat, "hidden", card))
                self._report_to(1 - seat, ("draw", seat, "hidden", None))
        self._face_upcards()
        self._next_trick(winner)

    def _next_trick(self, winner: int) -> None:
        """The winner leads, until the hands are empty."""
        if self.hands == [[], []]:
            self._set_phase("over", None)
        else:
            self._set_phase("lead", winner)

    def _set_phase(self, phase: str, seat: int | None) -> None:
        self.phase, self.turn = phase, seat
        self._report(("now", phase, seat))

    def _report(self, event: Event) -> None:
        for seat in (0, 1):
            self._report_to(seat, event)

    def _report_to(self, seat: int, event: Event) -> None:
        self.observers[seat].observe(event)


# -- a match


class ReferenceMatch:
    """Hands to a target of points, or as best of an odd number of hands.

    Only the winner of a hand adds to a total. The deal alternates after every hand. At or past the
    target the higher total wins, equal totals play on; in a best-of, a hand that pays nobody is
    played again.
    """

    def __init__(
        self, target: int | None = None, best_of: int | None = None, first_dealer: int = 0
    ) -> None:
        self.target = target
        self.best_of = best_of
        self.dealer = first_dealer
        """Who deals the next hand."""
        self.totals = [0, 0]
        self.hands_won = [0, 0]

    def add(self, payoffs: Sequence[int]) -> None:
        """Enter the payoffs of a hand."""
        for seat in (0, 1):
            if payoffs[seat] > 0:
                self.totals[seat] += payoffs[seat]
                self.hands_won[seat] += 1
        self.dealer = 1 - self.dealer

    @property
    def winner(self) -> int | None:
        """The seat that has won, or None while the match goes on."""
        if self.best_of is not None:
            more_than_half = [won > self.best_of // 2 for won in self.hands_won]
            return more_than_half.index(True) if any(more_than_half) else None
        most = max(self.totals)
        if self.target is None or most < self.target or self.totals[0] == self.totals[1]:
            return None
        return self.totals.index(most)
