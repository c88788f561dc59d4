"""Helpers of the tests: rule sets for both implementations, players, and expected records.

What is expected of the engine is built here from the plain implementation's
views, so that a comparison of bytes is a comparison of every field.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from german_whist.agents import Agent, agent_key, decision_streams
from german_whist.engine.dtypes import (
    MAX_TRICKS,
    NO_CARD,
    NO_TRUMP,
    PHASE_NAMES,
    UNSEEN_CARD,
    VIEW,
)
from german_whist.engine.game import Game
from german_whist.engine.observation.history import (
    CARD_NONE,
    CARD_UNSEEN,
    DEALT,
    DRAWN,
    FOLLOWED,
    LED,
    ME,
    NOBODY,
    OTHER,
    START,
    TURNED,
)
from german_whist.engine.observation.spec import EXCHANGE_SPEC, OBSERVATION_SPEC, ObservationSpec
from german_whist.engine.records import GameRecord, record_of
from german_whist.engine.reference import RULE_SETS, TAKE_HIDDEN, ReferenceGame, ReferenceRules
from german_whist.engine.rules import Rules, load_rules, named_rules
from german_whist.envs import SelfPlayEnv

# Debian's shell without a window takes half of the processor time.
BROWSERS = "chromium-headless-shell", "chromium", "chromium-browser"
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)

# A run of the arena is the same each time where a test names its key, which is otherwise drawn.
KEY = "5ec2e70fa12ea0b3b17b05e1f4a9c6d8"


def digest(*arrays: Any) -> str:
    """A short digest of arrays and text."""
    found = hashlib.sha256()
    for each in arrays:
        found.update(each.encode() if isinstance(each, str) else np.asarray(each).tobytes())
    return found.hexdigest()[:16]


def reproducible(result: Any) -> dict[str, Any]:
    """The JSON of an arena result without what differs from run to run."""
    data = result.to_json()
    for part in (data, *data["pairings"]):
        part.pop("run", None)
        part.pop("timing", None)
    return data


def chi_square_p(counts: ArrayLike, expected: ArrayLike | None = None) -> float:
    """The p-value of Pearson's test of counts, which are equally likely where none are expected."""
    # SciPy's statistics, which have it too, take a second to import.
    from scipy.special import chdtrc

    observed = np.asarray(counts, float)
    mean = observed.mean() if expected is None else np.asarray(expected, float)
    return float(chdtrc(len(observed) - 1, ((observed - mean) ** 2 / mean).sum()))


