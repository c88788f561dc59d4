"""The thinker: exact values, batch independence, beliefs, MLP inference."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, pairwise, product
from math import prod
from typing import Any

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents import Agent, Player, load_agent
from german_whist.agents.base import CannotPlay, ViewBatch
from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS, champion_for
from german_whist.agents.networks.belief import (
    INPUTS,
    MAX_HIDDEN_CARDS,
    draw_weighted_hand,
    sum_hand_weights,
)
from german_whist.agents.networks.mlp import (
    MLPWeights,
    forward,
    forward_rows,
    new_forward_buffers,
    new_mlp_batch,
    pack_mlp,
)
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.search.base import PRUNE_AT_START, PRUNE_BY_BOUNDS, PRUNE_BY_RACING
from german_whist.agents.search.leaf_values import indifferent_reply, solve_last_trick
from german_whist.agents.search.root import MIN_REPLY_PROBABILITY, thinker_actions
from german_whist.agents.search.simulation import ROUND_SIZE, new_search, play_ahead
from german_whist.agents.search.thinker import ThinkerAgent
from german_whist.engine.dtypes import GAME, NO_TRUMP
from german_whist.engine.endgame import load_tablebase, value
from german_whist.engine.endgame.solver import thread_scratch
from german_whist.engine.observation.suit_order import trump_first_order
from german_whist.engine.play import payoff_of_tricks, row
from german_whist.engine.rules import load_rules
from support import play_all


@cache
def champion(rules: str) -> Agent:
    return load_agent("champion:sample", rules)


def at_trick(trick: int, seed: int, follow: bool, rules: str = "classic") -> Game:
    """A game of trained agents, before a card of some trick."""
    player = Player(champion(rules), seed=1)
    game = Game(rules, seed=seed)
    while game.view(0).trick < trick or (game.phase == "follow") != follow:
        game.play(player.choose(game.view()))
    return game


def payoff(game: Game, seat: int) -> int:
    """Pay of a seat in an ending with best play."""
    record = game.array[0]
    leader = int(record["leader"])
    hands, low = [int(cards) for cards in record["hand"]], bool(record["low"])
    trump = None if record["trump"] == NO_TRUMP else int(record["trump"])
    leader_tricks = value(hands, trump, leader, low=low)
    own_tricks, rest = int(record["tricks"][leader]), int(record["tricks"][1 - leader])
    remaining = hands[0].bit_count() - leader_tricks
    rules, ends = row(game.rules.array(), 0), (own_tricks + leader_tricks, rest + remaining)
    return int(payoff_of_tricks(rules, int(low), *ends)) * (1 if leader == seat else -1)


def sure_of(game: Game, seat: int) -> MLPWeights:
    """A belief network that knows the opponent's hand in this position."""
    view = game.view(seat).array
    order = np.zeros(4, np.uint8)
    trump_first_order(row(game.rules.array(), 0), row(view.copy(), 0), order)
    opponent_hand = int(game.array[0]["hand"][1 - seat])
    biases = [
        9.0 if opponent_hand >> (13 * int(order[place // 13]) + place % 13) & 1 else -9.0
        for place in range(52)
    ]
    weights = np.concatenate([np.zeros(INPUTS * 52), biases]).astype(np.float32)
    return pack_mlp(np.array([INPUTS, 52]), weights)


def card_value(game: Game, card: int, policy: NetworkAgent) -> float:
    """Value of a card in the true deal, by exact endings and the policy's likely replies."""
    seat = game.turn or 0
    after = game.clone()
    after.play(card)
    if after.view(0).endgame:
        return payoff(after, seat)
    probs = policy.network_probabilities(after.view(1 - seat).array.copy())[0]
    probs[probs < MIN_REPLY_PROBABILITY * probs.max()] = 0
    value = 0.0
    for reply in np.flatnonzero(probs):
        replied = after.clone()
        replied.play(int(reply))
        value += float(probs[reply] / probs.sum()) * payoff(replied, seat)
    return value


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("rules", ["classic", "margin", "all-tricks", "colour", "no-trump"])
def test_true_determinization_alone_gives_exactly_best_card(rules: str, follow: bool) -> None:
    agent = load_agent("thinker:1,last=2", rules)
    policy = NetworkAgent(rules, champion_for(load_rules(rules)))
    assert isinstance(agent, ThinkerAgent)
    compared = 0
    for seed in range(40 if rules == "classic" else 16):
        game = at_trick(12, seed, follow, rules)
        view = game.view()
        values = {card: card_value(game, card, policy) for card in view.legal()}
        if max(values.values()) - min(values.values()) < 0.3:
            continue
        compared += 1
        belief = sure_of(game, view.seat)
        networks = agent.networks._replace(belief=belief, uses_belief=True)
        tablebase = load_tablebase(view.trump is not None, bool(view.array["low"][0]))
        actions, rng = np.zeros(1, np.int64), np.zeros(1, np.uint64)
        search = new_search(agent.rules_array, tablebase, networks)
        thinker_actions(search, ViewBatch(view.array.copy(), rng, actions), 1, False)
        # What the policy likes counts for a little.
        assert values[int(actions[0])] > max(values.values()) - 0.1
    assert compared > 1


LAST_TRICKS = ("classic", "margin", "all-tricks", "colour", "no-trump", "small-all")


def open_value(position: Game, seat: int) -> int:
    """Payoff of a seat with best play by both, who see all cards, by plain minimax."""
    if position.view(0).endgame:
        return payoff(position, seat)
    payoffs = []
    for card in position.legal():
        child = position.clone()
        child.play(card)
        payoffs.append(open_value(child, seat))
    return max(payoffs) if position.turn == seat else min(payoffs)


@pytest.mark.parametrize("name", LAST_TRICKS)
def test_last_trick_with_open_cards_equals_plain_minimax(name: str) -> None:
    trick = load_rules(name).foreplay_tricks - 1
    for seed in range(4):
        game = at_trick(trick, seed, follow=False, rules=name)
        rules, games = row(game.rules.array(), 0), np.array(game.array, GAME)
        tablebase = load_tablebase(game.view(0).trump is not None, bool(games["low"][0]))
        best, room = float(game.rules.max_payoff), np.zeros(2, GAME)
        solved = solve_last_trick(rules, tablebase, thread_scratch(), games, room, best)
        assert solved == open_value(game, game.turn or 0)


@pytest.mark.parametrize("tricks", [1, 2])
@pytest.mark.parametrize("name", LAST_TRICKS)
def test_indifferent_replies_all_have_one_value(name: str, tricks: int) -> None:
    found = 0
    for seed in range(12):
        game = at_trick(load_rules(name).foreplay_tricks - tricks, seed, follow=True, rules=name)
        rules, games = row(game.rules.array(), 0), np.array(game.array, GAME)
        tablebase = load_tablebase(game.view(0).trump is not None, bool(games["low"][0]))
        room = np.zeros(1, GAME)
        reply = indifferent_reply(rules, tablebase, thread_scratch(), games, room)
        values = set()
        for card in game.legal():
            child = game.clone()
            child.play(card)
            trial, space = np.array(child.array, GAME), np.zeros(2, GAME)
            best = float(game.rules.max_payoff)
            value = (
                solve_last_trick(rules, tablebase, thread_scratch(), trial, space, best)
                if tricks == 2
                else payoff(child, child.turn or 0)
            )
            values.add(value if child.turn == game.turn else -value)
        if reply >= 0:
            found += 1
            assert reply in game.legal()
            assert len(values) == 1
        elif tricks == 1 and game.rules.pay == "win":
            assert len(values) > 1
    assert found or (tricks == 1 and load_rules(name).pay != "win")


@pytest.mark.parametrize("ahead", [0, 1, 3, 13])
def test_ahead_lets_policy_play_up_to_last_stock_trick(ahead: int) -> None:
    agent = load_agent(f"thinker:4,ahead={ahead}")
    assert isinstance(agent, ThinkerAgent)
    policy = Player(NetworkAgent("classic", CLASSIC_WEIGHTS))
    for seed, trick in enumerate((1, 4, 9, 10, 11, 12)):
        game = at_trick(trick, seed, follow=False)
        game.play(policy.choose(game.view()))
        search = new_search(game.rules.array(), load_tablebase(), agent.networks)
        search.leaves[0] = game.array[0]
        play_ahead(search, 1)
        # The trick begun is ended, and so many more follow.
        while game.view(0).trick < min(trick + 1 + ahead, max(trick + 1, 12)):
            game.play(policy.choose(game.view()))
        leaf = search.leaves[0]
        assert leaf["trick"] == game.array[0]["trick"]
        np.testing.assert_array_equal(leaf["hand"], game.array[0]["hand"])


def test_estimates_are_exact_at_last_trick_alone() -> None:
    agent = load_agent("thinker:64")
    last, early = (at_trick(trick, 3, follow=False).view() for trick in (12, 4))
    exact, estimates = agent.estimates(last), agent.estimates(early)
    assert exact is not None
    assert estimates is not None
    assert exact.margins_of_error == pytest.approx(0, abs=1e-9)
    assert len(exact.actions) == len(last.legal())
    assert (estimates.margins_of_error > 0).all()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_hands_are_drawn_by_the_product_of_their_odds(count: int) -> None:
    cards = [3, 17, 21, 40, 51]
    odds = np.zeros(52)
    odds[cards] = [0.2, 1.0, 3.0, 0.0, 1.5]
    unseen = np.uint64(sum(1 << card for card in cards))
    sums = np.zeros((53, MAX_HIDDEN_CARDS + 1))
    sum_hand_weights(unseen, count, odds, sums)
    stream, n = np.array([5], np.uint64), 8_000
    drawn = Counter(int(draw_weighted_hand(unseen, count, odds, sums, stream)) for _ in range(n))
    expected = {
        sum(1 << card for card in hand): prod(odds[card] for card in hand)
        for hand in combinations(cards, count)
    }
    assert {*drawn} <= {*expected}
    for hand_set, weight in expected.items():
        share = weight / sum(expected.values())
        assert drawn[hand_set] / n == pytest.approx(share, abs=0.02)
        assert weight > 0 or hand_set not in drawn


def test_where_too_much_is_ruled_out_nothing_is() -> None:
    odds, sums = np.zeros(52), np.zeros((53, MAX_HIDDEN_CARDS + 1))
    odds[1] = 1.0
    sum_hand_weights(np.uint64(0b111), 2, odds, sums)
    hand_set = draw_weighted_hand(np.uint64(0b111), 2, odds, sums, np.array([1], np.uint64))
    assert int(hand_set).bit_count() == 2
    assert int(hand_set) & 0b10


@pytest.mark.parametrize("sizes", [(30, 20, 12, 5), (30, 17, 9), (30, 6)])
def test_mlp_row_depends_on_no_batch_and_equals_numpy(sizes: Any) -> None:
    rng = np.random.default_rng(1)
    # Rows that follow each other have much in common, little, or nothing.
    flips = rng.random((25, 30)) < rng.choice([0.05, 0.3, 0.6], size=(25, 1))
    x_of = np.logical_xor.accumulate(flips).astype(np.float32)
    parts, x = [], x_of
    for k, (n, m) in enumerate(pairwise(sizes)):
        weight, bias = rng.normal(size=(n, m)), rng.normal(size=m)
        parts += [weight.ravel(), bias]
        x = x @ weight + bias
        x = np.maximum(x, 0) if k < len(sizes) - 2 else x
    net = pack_mlp(np.array(sizes), np.concatenate(parts))
    rows = new_mlp_batch(net, len(x_of), 30)
    for k, row_inputs in enumerate(x_of):
        active = rng.permutation(np.flatnonzero(row_inputs))
        rows.n_active[k] = len(active)
        rows.active_inputs[k, : len(active)] = active
    for count in (0, 1, 4, len(x_of)):
        rows.out[:] = np.nan
        forward_rows(net, rows, count)
        assert (np.isfinite(rows.out).all(axis=1) == (np.arange(len(x_of)) < count)).all()
    together = rows.out.copy()
    np.testing.assert_allclose(together, x, rtol=1e-4, atol=1e-4)
    alone, buffers = np.zeros(sizes[-1], np.float32), new_forward_buffers(net.sizes)
    for k in range(len(x_of)):
        forward(net, rows.active_inputs[k, : rows.n_active[k]], buffers, alone)
        np.testing.assert_array_equal(alone, together[k])


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0, 1e6])
def test_first_layer_neither_overflows_nor_loses_precision(scale: float) -> None:
    rng = np.random.default_rng(2)
    # No column loses anything to how large another is.
    numbers = (scale * np.abs(rng.normal(size=(401, 7))) * np.logspace(-4, 4, 7)).ravel()
    for sign in (1, -1):
        net = pack_mlp(np.array([400, 7]), sign * numbers)
        out = np.zeros(7, np.float32)
        forward(net, np.arange(400), new_forward_buffers(net.sizes), out)
        expected = sign * numbers.reshape(401, 7).sum(axis=0)
        np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_it_thinks_for_a_time_and_stops_when_one_card_is_left() -> None:
    view = at_trick(12, 1, follow=False).view()
    assert Player(load_agent("thinker:20000ms")).choose(view) in view.legal()


@pytest.mark.parametrize(
    ("name", "as_thinker", "last"),
    [("champion", "thinker:10", 2), ("thinker:5,last=4", "thinker:5", 4)],
)
def test_it_thinks_at_the_last_tricks_alone(name: str, as_thinker: str, last: int) -> None:
    player, thinker = Player(load_agent(name), seed=2), Player(load_agent(as_thinker), seed=2)
    network = Player(NetworkAgent("classic", CLASSIC_WEIGHTS))
    differing = 0
    for trick, follow, seed in product((12 - last, 13 - last, 12, 13), (False, True), range(8)):
        view = at_trick(trick, seed, follow).view()
        chosen, plain = player.choose(view), network.choose(view)
        assert chosen == (thinker.choose(view) if 13 - last <= trick <= 12 else plain)
        differing += chosen != plain
    assert differing > 2


@pytest.mark.parametrize("prior", [0.0, 0.03])
def test_it_plays_the_best_mean_and_weighted_log_prior(prior: float) -> None:
    network, weighted = NetworkAgent("classic", CLASSIC_WEIGHTS), 0
    thinker = ThinkerAgent("classic", 8, f"prior={prior}")
    streams = np.ones(1, np.uint64)
    for seed in range(30):
        view = (game := at_trick(1 + seed % 9, seed, follow=bool(seed % 2))).view(game.turn or 0)
        views, cards = np.array(view.array), view.legal()
        action, values = thinker.act_with_values(views, streams)
        searched = ~np.isnan(values[0, : len(cards)])
        if searched.sum() > 1:
            policy = np.maximum(network.network_probabilities(views)[0][cards], 1e-30)
            scores = np.where(searched, values[0, : len(cards)] + prior * np.log(policy), -9)
            assert action[0] == cards[scores.argmax()]
            weighted += 1
    assert weighted > 5


def searched(agent: ThinkerAgent, game: Game, pruning: int) -> tuple[int, int]:
    """Action of a search in 96 determinizations, and in how many it was decided."""
    view, actions = game.view(), np.zeros(1, np.int64)
    search = new_search(agent.rules_array, load_tablebase(), agent.networks, pruning)
    batch = ViewBatch(view.array.copy(), np.ones(1, np.uint64), actions)
    thinker_actions(search, batch, 96, False)
    return int(actions[0]), int(search.progress["samples"][0])


def test_race_rarely_drops_card_that_all_samples_choose() -> None:
    agent = ThinkerAgent("classic")
    compared = missed = shortened = 0
    for seed in range(125):
        game = at_trick(1 + seed % 9, seed, follow=bool(seed % 2))
        action, samples = searched(agent, game, PRUNE_BY_RACING)
        best, all_samples = searched(agent, game, PRUNE_AT_START)
        compared += all_samples > 0
        missed += action != best
        shortened += samples < all_samples
    assert compared > 50
    assert missed < 0.06 * compared
    assert shortened > 0.1 * compared


def test_race_ends_at_once_where_prior_outweighs_values() -> None:
    agent, raced = ThinkerAgent("classic", 96, "prior=1"), 0
    for seed in range(30):
        game = at_trick(1 + seed % 9, seed, follow=bool(seed % 2))
        _, samples = searched(agent, game, PRUNE_BY_RACING)
        assert samples <= ROUND_SIZE
        raced += samples > 0
    assert raced > 20


@pytest.mark.parametrize(
    ("rules", "prior"),
    [
        ("classic", "0"),
        ("classic", "0.0025"),
        ("classic", "1e6"),
        ("margin", "0"),
        ("all-tricks", "0"),
        ("colour", "0"),
        ("no-trump", "0"),
    ],
)
def test_bounds_drop_no_card_that_all_values_choose(rules: str, prior: str) -> None:
    agent = ThinkerAgent(rules, 10, f"prior={prior}", "last=2")
    views = np.concatenate(
        [at_trick(11 + seed % 2, seed, bool(seed & 2), rules).view().array for seed in range(24)]
    )
    for samples, low in product((10, 24), {*views["low"].tolist()}):
        contract = np.array(views[views["low"] == low])
        (tablebase,) = [tables for tables in agent._tablebases if tables.low == low]
        chosen: list[list[int]] = []
        for pruning in (PRUNE_BY_RACING, PRUNE_BY_BOUNDS):
            search = agent._new_search(pruning)._replace(tablebase=tablebase)
            actions, rng = np.zeros(len(contract), np.int64), np.arange(len(contract), dtype="u8")
            thinker_actions(search, ViewBatch(contract, rng, actions), samples, False)
            chosen.append(actions.tolist())
        assert chosen[0] == chosen[1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("thinker:0", "thinker:64"),
        ("thinker:64,prior=-1", "prior is '-1': it is the weight"),
        ("thinker:64,prior=warm", "prior is 'warm': it is the weight"),
        ("thinker:64,prior=inf", "prior is 'inf': it is the weight"),
        ("thinker:64,last=0", "last is '0': .* from 1 to 13 in classic"),
        ("thinker:64,last=14", "last is '14': "),
        ("thinker:64,ahead=14", "ahead is '14': .* from 0 to 13 in classic"),
        ("thinker:64,luck", "last=TRICKS.* policy=PATH, value=PATH, belief=PATH, and belief=voids"),
        (f"thinker:64,value={CLASSIC_WEIGHTS}", "is not a value or belief network"),
        ("thinker:64,value=AGENTS/belief", "and a value network with"),
        ("thinker:64,belief=nowhere", "there is no checkpoint"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_agent(name.replace("AGENTS", str(CLASSIC_WEIGHTS.parent)))


@pytest.mark.parametrize("rules", ["draft", "open-stock", "race-9"])
def test_rules_that_it_can_not_think_about_are_refused(rules: str) -> None:
    with pytest.raises(CannotPlay, match=f"the thinker does not play {rules}"):
        load_agent("thinker:64,last=1", rules)
    assert not ThinkerAgent.plays(load_rules(rules))


@pytest.mark.parametrize("rules", ["no-trump", "all-tricks", "colour"])
def test_rules_without_value_network_search_last_tricks_alone(rules: str) -> None:
    with pytest.raises(CannotPlay, match=f"a value network does not cover {rules}"):
        load_agent("thinker:64", rules)
    assert not ThinkerAgent.plays(load_rules(rules))
    agent = load_agent("thinker:4,last=2", rules)
    play_all((agent, agent), rules, 2, seed=1)
