"""German Whist written a second time, as plainly as possible.

Lists, loops and the rules in the order a rule sheet tells them, so that a fast
engine can be checked against it move by move. What a player sees is written
down event by event when it happens, and a view is computed from those notes
alone, never from the cards themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

HIDDEN = 52  # the action "take the hidden card"
KEEP, BLIND = 53, 54  # the actions "keep the hand" and "take the blind hand"
RED_SUITS = (1, 2)  # diamonds and hearts

Event = tuple[Any, ...]


# ---------------------------------------------------------------- rule sets


@dataclass(frozen=True)
class PlainRules:
    """The parameters of one rule set; the defaults are those of `classic`."""

    name: str
    suits: int = 4
    ranks: int = 13
    hand: int = 13
    stock: int = 26
    trumps: str = "upcard"  # "upcard" | "none"
    contract: str = "high"  # "high" | "low" | "colour"
    counts: str = "last"  # "last" | "all"
    pay: str = "win"  # "win" | "margin" | "over_book"
    book: int | None = None  # None becomes half of the counting tricks, rounded down
    slam_pay: int | None = None
    face_up: int = 1  # how many stock cards lie face up: 1 | 2
    faced: str = "every"  # "every" | "after-first" | "never"
    choice: bool = False  # the winner of a trick chooses a card
    race: int | None = None  # counting tricks that end the hand
    exchange: bool = False  # four hands are dealt, and a player may take a blind one

    def __post_init__(self) -> None:
        if self.book is None:
            object.__setattr__(self, "book", self.counting_tricks // 2)

    @property
    def foreplay_tricks(self) -> int:
        return self.stock // 2

    @property
    def counting_tricks(self) -> int:
        """How many tricks of a full hand count."""
        return self.hand + (self.foreplay_tricks if self.counts == "all" else 0)

    @property
    def deck(self) -> list[int]:
        """The card ids in use: the highest `ranks` ranks of the first `suits` suits."""
        ranks = range(13 - self.ranks, 13)
        return [13 * suit + rank for suit in range(self.suits) for rank in ranks]


_SETS = [
    PlainRules("classic"),
    PlainRules("margin", pay="margin"),
    PlainRules("all-tricks", counts="all"),
    PlainRules("all-margin", counts="all", pay="margin"),
    PlainRules("club-last", pay="over_book", book=6, slam_pay=10),
    PlainRules("club-all", counts="all", pay="over_book", book=13),
    PlainRules("small-last", ranks=7, hand=7, stock=14, pay="over_book", book=3, slam_pay=5),
    PlainRules("small-all", ranks=7, hand=7, stock=14, counts="all", pay="over_book", book=6),
    PlainRules("quick", ranks=8, hand=10, stock=12),
    PlainRules("colour", contract="colour", pay="over_book", book=6),
    PlainRules("no-trump", trumps="none", faced="after-first"),
    PlainRules("open-stock", face_up=2, choice=True),
    PlainRules("draft", choice=True),
    PlainRules("race-7", counts="all", race=7),
    PlainRules("race-9", counts="all", race=9),
    PlainRules("humbug", stock=0, pay="over_book", book=6, exchange=True),
]
NAMED: dict[str, PlainRules] = {rules.name: rules for rules in _SETS}


# ---------------------------------------------------------------- one trick


def suit_of(card: int) -> int:
    return card // 13


def playable(hand: Sequence[int], led: int | None) -> list[int]:
    """The cards of a hand that may be played, sorted; `led` is None for a lead."""
    if led is not None:
        same_suit = [card for card in hand if suit_of(card) == suit_of(led)]
        if same_suit:
            return sorted(same_suit)
    return sorted(hand)


def lead_wins(lead: int, follow: int, trump: int | None) -> bool:
    """Whether the card led beats the card played second."""
    if suit_of(lead) == suit_of(follow):
        return lead > follow
    return suit_of(follow) != trump


# ---------------------------------------------------------------- what one player sees


class _Notebook:
    """One player's notes: the events that player observed, and what they add up to.

    The notes are fed with events only, so nothing in them can depend on a card
    the player has not seen. The events are

    - ("deal", dealer, own cards sorted)
    - ("turned", cards): stock cards turned face up, upper first
    - ("shown", card): the dealer's last card, shown to both before an exchange
    - ("kept", seat) or ("exchanged", seat): what a player did with the hand dealt
    - ("blind", cards sorted): the blind hand that this player took
    - ("now", phase, seat): who is to do what; ("now", "over", None) at the end
    - ("lead", seat, card) and ("follow", seat, card)
    - ("won", seat): who took the trick
    - ("chose", seat, action)
    - ("draw", seat, "faced" | "hidden", card, or None where it was not seen);
      the trick's winner draws first
    """

    def __init__(self, rules: PlainRules, seat: int) -> None:
        self.rules = rules
        self.seat = seat
        self.events: list[Event] = []
        self.dealer = 0
        self.hand: list[int] = []
        self.trump: int | None = None
        self.low = rules.contract == "low"
        self.phase = "lead"
        self.turn: int | None = None
        self.face_up: list[int] = []
        self.stock_left = rules.stock
        self.plays: list[dict[str, Any]] = []
        self.counting = [0, 0]
        self.opponent_known: set[int] = set()
        self.opponent_hand_size = rules.hand
        self.opponent_void: dict[int, int] = {}
        self.unseen: set[int] = set(rules.deck)
        self.shown: int | None = None
        self.exchanged: list[bool | None] = [None, None]
        self.laid_away: set[int] = set()

    def note(self, event: Event) -> None:
        self.events.append(event)
        # The most frequent first; "chose" tells no more than the two draws that come after it.
        match event:
            case "now", phase, turn:
                self.phase, self.turn = phase, turn
            case "lead", seat, card:
                later = "follow", "own_draw", "opponent_draw", "own_took", "opponent_took"
                self.plays.append({"leader": seat, "lead": card, **dict.fromkeys(later)})
                self._note_card_gone(seat, card)
            case "follow", seat, card:
                self.plays[-1]["follow"] = card
                led_suit = suit_of(self.plays[-1]["lead"])
                if seat != self.seat and suit_of(card) != led_suit:
                    self.opponent_void[led_suit] = 0
                self._note_card_gone(seat, card)
            case "won", seat:
                # The two cards played for are still in the stock, so it is empty
                # exactly in stage two.
                if self.rules.counts == "all" or self.stock_left == 0:
                    self.counting[seat] += 1
            case "draw", seat, how, card:
                self._note_draw(seat, how, card)
            case "turned", cards:
                if not self.plays:
                    self._name_trumps(suit_of(cards[0]))
                self.face_up = list(cards)
                self.unseen.difference_update(cards)
            case "deal", dealer, cards:
                self.dealer, self.hand = dealer, list(cards)
                self.unseen.difference_update(cards)
            case "shown", card:
                self.shown = card
                self._name_trumps(suit_of(card))
                if self.dealer != self.seat:
                    self.opponent_known.add(card)
                self.unseen.discard(card)
            case "kept", seat:
                self.exchanged[seat] = False
            case "exchanged", seat:
                self.exchanged[seat] = True
                if seat == self.dealer and self.shown is not None:
                    # Everybody knows that the card shown went away with the dealer's hand.
                    self.opponent_known.discard(self.shown)
                    self.laid_away.add(self.shown)
            case "blind", cards:
                self.laid_away.update(self.hand)
                self.hand = list(cards)
                self.unseen.difference_update(cards)

    def _name_trumps(self, suit: int) -> None:
        if self.rules.trumps == "upcard":
            self.trump = suit
        if self.rules.contract == "colour":
            self.low = suit not in RED_SUITS

    def _note_card_gone(self, seat: int, card: int) -> None:
        if seat == self.seat:
            self.hand.remove(card)
        else:
            self.opponent_known.discard(card)
            self.unseen.discard(card)
            self.opponent_hand_size -= 1

    def _note_draw(self, seat: int, how: str, card: int | None) -> None:
        who = "own" if seat == self.seat else "opponent"
        self.plays[-1] |= {f"{who}_draw": card, f"{who}_took": how}
        self.stock_left -= 1
        if how == "faced":
            self.face_up.remove(card)
        if seat == self.seat:
            self.hand.append(card)
            self.unseen.discard(card)
            return
        self.opponent_hand_size += 1
        if card is not None:
            self.opponent_known.add(card)
            return
        # A card drawn unseen may be of a suit the opponent had none of.
        # A failure is always noted before the draw of its own trick.
        for suit in self.opponent_void:
            self.opponent_void[suit] += 1

    def view(self) -> dict[str, Any]:
        own, other = self.seat, 1 - self.seat
        trick_open = self.phase in ("follow", "choose")
        leader = self.plays[-1]["leader"] if trick_open else self.turn
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
            "face_up": list(self.face_up),
            "led": self.plays[-1]["lead"] if self.phase == "follow" else None,
            "trick_number": len(self.plays) - 1 if trick_open else len(self.plays),
            "stock_left": self.stock_left,
            "leader": leader,
            "plays": [dict(trick) for trick in self.plays],
            "counting": (self.counting[own], self.counting[other]),
            "opponent_known": sorted(self.opponent_known),
            "unseen": sorted(self.unseen),
            "opponent_hand_size": self.opponent_hand_size,
            "opponent_void": dict(self.opponent_void),
            "shown": self.shown,
            "exchanged": (self.exchanged[own], self.exchanged[other]),
            "laid_away": sorted(self.laid_away),
            "events": list(self.events),
        }


# ---------------------------------------------------------------- the game


class PlainGame:
    """One hand of German Whist.

    `deal` is the card ids in dealing order: one card at a time, non-dealer
    first, then the stock from its top, then the cards set aside. Where hands are
    exchanged there are four of them, dealt in turn: the first blind hand, the
    non-dealer's, the second blind one, the dealer's. Besides the
    attributes a caller plays with, `hands`, `stock` (from its top, face-up
    cards included), `aside` and `face_up` show where every card is.
    """

    def __init__(self, rules: PlainRules, deal: Sequence[int], dealer: int) -> None:
        assert sorted(deal) == rules.deck
        self.rules = rules
        self.dealer = dealer
        self.hands: list[list[int]] = [[], []]
        self.blind: list[list[int]] = [[], []]  # by who may take it
        places = [self.hands[1 - dealer], self.hands[dealer]]
        if rules.exchange:
            places = [self.blind[1 - dealer], places[0], self.blind[dealer], places[1]]
        hands_end = len(places) * rules.hand
        for i in range(hands_end):
            places[i % len(places)].append(deal[i])
        stock_end = hands_end + rules.stock
        self.stock = list(deal[hands_end:stock_end])
        self.aside = list(deal[stock_end:])
        first_card = self.hands[dealer][-1] if rules.exchange else (self.stock or [None])[0]
        self.shown = first_card if rules.exchange and rules.faced == "every" else None
        self.trump = suit_of(first_card) if rules.trumps == "upcard" else None
        self.low = rules.contract == "low"
        if rules.contract == "colour":
            self.low = suit_of(first_card) not in RED_SUITS
        self.face_up: list[int] = []
        self.counting = [0, 0]
        self.leader = 1 - dealer
        self.led: int | None = None
        self.phase = "lead"
        self.turn: int | None = None
        self._notebooks = [_Notebook(rules, 0), _Notebook(rules, 1)]
        for seat in (0, 1):
            self._tell(seat, ("deal", dealer, tuple(sorted(self.hands[seat]))))
        self._turn_up()
        if self.shown is not None:
            self._tell_both(("shown", self.shown))
        self._ask("exchange" if rules.exchange else "lead", self.leader)

    def legal(self) -> list[int]:
        if self.phase in ("lead", "follow"):
            return playable(self.hands[self.turn], self.led)
        if self.phase == "choose":
            return sorted(self.face_up) + [HIDDEN] * (len(self.face_up) == 1)
        return [KEEP, BLIND] if self.phase == "exchange" else []

    def play(self, action: int) -> None:
        assert action in self.legal(), f"action {action} is not legal in phase {self.phase}"
        if self.phase == "lead":
            self._play_lead(action)
        elif self.phase == "follow":
            self._play_follow(action)
        elif self.phase == "exchange":
            self._exchange(action)
        else:
            self._play_choice(action)

    def pay(self) -> list[int]:
        """What each seat gets for the hand: the winner's pay and its negative."""
        assert self.phase == "over"
        more = 0 if self.counting[0] > self.counting[1] else 1
        raced = self.rules.race is None or self.counting[more] >= self.rules.race
        if self.counting[0] == self.counting[1] or not raced:
            return [0, 0]
        points = self._points(self.counting[more], self.counting[1 - more])
        # A low contract pays the same points to the other player.
        winner = 1 - more if self.low else more
        return [points, -points] if winner == 0 else [-points, points]

    def view(self, seat: int) -> dict[str, Any]:
        """Everything that player may know, from the events it observed.

        - `phase`, `turn`: who is to do what; `turn` is None when over.
        - `face_up`: the stock cards lying face up now, upper first.
        - `led`: the card led that waits for an answer (phase "follow"), or None.
        - `trick_number`: how many tricks are done with. In stage one a trick is
          done with when both have drawn, in stage two when it is taken. So it is
          the index in `plays` of the trick under way or about to be led; while
          the winner chooses, it is still that of the trick just played. A trick
          that ends a race is done with, although nobody draws for it.
        - `stock_left`: cards left in the stock, those lying face up included.
        - `leader`: who led trick `trick_number`, or is to lead it; None when over.
        - `plays`: the tricks so far, the one under way included as soon as it is
          led, with None for what has not happened or was not seen. `own_took`
          and `opponent_took` tell which kind of stock card was drawn.
        - `counting`: (own, opponent); a trick is in it as soon as it is won, before the draw.
        - `opponent_known`: the cards the opponent took openly and still holds.
        - `unseen`: the cards never seen: the opponent's others, the stock face
          down and the cards set aside. Nothing is inferred: with the stock gone
          and none set aside it is the rest of the opponent's hand.
        - `opponent_void`: for each suit the opponent failed to follow, how many
          cards it has drawn unseen since it last failed, the draw of that same
          trick included.
        - `shown`: the dealer's card that was shown before an exchange, or None.
        - `exchanged`: (own, opponent), True for a blind hand taken, False for the hand
          kept, None before that or where nothing is exchanged.
        - `laid_away`: cards known to be out of play since the exchange: the player's
          own, and the card shown where the dealer laid it away.
        - `events`: all of it in order; see the notebook for their forms.
        """
        return self._notebooks[seat].view()

    def _points(self, most: int, fewest: int) -> int:
        """The pay for the player with more counting tricks."""
        if self.rules.pay == "win":
            return 1
        if self.rules.pay == "margin":
            return most - fewest
        # A race that stops early is no slam: not every counting trick was played.
        if self.rules.slam_pay is not None and most == self.rules.counting_tricks:
            return self.rules.slam_pay
        return max(0, most - self.rules.book)

    def _tell(self, seat: int, event: Event) -> None:
        self._notebooks[seat].note(event)

    def _tell_both(self, event: Event) -> None:
        self._tell(0, event)
        self._tell(1, event)

    def _ask(self, phase: str, seat: int | None) -> None:
        self.phase = phase
        self.turn = seat
        self._tell_both(("now", phase, seat))

    def _turn_up(self) -> None:
        """Turn the top of the stock face up, where the rules have it so."""
        late = self.rules.faced == "after-first" and len(self.stock) == self.rules.stock
        down = self.rules.faced == "never" or late
        self.face_up = [] if down else self.stock[: self.rules.face_up]
        if self.face_up:
            self._tell_both(("turned", tuple(self.face_up)))

    def _play_lead(self, card: int) -> None:
        self.hands[self.turn].remove(card)
        self.led = card
        self._tell_both(("lead", self.turn, card))
        self._ask("follow", 1 - self.turn)

    def _play_follow(self, card: int) -> None:
        self.hands[self.turn].remove(card)
        self._tell_both(("follow", self.turn, card))
        winner = self.leader if lead_wins(self.led, card, self.trump) else self.turn
        self.led = None
        if self.rules.counts == "all" or not self.stock:
            self.counting[winner] += 1
        self._tell_both(("won", winner))
        if self.rules.race is not None and self.counting[winner] >= self.rules.race:
            self._ask("over", None)  # the race is won: nobody draws any more
        elif not self.stock:
            self._next_trick(winner)
        elif self.rules.choice and self.face_up:
            self._ask("choose", winner)
        else:
            self._draw(winner, self.stock[0])

    def _exchange(self, action: int) -> None:
        seat = self.turn
        if action == BLIND:
            # The hand laid away lies where the blind one lay.
            self.hands[seat], self.blind[seat] = self.blind[seat], self.hands[seat]
            self._tell_both(("exchanged", seat))
            self._tell(seat, ("blind", tuple(sorted(self.hands[seat]))))
        else:
            self._tell_both(("kept", seat))
        if seat == self.dealer:
            self._ask("lead", self.leader)
        else:
            self._ask("exchange", self.dealer)

    def _play_choice(self, action: int) -> None:
        self._tell_both(("chose", self.turn, action))
        self._draw(self.turn, self.stock[1] if action == HIDDEN else action)

    def _draw(self, winner: int, winners_card: int) -> None:
        """The winner takes that one of the top two cards, the loser the other."""
        first, second = self.stock[0], self.stock[1]
        losers_card = second if winners_card == first else first
        self.stock = self.stock[2:]
        for seat, card in ((winner, winners_card), (1 - winner, losers_card)):
            self.hands[seat].append(card)
            if card in self.face_up:
                self._tell_both(("draw", seat, "faced", card))
            else:
                self._tell(seat, ("draw", seat, "hidden", card))
                self._tell(1 - seat, ("draw", seat, "hidden", None))
        self._turn_up()
        self._next_trick(winner)

    def _next_trick(self, winner: int) -> None:
        if not self.hands[0] and not self.hands[1]:
            self._ask("over", None)
        else:
            self.leader = winner
            self._ask("lead", winner)


