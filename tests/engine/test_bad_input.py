"""Bad input: a sentence that names the value, and nothing changed by it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from german_whist.engine.cards import CARDS, action_text
from german_whist.engine.game import Game, IllegalAction
from german_whist.engine.rules import Match
from german_whist.envs import SelfPlayEnv
from support import dealt


def all_of(game: Game) -> tuple[Any, ...]:
    """Everything there is to a game."""
    return (
        game.record.tobytes(),
        tuple(game.actions),
        tuple(game.legal()),
        game.phase,
        game.turn,
        game.seed,
        game.number,
        tuple(game.cards_dealt),
    )


def all_of_batch(games: SelfPlayEnv) -> tuple[Any, ...]:
    return (
        games.batch.records.tobytes(),
        tuple(array.tobytes() for array in games.look()),
        int(games.state()["seed"][0]),
    )


def refused(
    game: Game, deed: Callable[[], object], sentence: str, error: type[Exception] = IllegalAction
) -> None:
    """The deed is refused with this sentence, and the game is as before."""
    before = all_of(game)
    with pytest.raises(error, match=sentence):
        deed()
    assert all_of(game) == before


def started(name: str = "classic", plays: int = 0) -> Game:
    game = Game(name, 1)
    for _ in range(plays):
        game.play(game.legal()[0])
    return game


def seeded(seed: int) -> Game:
    return Game("classic", seed)


def test_cards_that_are_not_held_are_refused() -> None:
    game = started()
    missing = next(card for card in CARDS if card not in game.hands[game.turn or 0])
    for action in (missing, int(missing), str(missing), missing.symbol, np.int64(missing)):
        refused(
            game,
            lambda action=action: game.play(action),
            rf"{missing} is not in the hand of seat {game.turn}, which holds .*",
        )


@pytest.mark.parametrize("action", [0, 51])
def test_the_first_and_the_last_card_are_cards(action: int) -> None:
    game = next(game for game in map(seeded, range(9)) if action not in game.hands[game.turn or 0])
    refused(game, lambda: game.play(action), rf"^{CARDS[action]} is not in the hand")


def test_cards_that_do_not_follow_suit_are_refused() -> None:
    game = Game("classic")
    rest = [card for card in CARDS if str(card) not in ("2C", "3C", "4C", "5D")]
    game.deal_cards([*map(int, (CARDS[0], CARDS[1])), 2, 16, *rest], 1)
    game.play("2C")
    refused(game, lambda: game.play("5D"), "5D does not follow suit: clubs were led, play .*3C")


@pytest.mark.parametrize("plays", [0, 1])
@pytest.mark.parametrize("action", [-1, 53, 54, 255, -(2**63), 2**63, 2**64, 2**70])
def test_numbers_that_are_no_action_are_refused(action: int, plays: int) -> None:
    game = started(plays=plays)
    refused(game, lambda: game.play(action), rf"{action} is not an action: .*from 0 to 51")
    draft = started("draft", plays)
    refused(draft, lambda: draft.play(action), rf"{action} is not an action: .*from 0 to 52")


def test_the_hidden_choice_is_refused_where_there_is_none() -> None:
    game = started()
    refused(game, lambda: game.play(52), "52 is not an action")
    draft = started("draft")
    refused(
        draft,
        lambda: draft.play(52),
        "52 .*hidden card.* is not to be chosen now: seat 1 is to lead",
    )
    draft = started("draft", 2)
    assert draft.phase == "choose"
    upcard = draft.upcards[0]
    hidden = draft.stock[1]
    refused(draft, lambda: draft.play(hidden), f"chooses {upcard} or 52")
    refused(draft, lambda: draft.play(60), "60 is not an action: .*from 0 to 52")


def test_what_is_no_exchange_is_refused_before_it_is_done() -> None:
    game = started("humbug")
    for action, shown in ((0, "2C"), (52, "52 .the hidden card.")):
        why = rf"{shown} can not be played yet: seat 1 is to exchange, 53 .*keep.* or 54 .*take"
        refused(game, lambda action=action: game.play(action), why)
    refused(game, lambda: game.play(55), "55 is not an action: .*from 0 to 54")


@pytest.mark.parametrize(
    "action", [True, None, 1.0, 1.5, [1], b"TD", (3,), np.array([3, 4]), "TDX", ""]
)
def test_what_is_no_action_at_all_is_refused(action: Any) -> None:
    game = started()
    shown = re.escape(repr(action))
    refused(game, lambda: game.play(action), shown, ValueError)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64, int])
def test_numbers_of_any_kind_are_actions(kind: Any) -> None:
    game, twin = started(), started()
    game.play(kind(game.legal()[0]))
    twin.play(twin.legal()[0])
    assert game.record.tobytes() == twin.record.tobytes()
    assert game.actions == twin.actions
    assert all(isinstance(action, int) for action in game.actions)


def test_a_game_says_in_a_line_how_it_stands() -> None:
    game = started("small-last")
    said = rf"^Game\(small-last, seat {game.turn} to lead, hands {game.hands[0][0]}.*; .*\)$"
    assert re.match(said, repr(game))
    while not game.over:
        game.play(game.legal()[0])
    assert repr(game) == f"Game(small-last, over, pays {game.pays})"


def test_an_action_is_told_by_its_number_and_by_what_it_is() -> None:
    found = [action_text(each) for each in (0, 51, 52, 53, -1)]
    assert found == [
        "0 (2C)",
        f"51 ({CARDS[51]})",
        "52 (the hidden card)",
        "53 (keep the hand)",
        "-1",
    ]


def test_a_move_after_the_end_is_refused() -> None:
    game = started()
    card = game.legal()[0]
    while not game.over:
        card = game.legal()[0]
        game.play(card)
    refused(game, lambda: game.play(card), f"{card} can not be played: the hand is over")
    refused(game, lambda: game.play(52), "can not be played: the hand is over")
    assert game.legal() == []
    assert game.turn is None


def test_taking_back_nothing_and_asking_too_early_is_refused() -> None:
    game = started()
    refused(game, game.undo, "nothing to take back")
    refused(game, lambda: game.pays, "not over")
    refused(game, game.deal_next, "not over")


def test_a_view_is_of_the_seat_to_move_if_none_is_named() -> None:
    game = started()
    while not game.over:
        assert game.view() == game.view(game.turn)
        assert game.view().to_move
        game.play(game.legal()[0])
    refused(game, game.view, "the hand is over, so no seat is to move: name one, 0 or 1")
    assert not game.view(0).to_move


@pytest.mark.parametrize("seat", [-1, 2, 3, None, "0", 0.5, True, 1.0])
def test_seats_that_are_none_are_refused(seat: Any) -> None:
    game = started()
    if seat is not None:  # which is the seat to move
        refused(game, lambda: game.view(seat), f"seat is {re.escape(repr(seat))}", ValueError)
    deal = game.cards_dealt
    refused(
        game,
        lambda: game.deal_cards(deal, seat),
        f"dealer is {re.escape(repr(seat))}",
        ValueError,
    )


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
        games = dealt("classic", 3, 1)
        before = games.batch.records.tobytes()
        with pytest.raises(ValueError, match=sentence):
            games.reset(seed)
        assert games.batch.records.tobytes() == before


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
        refused(
            game, lambda wrong=wrong: game.deal_cards(wrong, 0), re.escape(sentence), ValueError
        )


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
    refused(
        game,
        lambda: game.deal_cards(deal[:22], 0),
        "aside has 20 cards, this one has 22",
        ValueError,
    )


# -- the batch


def batch() -> SelfPlayEnv:
    games = dealt("classic", 4, 3)
    step = games.look()
    for _ in range(5):
        step = games.step(step.masks.argmax(axis=1))
    return games


def refused_by_batch(
    games: SelfPlayEnv,
    deed: Callable[[], object],
    sentence: str,
    error: type[Exception] = IllegalAction,
) -> None:
    before = all_of_batch(games)
    with pytest.raises(error, match=sentence):
        deed()
    assert all_of_batch(games) == before


def test_a_wrong_number_of_actions_is_refused() -> None:
    games = batch()
    legal = games.look().masks.argmax(axis=1)
    for wrong, shape in (
        (legal[:3], "(3,)"),
        (np.append(legal, 0), "(5,)"),
        (legal[:, None], "(4, 1)"),
        (legal[0], "()"),
        (np.array([], int), "(0,)"),
    ):
        refused_by_batch(
            games, lambda wrong=wrong: games.step(wrong), re.escape(shape) + ".*4 games"
        )
    refused_by_batch(
        games, lambda: games.step(legal, np.array([0, 1])), re.escape("(4,)") + ".*2 games"
    )


@pytest.mark.parametrize("kind", [np.float32, np.float64, bool, object, "U2"])
def test_actions_of_a_wrong_kind_are_refused(kind: Any) -> None:
    games = batch()
    legal = games.look().masks.argmax(axis=1)
    name = np.dtype(kind).name if kind != "U2" else "<U2"
    refused_by_batch(games, lambda: games.step(legal.astype(kind)), f"actions are {name}: .*whole")


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.uint64, list]
)
def test_actions_of_any_whole_kind_are_played(kind: Any) -> None:
    games, twin = batch(), batch()
    legal = games.look().masks.argmax(axis=1)
    games.step(legal.tolist() if kind is list else legal.astype(kind))
    twin.step(legal)
    assert games.batch.records.tobytes() == twin.batch.records.tobytes()


@pytest.mark.parametrize("action", [-1, 52, 53, 64, 65, 255, -(2**63), 2**62])
def test_actions_out_of_range_are_refused(action: int) -> None:
    for threads in (1, 2):
        games = dealt("classic", 4, 3, threads=threads)
        legal = games.look().masks.argmax(axis=1)
        legal[2] = action
        refused_by_batch(
            games,
            lambda games=games, legal=legal: games.step(legal),
            f"action {action} is not legal in game 2: actions run from 0 to 51",
        )


def test_actions_too_great_for_the_batch_are_named_as_they_are() -> None:
    games = batch()
    legal = games.look().masks.argmax(axis=1).astype(np.uint64)
    legal[1] = 2**64 - 1
    refused_by_batch(games, lambda: games.step(legal), f"action {2**64 - 1} is not legal in game 1")


@pytest.mark.parametrize("layout", ["raw", "trump-first"])
def test_one_illegal_action_keeps_every_game_where_it_is(layout: str) -> None:
    games = dealt("classic", 4, 3, layout=layout)
    masks = games.look().masks
    for index in range(4):
        actions = masks.argmax(axis=1)
        wrong = int(np.flatnonzero(masks[index] == 0)[-1])
        actions[index] = wrong
        legal = np.flatnonzero(masks[index])
        names = str if layout == "trump-first" else action_text
        allowed = ", ".join(names(int(each)) for each in legal)
        refused_by_batch(
            games,
            lambda actions=actions: games.step(actions),
            re.escape(
                f"action {names(wrong)} is not legal in game {index}: its mask allows {allowed}"
            ),
        )


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
    games = batch()
    where = np.array(indices)
    actions = np.zeros(where.shape, int)
    for deed in (
        lambda: games.step(actions, where),
        lambda: games.views(0, where),
    ):
        refused_by_batch(games, deed, sentence, ValueError)


def test_views_of_seats_that_are_none_are_refused() -> None:
    games = batch()
    for seats in (2, -1, np.array([0, 1, 2, 0])):
        sentence = "seats are 0 and 1"
        refused_by_batch(games, lambda seats=seats: games.views(seats), sentence, ValueError)


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
        ({"layout": "fancy"}, "layout is 'fancy'"),
    ],
)
def test_batches_that_are_none_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        dealt("classic", **{"n": 2, **values})


def test_illegal_actions_leave_a_match_as_it_is() -> None:
    game = Game("small-last", 2, match=Match(best_of=3))
    while not game.over:
        game.play(game.legal()[0])
    before = all_of(game)
    with pytest.raises(IllegalAction):
        game.play(0)
    assert all_of(game) == before
    assert sum(game.hands_won) == 1
