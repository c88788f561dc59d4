"""All full deals of a tiny deck that agree with what a player has observed, by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from german_whist.engine.reference import Event, ReferenceGame, ReferenceRules

Places = tuple[frozenset[int], tuple[int, ...], frozenset[int]]


def count_full_deals(
    rules: ReferenceRules,
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
            unseen = *game.stock[len(game.upcards) :], *beside
            counts[frozenset(game.hands[1 - seat]), unseen, frozenset(game.aside)] += 1
    return counts


def _in_turn(*hands: Sequence[int]) -> list[int]:
    """Hands as they are dealt, one card at a time."""
    return [card for cards in zip(*hands, strict=True) for card in cards]


def _deals_of_two_hands(
    rules: ReferenceRules, dealer: int, seat: int, events: Sequence[Event]
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
    rules: ReferenceRules, dealer: int, seat: int, events: Sequence[Event]
) -> Iterator[list[int]]:
    own = list(events[0][2])
    turned = next((event[1] for event in events if event[0] == "turned"), None)
    pool = [card for card in rules.deck if card not in own]
    for other in combinations(pool, rules.hand):
        before, last = (list(other), own) if seat == dealer else (own, list(other))
        if turned is not None and turned not in last:
            continue
        last = [card for card in last if card != turned] + [turned] * (turned is not None)
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
        if event[0] == "upcards":
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
    rules: ReferenceRules,
    deal: Sequence[int],
    dealer: int,
    actions: Sequence[int],
    seat: int,
    events: Sequence[Event],
) -> ReferenceGame | None:
    """The game after the actions, or None as soon as something does not fit."""
    game = ReferenceGame(rules, deal, dealer)
    seen = game.observers[seat].events
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