# ---------------------------------------------------------------- all deals that fit


Places = tuple[frozenset[int], tuple[int, ...], frozenset[int]]


def count_full_deals(
    rules: PlainRules,
    dealer: int,
    actions: Sequence[int],
    seat: int,
    view_events: Sequence[Event],
) -> Counter[Places]:
    """How many full deals of a tiny deck that `seat` cannot rule out lead to each place of cards.

    A full deal is two hands as sets, the stock in order and the cards set aside
    as a set; all of them are equally likely before the first card is played.
    Those are counted under which `actions` are legal and show `seat` exactly
    `view_events`. A place tells where the cards are now: the opponent's hand, the
    stock that lies face down from its top, the cards set aside. Where hands are
    exchanged, in the place of the stock are both hands beside those played, sorted;
    the one that `seat` might have taken or laid away comes first.
    """
    events = list(view_events)
    deals = _deals_of_four_hands if rules.exchange else _deals_of_two_hands
    counts: Counter[Places] = Counter()
    for deal in deals(rules, dealer, seat, events):
        game = _replay(rules, deal, dealer, actions, seat, events)
        if game is not None:
            beside = *sorted(game.blind[seat]), *sorted(game.blind[1 - seat])
            unseen = *game.stock[len(game.face_up) :], *beside
            counts[frozenset(game.hands[1 - seat]), unseen, frozenset(game.aside)] += 1
    return counts


