"""Bad input: a sentence that names the value, and nothing changed by it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from german_whist.engine.cards import CARDS, action_text
from german_whist.engine.game import Game, IllegalAction
from german_whist.envs import SelfPlayEnv
from support import dealt

pytestmark = pytest.mark.usefixtures("small_parts")


def all_of(game: Game | SelfPlayEnv) -> tuple[Any, ...]:
    if isinstance(game, SelfPlayEnv):
        records, seed = game.batch.games.tobytes(), int(game.state()["seed"][0])
        return records, seed, *(array.tobytes() for array in game.observe())
    parts = game.actions, game.legal(), game.phase, game.turn, game.seed, game.number
    return game.array.tobytes(), str(parts), str(game.cards_dealt)


def refused(
    game: Any, deed: Callable[[], object], sentence: str, error: type[Exception] = IllegalAction
) -> None:
    before = all_of(game)
    with pytest.raises(error, match=sentence):
        deed()
    assert all_of(game) == before


def started(name: str = "classic", plays: int = 0) -> Game:
    game = Game(name, 1)
    while not game.over and len(game.actions) < plays:
        game.play(game.legal()[0])
    return game


def test_cards_that_may_not_be_played_are_refused() -> None:
    game = started()
    missing = next(card for card in CARDS if card not in game.hands[game.turn or 0])
    why = rf"{missing} is not in the hand of seat {game.turn}, which holds .*"
    for action in (missing, int(missing), str(missing), missing.symbol, np.int64(missing)):
        refused(game, lambda action=action: game.play(action), why)
    rest = [card for card in CARDS if str(card) not in ("2C", "3C", "4C", "5D")]
    game.deal_cards([*map(int, CARDS[:2]), 2, 16, *rest], 1)
    game.play("2C")
    refused(game, lambda: game.play("5D"), "5D does not follow suit: clubs were led, play .*3C")
    draft = started("draft", 2)
    assert draft.phase == "choose"
    refused(draft, lambda: draft.play(draft.stock[1]), f"chooses {draft.upcards[0]} or 52")


@pytest.mark.parametrize(
    ("rules", "plays", "action", "why"),
    [
        *(
            (rules, plays, action, rf"{action} is not an action: .*from 0 to {most}")
            for rules, most in (("classic", 51), ("draft", 52))
            for plays in (0, 1)
            for action in (-1, 53, 255, -(2**63), 2**63, 2**64, 2**70)
        ),
        ("classic", 0, 52, "52 is not an action"),
        ("draft", 0, 52, "52 .*hidden card.* is not to be chosen now: seat 1 is to lead"),
        ("draft", 2, 60, "60 is not an action: .*from 0 to 52"),
        ("humbug", 0, 55, "55 is not an action: .*from 0 to 54"),
        *(
            ("humbug", 0, action, rf"{shown} cannot be played yet: seat 1 is to exchange, 53 ")
            for action, shown in ((0, "2C"), (52, "52 .the hidden card."))
        ),
        ("classic", 52, 0, "2C cannot be played: the hand is over"),
        ("classic", 52, 52, "cannot be played: the hand is over"),
        *(
            ("classic", 0, action, re.escape(repr(action)))
            for action in (True, None, 1.0, 1.5, [1], b"TD", (3,), np.array([3, 4]), "TDX", "")
        ),
    ],
)
def test_what_can_not_be_played_is_refused(rules: str, plays: int, action: Any, why: str) -> None:
    game = started(rules, plays)
    refused(game, lambda: game.play(action), why, ValueError)


def test_a_game_and_an_action_say_in_a_line_what_they_are() -> None:
    game = started("small-last")
    said = rf"^Game\(small-last, seat {game.turn} to lead, hands {game.hands[0][0]}.*; .*\)$"
    assert re.match(said, repr(game))
    game = started("small-last", 28)
    assert repr(game) == f"Game(small-last, over, pays {game.payoffs})"
    texts = [action_text(action) for action in (0, 51, 52, 53, -1)]
    named = ["0 (2C)", f"51 ({CARDS[51]})", "52 (the hidden card)", "53 (keep the hand)", "-1"]
    assert texts == named


def test_what_is_asked_too_early_or_too_late_is_refused() -> None:
    game = started()
    refused(game, game.undo, "nothing to take back")
    refused(game, lambda: game.payoffs, "not over")
    refused(game, game.deal_next, "not over")
    # A view is of the seat to move if none is named.
    while not game.over:
        assert game.view() == game.view(game.turn)
        assert game.view().to_move
        game.play(game.legal()[0])
    refused(game, game.view, "the hand is over, so no seat is to move: name one, 0 or 1")
    assert not game.view(0).to_move


@pytest.mark.parametrize("seat", [-1, 2, None, "0", 0.5, True, 1.0])
def test_seats_that_are_none_are_refused(seat: Any) -> None:
    game, shown = started(), re.escape(repr(seat))
    if seat is not None:  # which is the seat to move
        refused(game, lambda: game.view(seat), f"seat is {shown}", ValueError)
    deal = game.cards_dealt
    refused(game, lambda: game.deal_cards(deal, seat), f"dealer is {shown}", ValueError)


@pytest.mark.parametrize(
    ("seed", "number", "sentence"),
    [
        (-1, 0, "seed is -1: .*from 0"),
        (2**64, 0, f"seed is {2**64}: .*from 0"),
        (0, -1, "number is -1: .*from 0"),
        (5, 2**64, f"number is {2**64}"),
        (1.0, 0, "seed is 1.0: .*whole number"),
        (None, 0, "seed is None: .*whole number"),
        (True, 0, "seed is True: .*whole number"),
        (0, "7", "number is '7': .*whole number"),
    ],
)
def test_seeds_that_are_none_are_refused(seed: Any, number: Any, sentence: str) -> None:
    game = started(plays=5)
    refused(game, lambda: game.deal(seed, number), sentence, ValueError)
    with pytest.raises(ValueError, match=sentence):
        Game("classic", seed, number)
    if number == 0 and seed is not None:  # a batch without a seed goes on to the next deals
        games = batch()
        with pytest.raises(ValueError, match=sentence):
            games.reset(seed)
        assert games.batch.games.tobytes() == batch().batch.games.tobytes()


def test_deals_that_are_none_are_refused() -> None:
    game = started("small-last", 4)
    deal = [str(card) for card in game.cards_dealt]
    for wrong, sentence in (
        (deal[:-1], "has 28 cards, this one has 27"),
        ([], "has 28 cards, this one has 0"),
        ([*deal[:-1], deal[0]], f"{deal[0]} is dealt twice"),
        ([*deal, deal[0]], f"{deal[0]} is dealt twice"),
        ([*deal[:-1], "2C"], "2C is not in the deck of small-last"),
        ([*deal[:-1], "XX"], "'XX' is not a card"),
        ([*deal[:-1], 52], "52 is not a card id"),
        (" ".join(deal[:-2]), "has 28 cards, this one has 26"),
    ):
        why = re.escape(sentence)
        refused(game, lambda wrong=wrong: game.deal_cards(wrong, 0), why, ValueError)


def test_cards_set_aside_may_be_left_out_of_a_deal_all_or_none() -> None:
    rules = {"name": "aside", "ranks": 7, "hand": 5, "stock": 10}
    game = Game(rules, 3)
    deal = list(map(int, game.cards_dealt))
    short, full = Game(rules), Game(rules)
    short.deal_cards(deal[:20], 1)
    full.deal_cards(deal, 1)
    assert short.hands == full.hands
    assert short.stock == full.stock
    assert sorted(short.cards_dealt[20:]) == sorted(full.cards_dealt[20:])
    why = "aside has 20 cards, this one has 22"
    refused(game, lambda: game.deal_cards(deal[:22], 0), why, ValueError)


# -- the batch


def batch(**options: Any) -> SelfPlayEnv:
    games = dealt("classic", 4, 3, **options)
    step = games.observe()
    for _ in range(5):
        step = games.step(step.masks.argmax(axis=1))
    return games


def with_action(legal: np.ndarray, index: int, action: int, kind: Any = np.int64) -> np.ndarray:
    actions = legal.astype(kind)
    actions[index] = action
    return actions


NOT_ACTIONS: list[tuple[Callable[[np.ndarray], Any], str]] = [
    (lambda legal: legal[:3], r"\(3,\).*4 games"),
    (lambda legal: np.append(legal, 0), r"\(5,\).*4 games"),
    (lambda legal: legal[:, None], r"\(4, 1\).*4 games"),
    (lambda legal: legal[0], r"\(\).*4 games"),
    (lambda legal: np.array([], int), r"\(0,\).*4 games"),
    (lambda legal: legal.astype(np.float64), "actions are float64: .*whole"),
    (lambda legal: legal.astype(bool), "actions are bool: .*whole"),
    (lambda legal: legal.astype(object), "actions are object: .*whole"),
    (lambda legal: legal.astype("U2"), "actions are <U2: .*whole"),
    *(
        (
            lambda legal, action=action: with_action(legal, 2, action),
            f"action {action} is not legal in game 2: actions run from 0 to 51",
        )
        for action in (-1, 52, 53, 64, 255, -(2**63), 2**62)
    ),
    (
        lambda legal: with_action(legal, 1, 2**64 - 1, np.uint64),
        f"action {2**64 - 1} is not legal in game 1",
    ),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("wrong", "sentence"), NOT_ACTIONS)
def test_actions_that_are_none_are_refused(wrong: Any, sentence: str, threads: int) -> None:
    games = batch(threads=threads)
    legal = games.observe().masks.argmax(axis=1)
    refused(games, lambda: games.step(wrong(legal)), sentence)


@pytest.mark.parametrize("suit_order", ["raw", "trump-first"])
def test_one_illegal_action_keeps_every_game_where_it_is(suit_order: str) -> None:
    games = dealt("classic", 4, 3, suit_order=suit_order)
    masks = games.observe().masks
    names = str if suit_order == "trump-first" else action_text
    for index in range(4):
        wrong = int(np.flatnonzero(masks[index] == 0)[-1])
        actions = with_action(masks.argmax(axis=1), index, wrong)
        allowed = ", ".join(names(int(action)) for action in np.flatnonzero(masks[index]))
        why = f"action {names(wrong)} is not legal in game {index}: its mask allows {allowed}"
        refused(games, lambda actions=actions: games.step(actions), re.escape(why))


@pytest.mark.parametrize(
    ("indices", "sentence"),
    [
        ([4], "no game 4: .*from 0 to 3"),
        ([-1], "no game -1: .*from 0 to 3"),
        ([1, 1], "twice"),
        ([0.0], "float64"),
        ([True, False, True, False], "bool"),
        ([[0]], re.escape("(1, 1)")),
    ],
)
def test_indices_that_are_none_are_refused(indices: Any, sentence: str) -> None:
    games, where = batch(), np.array(indices)
    actions = np.zeros(where.shape, int)
    refused(games, lambda: games.step(actions, where), sentence, ValueError)
    refused(games, lambda: games.views(0, where), sentence, ValueError)
    legal = games.observe().masks.argmax(axis=1)
    refused(games, lambda: games.step(legal, np.array([0, 1])), r"\(4,\).*2 games")
    for seats in (2, -1, np.array([0, 1, 2, 0])):
        refused(games, lambda seats=seats: games.views(seats), "seats are 0 and 1", ValueError)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"n": 0}, "num_envs is 0"),
        ({"n": -3}, "num_envs is -3"),
        ({"n": 2.0}, "num_envs is 2.0"),
        ({"n": True}, "num_envs is True"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": None}, "threads is None"),
        ({"seed": -1}, "seed is -1"),
        ({"suit_order": "fancy"}, r"suit_order is 'fancy'.*raw, trump-first"),
    ],
)
def test_batches_that_are_none_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        dealt("classic", **{"n": 2, **values})
