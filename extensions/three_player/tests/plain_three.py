"""The three-player game a second time, as plainly as possible.

Cards are texts, hands are lists. What a player sees is noted when it happens, and the expected
observation is computed from those notes alone, never from the cards.
"""

from __future__ import annotations

from typing import Any

RANKS = "23456789TJQKA"
SUITS = "CDHS"
CARDS = [rank + suit for suit in SUITS for rank in RANKS]
DUMMY = 3
Event = tuple[Any, ...]


class PlainThree:
    def __init__(self, deal: list[str], dealer: int) -> None:
        assert sorted(deal) == sorted(CARDS)
        self.dealer = dealer
        self.notes: list[list[Event]] = [[], [], []]
        left_of_dealer = [(dealer + 1) % 3, (dealer + 2) % 3, dealer]
        self.hands: list[list[str]] = [[], [], [], []]
        for place in range(21):
            self.hands[left_of_dealer[place % 3]].append(deal[place])
        self.stock = deal[21:]
        self.trumps = self.stock[0][1]
        self.tricks_taken = [0, 0, 0, 0]
        self.declarer: int | None = None
        self.table: list[tuple[int, str]] = []
        self.to_play: int | None = left_of_dealer[0]
        for seat in range(3):
            self.notes[seat].append(("dealt", dealer, sorted(self.hands[seat])))
        self.tell("turned", self.stock[0])

    def tell(self, *event: Any) -> None:
        for notes in self.notes:
            notes.append(event)

    def legal(self) -> list[str]:
        if self.to_play is None:
            return []
        hand = self.hands[self.to_play]
        suit_led = self.table[0][1][1] if self.table else ""
        return [card for card in hand if card[1] == suit_led] or list(hand)

    def play(self, card: str) -> None:
        assert card in self.legal()
        seat = self.to_play
        assert seat is not None
        self.hands[seat].remove(card)
        self.table.append((seat, card))
        self.tell("played", seat, card)
        order = [0, 1, 2] if self.declarer is None else [0, 1, 2, DUMMY]
        if len(self.table) < len(order):
            self.to_play = order[(order.index(seat) + 1) % len(order)]
        else:
            self.finish_trick()

    def finish_trick(self) -> None:
        trumps = [play for play in self.table if play[1][1] == self.trumps]
        followed = [play for play in self.table if play[1][1] == self.table[0][1][1]]
        candidates = trumps or followed
        winner = max(candidates, key=lambda play: RANKS.index(play[1][0]))[0]
        self.table = []
        self.tell("won", winner)
        self.to_play = winner
        if self.declarer is None:
            self.draw(winner)
        else:
            self.tricks_taken[winner] += 1
            if not self.hands[winner]:
                self.to_play = None

    def draw(self, winner: int) -> None:
        for place in range(3):
            seat = (winner + place) % 3
            card = self.stock.pop(0)
            self.hands[seat].append(card)
            for watcher in range(3):
                visible = card if watcher == seat or place == 0 else None
                self.notes[watcher].append(("drew", seat, visible, place == 0))
        if len(self.stock) == 7:
            self.hands[DUMMY], self.stock = self.stock, []
            self.declarer = winner
            self.tell("dummy", winner, sorted(self.hands[DUMMY]))
        else:
            self.tell("turned", self.stock[0])

    def mover(self) -> int | None:
        return self.declarer if self.to_play == DUMMY else self.to_play

    def payoffs(self) -> list[int]:
        players = self.tricks_taken[:3]
        return [3 * own - sum(players) for own in players]


def shown(notes: list[Event], seat: int) -> dict[str, Any]:
    """Expected observation of a seat, by group, from its notes alone.

    Sets of cards are sets of texts, other groups lists of zeros and ones.
    """
    places = {"me": seat, "left": (seat + 1) % 3, "right": (seat + 2) % 3, "dummy": DUMMY}
    dealer, hand = notes[0][1], set(notes[0][2])
    upcard: set[str] = set()
    trumps = ""
    leader, table = (dealer + 1) % 3, []
    declarer: int | None = None
    dummy: set[str] = set()
    played: dict[int, set[str]] = {player: set() for player in range(4)}
    taken: dict[int, set[str]] = {player: set() for player in range(4)}
    hidden: dict[tuple[int, str], int] = {}  # (who, suit): unseen cards since a failure
    draws, taken_tricks = 8, [0, 0, 0, 0]
    for kind, *event in notes[1:]:
        if kind == "turned":
            (card,) = event
            upcard = {card}
            trumps = trumps or card[1]
        elif kind == "played":
            player, card = event
            if table and card[1] != table[0][1][1]:
                hidden[player, table[0][1][1]] = 0
            table.append((player, card))
            played[player].add(card)
            for cards in (hand, dummy, taken[player]):
                cards.discard(card)
        elif kind == "won":
            (leader,) = event
            table, upcard = [], set()
            if declarer is not None:
                taken_tricks[leader] += 1
        elif kind == "drew":
            player, card, openly = event
            if player == seat:
                hand.add(card)
            elif openly:
                taken[player].add(card)
            else:
                for key in hidden:
                    hidden[key] += key[0] == player
            draws -= openly
        else:
            assert kind == "dummy"
            declarer, dummy = event[0], set(event[1])
    over = sum(map(len, played.values())) == 52
    in_turn = [0, 1, 2] if declarer is None else [0, 1, 2, DUMMY]
    turn = None if over else in_turn[(in_turn.index(leader) + len(table)) % len(in_turn)]
    mover = declarer if turn == DUMMY else turn

    def checked_choice(player: int | None, among: str = "me left right dummy") -> list[int]:
        return [int(player == places[name]) for name in among.split()]

    def voids(name: str) -> list[int]:
        since = [hidden.get((places[name], suit)) for suit in SUITS]
        return [int(count == value) for count in since for value in range(9)]

    located = hand | dummy | upcard | set().union(*played.values())
    taken_cards = taken[places["left"]] | taken[places["right"]]
    return {
        "own_hand": hand,
        "upcard": upcard,
        **{
            f"trick_{name}": {card for player, card in table if player == place}
            for name, place in places.items()
        },
        **{f"played_by_{name}": played[place] for name, place in places.items()},
        "known_left": taken[places["left"]],
        "known_right": taken[places["right"]],
        "dummy": dummy,
        "unseen": set(CARDS) - located - taken_cards,
        "trumps": [int(trumps == suit) for suit in SUITS],
        "void_left": voids("left"),
        "void_right": voids("right"),
        "seat": [int(seat == value) for value in range(3)],
        "stage": [int(declarer is None), int(declarer is not None)],
        "decision": [int(not over and not table), int(not over and bool(table)), int(over)],
        "to_move": [int(mover == seat)],
        "turn": checked_choice(turn),
        "leads": checked_choice(leader),
        "declarer": checked_choice(declarer, "me left right"),
        "dealer": checked_choice(dealer, "me left right"),
        "draws_left": [int(n < draws) for n in range(8)],
        **{
            f"tricks_{name}": [int(n < taken_tricks[place]) for n in range(7)]
            for name, place in places.items()
        },
    }