def _in_turn(*hands: Sequence[int]) -> list[int]:
    """Hands as they are dealt, one card at a time."""
    return [card for cards in zip(*hands, strict=True) for card in cards]


def _deals_of_two_hands(
    rules: PlainRules, dealer: int, seat: int, events: Sequence[Event]
) -> Iterator[list[int]]:
    own, stock_seen = events[0][2], _stock_seen(events)
    # Cards that go to a place this player has not seen.
    pool = [card for card in rules.deck if card not in own and card not in stock_seen.values()]
    open_places = [i for i in range(rules.stock) if i not in stock_seen]
    for other in combinations(pool, rules.hand):
        rest = [card for card in pool if card not in other]
        hands = _in_turn(other, own) if seat == dealer else _in_turn(own, other)
        for hidden in permutations(rest, len(open_places)):
            stock = stock_seen | dict(zip(open_places, hidden, strict=True))
            aside = [card for card in rest if card not in hidden]
            yield [*hands, *(stock[i] for i in range(rules.stock)), *aside]


def _deals_of_four_hands(
    rules: PlainRules, dealer: int, seat: int, events: Sequence[Event]
) -> Iterator[list[int]]:
    own = list(events[0][2])
    shown = next((event[1] for event in events if event[0] == "shown"), None)
    pool = [card for card in rules.deck if card not in own]
    for other in combinations(pool, rules.hand):
        before, last = (list(other), own) if seat == dealer else (own, list(other))
        if shown is not None and shown not in last:
            continue
        last = [card for card in last if card != shown] + [shown] * (shown is not None)
        left = [card for card in pool if card not in other]
        for first in combinations(left, rules.hand):
            rest = [card for card in left if card not in first]
            for second in combinations(rest, rules.hand):
                aside = [card for card in rest if card not in second]
                yield _in_turn(first, before, second, last) + aside