# Rule sets that nobody would name, at the edges of what can be played.
_ALL_CARDS = {"suits": 4, "ranks": 13}
ODD: dict[str, dict[str, Any]] = {
    "no stock": {**_ALL_CARDS, "hand": 13, "stock": 0, "trumps": "none"},
    "all dealt": {**_ALL_CARDS, "hand": 26, "stock": 0, "trumps": "none", "pay": "margin"},
    "hand of one": {**_ALL_CARDS, "hand": 1, "stock": 50, "counts": "all", "pay": "margin"},
    "set aside": {"suits": 4, "ranks": 7, "hand": 5, "stock": 10, "pay": "margin"},
    "one set aside": {"suits": 3, "ranks": 5, "hand": 3, "stock": 8, "counts": "all"},
    "two by six": {"suits": 2, "ranks": 6, "hand": 3, "stock": 6, "counts": "all", "pay": "margin"},
    "one suit": {"suits": 1, "ranks": 13, "hand": 4, "stock": 4, "counts": "all"},
    "one rank": {"suits": 4, "ranks": 1, "hand": 1, "stock": 2, "counts": "all"},
    "two cards": {"suits": 1, "ranks": 2, "hand": 1, "stock": 0, "trumps": "none"},
    "blind": {**_ALL_CARDS, "hand": 13, "stock": 26, "trumps": "none", "faced": "never"},
    "blind fifty": {
        **_ALL_CARDS,
        "hand": 1,
        "stock": 50,
        "trumps": "none",
        "faced": "never",
        "counts": "all",
    },
    "two up": {**_ALL_CARDS, "hand": 10, "stock": 30, "face_up": 2, "counts": "all"},
    "two up, late, choice": {
        "suits": 4,
        "ranks": 9,
        "hand": 8,
        "stock": 20,
        "trumps": "none",
        "faced": "after-first",
        "face_up": 2,
        "choice": True,
        "counts": "all",
        "pay": "margin",
    },
    "draft, late": {
        **_ALL_CARDS,
        "hand": 9,
        "stock": 26,
        "trumps": "none",
        "faced": "after-first",
        "choice": True,
    },
    "low": {"suits": 4, "ranks": 7, "hand": 7, "stock": 14, "contract": "low", "pay": "margin"},
    "low race": {
        "suits": 4,
        "ranks": 8,
        "hand": 8,
        "stock": 16,
        "contract": "low",
        "counts": "all",
        "race": 5,
    },
    "colour of two suits": {
        "suits": 2,
        "ranks": 13,
        "hand": 6,
        "stock": 14,
        "contract": "colour",
        "pay": "over_book",
        "slam_pay": 9,
    },
    "race of the endgame": {
        "suits": 4,
        "ranks": 8,
        "hand": 9,
        "stock": 14,
        "race": 5,
        "pay": "over_book",
        "book": 2,
    },
    "race to the slam": {
        "suits": 2,
        "ranks": 8,
        "hand": 4,
        "stock": 8,
        "race": 4,
        "pay": "over_book",
        "slam_pay": 7,
    },
    "race that nobody may win": {"suits": 3, "ranks": 6, "hand": 4, "stock": 10, "race": 4},
    "race of one, late": {
        "suits": 4,
        "ranks": 5,
        "hand": 5,
        "stock": 10,
        "trumps": "none",
        "faced": "after-first",
        "counts": "all",
        "race": 1,
    },
    "race with a draft": {
        **_ALL_CARDS,
        "hand": 13,
        "stock": 26,
        "choice": True,
        "counts": "all",
        "race": 8,
        "pay": "margin",
    },
    "exchange": {"suits": 2, "ranks": 9, "hand": 4, "stock": 0, "exchange": True},
    "exchange, nothing shown": {
        "suits": 4,
        "ranks": 7,
        "hand": 7,
        "stock": 0,
        "trumps": "none",
        "faced": "never",
        "exchange": True,
        "pay": "margin",
    },
    "exchange, shown for nothing": {
        "suits": 3,
        "ranks": 6,
        "hand": 4,
        "stock": 0,
        "trumps": "none",
        "contract": "low",
        "exchange": True,
    },
    "exchange by colour": {
        "suits": 4,
        "ranks": 6,
        "hand": 6,
        "stock": 0,
        "contract": "colour",
        "exchange": True,
        "race": 4,
        "pay": "over_book",
        "book": 2,
    },
    "exchange of one": {"suits": 1, "ranks": 5, "hand": 1, "stock": 0, "exchange": True},
    "no book": {
        "suits": 2,
        "ranks": 9,
        "hand": 5,
        "stock": 8,
        "pay": "over_book",
        "book": 0,
        "counts": "all",
    },
}
EVERY_SET = (*named_rules(), *ODD)


def dealt(rules: Any = "classic", n: int = 1024, seed: int = 0, **options: Any) -> SelfPlayEnv:
    """Games of a seed, both seats open, dealt and ready to step; a match is one episode."""
    if options.get("match") is not None:
        options.setdefault("horizon", "match")
    games = SelfPlayEnv(n, rules, **options)
    games.reset(seed)
    return games


@cache
def engine_rules(name: str) -> Rules:
    return Rules(name=name, **ODD[name]) if name in ODD else load_rules(name)


@cache
def plain_rules(name: str) -> ReferenceRules:
    """The plain implementation's rules of the same set."""
    return ReferenceRules(name, **ODD[name]) if name in ODD else RULE_SETS[name]


def plain_twin(game: Game) -> ReferenceGame:
    """The plain game that begins with the deal and the dealer of an engine's game."""
    deal = [int(card) for card in game.cards_dealt]
    return ReferenceGame(plain_rules(game.rules.name), deal, game.dealer)


def played_out(game: Game, seed: int = 1) -> Game:
    """A game, once it is played to its end at random."""
    rng = random.Random(seed)
    while not game.over:
        game.play(rng.choice(game.legal()))
    return game


def random_hand(rules: Any = "classic", seed: int = 1, **meta: Any) -> GameRecord:
    return record_of(played_out(Game(rules, seed=seed), seed), meta)


# -- players, to get into every corner of the game