def _stock_seen(events: Sequence[Event]) -> dict[int, int]:
    """The cards this player has seen of the stock, by their place from its top."""
    seen: dict[int, int] = {}
    top = 0  # the place of the card now on top
    faced = 0  # how many cards lie face up
    drawn = 0  # how many of this trick's two draws are done
    for event in events:
        if event[0] == "turned":
            faced = len(event[1])
            for i, card in enumerate(event[1]):
                seen[top + i] = card
        elif event[0] == "draw":
            _, _, how, card = event
            if how == "hidden" and card is not None:
                # Below the upcard; with no upcard the winner, who draws first,
                # has the top card and the loser the next.
                seen[top + (1 if faced == 1 else drawn)] = card
            drawn += 1
            if drawn == 2:
                top, faced, drawn = top + 2, 0, 0
    return seen


def _replay(
    rules: PlainRules,
    deal: Sequence[int],
    dealer: int,
    actions: Sequence[int],
    seat: int,
    events: Sequence[Event],
) -> PlainGame | None:
    """The game after the actions, or None as soon as something does not fit."""
    game = PlainGame(rules, deal, dealer)
    seen = game._notebooks[seat].events
    checked = 0
    for action in [None, *actions]:  # None: the deal itself, before any action
        if action is not None:
            if action not in game.legal():
                return None
            game.play(action)
        if seen[checked:] != events[checked : len(seen)]:
            return None
        checked = len(seen)
    return game if checked == len(events) else None


# ---------------------------------------------------------------- the match


class PlainMatch:
    """Hands played to a target of points, or as best of an odd number of hands.

    `dealer` deals the next hand; the deal alternates after every hand, a drawn
    one too. A hand that pays nobody counts as drawn.
    """

    def __init__(
        self, target: int | None = None, best_of: int | None = None, first_dealer: int = 0
    ) -> None:
        self.target = target
        self.best_of = best_of
        self.dealer = first_dealer
        self.totals = [0, 0]
        self.hands_won = [0, 0]

    def add(self, pays: Sequence[int]) -> None:
        """Enter what a hand paid; only its winner's total moves."""
        assert not self.over
        for seat in (0, 1):
            if pays[seat] > 0:
                self.totals[seat] += pays[seat]
                self.hands_won[seat] += 1
        self.dealer = 1 - self.dealer

    @property
    def winner(self) -> int | None:
        """The winning seat, or None while the match goes on."""
        if self.best_of is not None:
            more_than_half = [won > self.best_of // 2 for won in self.hands_won]
            return more_than_half.index(True) if any(more_than_half) else None
        if max(self.totals) < self.target or self.totals[0] == self.totals[1]:
            return None
        return self.totals.index(max(self.totals))

    @property
    def over(self) -> bool:
        return self.winner is not None