def play_all(agents: tuple[Agent, Agent], rules: Any, n: int, seed: int) -> tuple[Any, Any]:
    """Play `n` hands; returns counting tricks and pays of seat 0."""
    games = dealt(rules, n, seed=seed)
    unfinished = np.arange(n)
    rewards, over = np.zeros(n), np.zeros(n, bool)
    while len(unfinished):
        turns = games.batch.games["turn"][unfinished]
        for seat in (0, 1):
            indices = unfinished[turns == seat]
            if len(indices):
                views = games.views(indices=indices)
                deals = games.batch.games["number"][indices]
                rng = decision_streams(agent_key(seed), deals, views)
                step = games.step(agents[seat].act(views, rng), indices)
                rewards[indices] += step.rewards[indices, 0]
                over[indices] = step.ended[indices]
        unfinished = unfinished[~over[unfinished]]
    return games.batch.results["tricks"].copy(), rewards


STYLES = ("any", "high", "low", "hoard", "squander", "shorten")


def chosen_action(
    style: str, legal: Sequence[int], hand: Sequence[int], endgame: bool, rng: random.Random
) -> int:
    """An action in a style: hoarders save high cards for the endgame, squanderers none."""
    if style == "any" or legal[-1] >= TAKE_HIDDEN or rng.random() < 0.05:
        return rng.choice(legal)
    if style == "shorten":  # get rid of the shortest suit, so as to fail to follow soon
        length = [sum(card // 13 == suit for card in hand) for suit in range(4)]
        return min(legal, key=lambda card: (length[card // 13], card))
    high = style == "high" or (style == "hoard") == endgame
    if style == "low":
        high = False
    return (max if high else min)(legal, key=lambda card: (card % 13, card))


# -- what a view of the engine has to hold

_CODES = {"u8": "Q", "i4": "i", "u2": "H", "u1": "B", "i1": "b"}
_FORMAT = "=" + "".join(
    f"{VIEW[name].itemsize // VIEW[name].base.itemsize}{_CODES[VIEW[name].base.str[1:]]}"
    for name in VIEW.names or ()
)
_FIELDS = [(name, not VIEW[name].shape) for name in VIEW.names or ()]


def card_bits(cards: Sequence[int]) -> int:
    return sum([1 << card for card in cards])


def expected_view(
    view: Mapping[str, Any],
    points: Sequence[int] = (0, 0),
    hands: int = 0,
    hands_won: Sequence[int] = (0, 0),
) -> dict[str, Any]:
    """The fields of a `VIEW` record from a plain view; the match's score comes in seat order."""
    me = view["seat"]
    tricks = view["tricks"]
    leader = view["leader"]
    if leader is None:  # the hand is over: the winner of the last trick stands there
        leader = next(event[1] for event in reversed(view["events"]) if event[0] == "won")
    played = [0, 0]  # by me, by the other
    led, followed, my_draws, opponent_draws = ([NO_CARD] * MAX_TRICKS for _ in range(4))
    i_led = [0] * MAX_TRICKS
    unseen_draws = 0
    for index, trick in enumerate(tricks):
        led[index] = lead = trick["lead"]
        i_led[index] = mine = int(trick["leader"] == me)
        played[1 - mine] |= 1 << lead
        if trick["follow"] is not None:
            followed[index] = trick["follow"]
            played[mine] |= 1 << trick["follow"]
        if trick["own_took"] is not None:
            my_draws[index] = trick["own_draw"]
            if trick["opponent_took"] == "hidden":
                opponent_draws[index] = UNSEEN_CARD
                unseen_draws += 1
            else:
                opponent_draws[index] = trick["opponent_draw"]
    took_second = [0] * MAX_TRICKS
    won, upper = 0, None
    for event in view["events"]:
        kind = event[0]
        if kind == "upcards":
            upper = event[1][0]
        elif kind == "won":
            won += 1
        elif kind == "chose":
            took_second[won - 1] = int(event[2] != upper)
    upcards = view["upcards"]
    return {
        "led_cards": led,
        "followed_cards": followed,
        "my_draws": my_draws,
        "opponent_draws": opponent_draws,
        "took_second": took_second,
        "i_led": i_led,
        "hand": card_bits(view["hand"]),
        "opponent_known": card_bits(view["opponent_known"]),
        "played": played,
        "unseen": card_bits(view["unseen"]),
        "faced": card_bits(upcards),
        "points": (points[me], points[1 - me]),
        "hands": hands,
        "hands_won": (hands_won[me], hands_won[1 - me]),
        "upcards": [*upcards, NO_CARD, NO_CARD][:2],
        "led": NO_CARD if view["led"] is None else view["led"],
        "void_draws": [view["opponent_void"].get(suit, -1) for suit in range(4)],
        "opponent_unseen_draws": unseen_draws,
        "opponent_hand_size": view["opponent_hand_size"],
        "tricks": view["counting"],
        "seat": me,
        "to_move": int(view["turn"] == me),
        "phase": PHASE_NAMES.index(view["phase"]),
        "i_deal": int(view["dealer"] == me),
        "i_lead": int(leader == me),
        "trick": view["trick_number"],
        "stock_left": view["stock_left"],
        "trump": NO_TRUMP if view["trump"] is None else view["trump"],
        "low": int(view["low"]),
        "laid_away": card_bits(view["laid_away"]),
        "exchanged": [{None: 0, False: 1, True: 2}[each] for each in view["exchanged"]],
        "turned": NO_CARD if view["turned"] is None else view["turned"],
        "spare": [0] * VIEW["spare"].shape[0],
    }


def view_bytes(fields: Mapping[str, Any]) -> bytes:
    """The bytes of a `VIEW` record with these fields, nothing else in it."""
    flat = (([fields[name]] if single else fields[name]) for name, single in _FIELDS)
    return struct.pack(_FORMAT, *chain.from_iterable(flat))


def differences(found: bytes, fields: Mapping[str, Any]) -> str:
    """Which fields of a `VIEW` record are not as expected, for a message."""
    record = np.frombuffer(found, VIEW)[0]
    wanted = np.frombuffer(view_bytes(fields), VIEW)[0]
    return "; ".join(
        f"{name}: {record[name]} instead of {wanted[name]}"
        for name in VIEW.names or ()
        if not np.array_equal(record[name], wanted[name])
    )


# -- what an observation has to hold, from the index table and a plain view


def suit_part(cards: Sequence[int], suit: int) -> int:
    """The cards of one suit, as a number that is greater the higher they are."""
    return sum(1 << card % 13 for card in cards if card // 13 == suit)


def played_cards(view: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    mine: list[int] = []
    others: list[int] = []
    for trick in view["tricks"]:
        i_led = trick["leader"] == view["seat"]
        (mine if i_led else others).append(trick["lead"])
        if trick["follow"] is not None:
            (others if i_led else mine).append(trick["follow"])
    return mine, others


def plain_suit_order(rules: ReferenceRules, view: Mapping[str, Any]) -> list[int]:
    """The suits as `trump-first` shows them: `order[place]` is the suit in that place."""
    sets = rules.deck, view["hand"], *played_cards(view), view["opponent_known"], view["upcards"]

    def rank(suit: int) -> tuple[int, ...]:
        return (
            int(suit == view["trump"]),
            *(suit_part(cards, suit) for cards in sets),
            int(view["turned"] is not None and view["turned"] // 13 == suit),
            suit_part(view["laid_away"], suit),
            view["opponent_void"].get(suit, -1),
            int(view["led"] is not None and view["led"] // 13 == suit),
        )

    return sorted(range(4), key=rank, reverse=True)


def shown(card: int, order: Sequence[int]) -> int:
    """A card, or an action that is none, with its suit relabeled."""
    return card if card >= TAKE_HIDDEN else 13 * list(order).index(card // 13) + card % 13


def plain_mask(actions: Sequence[int], size: int, order: Sequence[int]) -> np.ndarray[Any, Any]:
    mask = np.zeros(size, np.int8)
    mask[[shown(action, order) for action in actions]] = 1
    return mask


def plain_observation(
    view: Mapping[str, Any],
    order: Sequence[int],
    needs: Sequence[int] | None = None,
    spec: ObservationSpec = OBSERVATION_SPEC,
) -> np.ndarray[Any, Any]:
    """The observation, group by group; `needs` is what the two still need to win the match."""
    groups: dict[str, list[int]] = {group.name: [0] * group.size for group in spec.groups}

    def mark(name: str, cards: Sequence[int]) -> None:
        for card in cards:
            groups[name][shown(card, order)] = 1

    mine, others = played_cards(view)
    mark("own_hand", view["hand"])
    mark("upcards", view["upcards"])
    mark("led", [] if view["led"] is None else [view["led"]])
    mark("played_by_me", mine)
    mark("played_by_opponent", others)
    mark("opponent_known", view["opponent_known"])
    mark("unseen", view["unseen"])
    groups["trumps"][4 if view["trump"] is None else order.index(view["trump"])] = 1
    for suit, draws in view["opponent_void"].items():
        groups["opponent_void"][14 * order.index(suit) + min(draws, 13)] = 1
    groups["stage"][0 if view["stock_left"] else 1] = 1
    if view["phase"] != "exchange":
        groups["decision"][["lead", "follow", "choose", "over"].index(view["phase"])] = 1
    if spec is not OBSERVATION_SPEC:
        groups["exchange"][0] = int(view["phase"] == "exchange")
        for name, took in zip(("me", "opponent"), view["exchanged"], strict=True):
            groups[f"exchanged_{name}"] = [int(took is False), int(took is True)]
        mark("turned", [] if view["turned"] is None else [view["turned"]])
        mark("laid_away", view["laid_away"])
    leader = view["leader"]
    if leader is None:
        leader = next(event[1] for event in reversed(view["events"]) if event[0] == "won")
    groups["to_move"][0] = int(view["turn"] == view["seat"])
    groups["leads"][0] = int(leader == view["seat"])
    groups["dealer"][0] = int(view["dealer"] == view["seat"])
    groups["contract"][int(view["low"])] = 1
    counts = view["stock_left"] // 2, *view["counting"]
    for name, count in zip(("draws_left", "tricks_me", "tricks_opponent"), counts, strict=True):
        groups[name][:count] = [1] * count
    if needs is not None:
        groups["match"][0] = 1
        for name, need in zip(("match_needs_me", "match_needs_opponent"), needs, strict=True):
            groups[name] = [min(max(need, 0), 127) >> bit & 1 for bit in range(7)]
    return np.array([bit for group in groups.values() for bit in group], np.int8)


def observation_differences(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> str:
    """Which groups of an observation are not as expected, for a message."""
    spec = EXCHANGE_SPEC
    return "; ".join(
        f"{group.name}: {found[spec.slice(group.name)]} instead of {wanted[spec.slice(group.name)]}"
        for group in spec.groups
        if not np.array_equal(found[spec.slice(group.name)], wanted[spec.slice(group.name)])
    )


# -- what history rows have to hold, from the events that a player noted


def plain_history(view: Mapping[str, Any], order: Sequence[int]) -> list[tuple[int, ...]]:
    """Rows (kind, who, card, trick) of all that the player saw, without the match's score."""
    me = view["seat"]

    def who(seat: int) -> int:
        return ME if seat == me else OTHER

    rows: list[tuple[int, ...]] = []
    trick, drawn = 0, []
    for event in view["events"]:
        kind = event[0]
        if kind == "deal":
            rows.append((START, who(event[1]), CARD_NONE, 0))
            rows += [(DEALT, ME, card, 0) for card in sorted(shown(c, order) for c in event[2])]
        elif kind == "upcards":
            rows += [(TURNED, NOBODY, shown(card, order), trick) for card in event[1]]
        elif kind == "turned":
            rows.append((TURNED, NOBODY, shown(event[1], order), 0))
        elif kind == "kept":
            rows.append((DRAWN, who(event[1]), CARD_NONE, 0))
        elif kind == "blind":
            rows += [(DRAWN, ME, card, 0) for card in sorted(shown(c, order) for c in event[1])]
        elif kind == "exchanged" and event[1] != me:
            rows.append((DRAWN, OTHER, CARD_UNSEEN, 0))
        elif kind in ("lead", "follow"):
            row_kind = LED if kind == "lead" else FOLLOWED
            rows.append((row_kind, who(event[1]), shown(event[2], order), trick))
        elif kind == "draw":
            card = CARD_UNSEEN if event[3] is None else shown(event[3], order)
            drawn.append((DRAWN, who(event[1]), card, trick))
            if len(drawn) == 2:
                rows += sorted(drawn, key=lambda row: row[1])
                trick, drawn = trick + 1, []
        elif kind == "now" and event[1] == "lead":
            trick = sum(row[0] == FOLLOWED for row in rows)
    return rows


def with_other_hidden_cards(game: Game, seat: int, rng: np.random.Generator) -> Game:
    """The same game as a seat sees it, with the cards that it cannot see exchanged."""
    twin = game.clone()
    record, hidden = twin.array[0], int(game.view(seat).array["unseen"][0])
    unseen = [card for card in game.rules.deck if hidden >> card & 1]
    exchanged = dict(zip(unseen, rng.permutation(unseen).tolist(), strict=True))
    hand = int(record["hand"][1 - seat])
    cards = [card for card in range(52) if hand >> card & 1]
    record["hand"][1 - seat] = sum(1 << exchanged.get(card, card) for card in cards)
    dealt = len(game.rules.deck)
    record["deal"][:dealt] = [exchanged.get(card, card) for card in record["deal"][:dealt].tolist()]
    return twin
