"""Self-play hands, search targets and fits of expert iteration beside second implementations.

Hands are played again in the engine's single game. Networks are evaluated in NumPy from the
weights in their files; targets, losses, gradients, Adam and the averaged weights are computed
from their formulas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from faulty_opponents import Lowest
from plain_learning import (
    PlainAdam,
    Weights,
    add_gradients,
    float64_copy,
    forward,
    masked_log_softmax,
)
from safetensors.numpy import load_file

from german_whist import Game
from german_whist.agents.checkpoints import read_checkpoint, specialize_checkpoint
from german_whist.agents.checkpoints.bundled import FAMILY_WEIGHTS, SECOND_WEIGHTS, VALUE_WEIGHTS
from german_whist.agents.networks.belief import MAX_BELIEF_INPUTS, write_belief_inputs
from german_whist.agents.networks.mlp import pack_mlp
from german_whist.agents.networks.policy import NetworkAgent, policy_net
from german_whist.agents.networks.value import INPUTS, N_OUTCOMES, read_value_network
from german_whist.engine.dtypes import VIEW
from german_whist.engine.endgame import value
from german_whist.engine.play import row
from german_whist.engine.rules import load_rules
from german_whist.expert_iteration import pipeline
from german_whist.expert_iteration import self_play as played_hands
from german_whist.expert_iteration.fit_belief import BeliefTask
from german_whist.expert_iteration.fit_value import ValueTask, lambda_returns
from german_whist.expert_iteration.fitting import Fit, FitConfig, write_search_network
from german_whist.expert_iteration.pipeline import policy_layers, run_expert_iteration
from german_whist.expert_iteration.recipe import Recipe, load_recipe
from german_whist.expert_iteration.search_targets import (
    LookaheadPlayers,
    PolicyTask,
    SearchPlayers,
    _min_weight_term,
    play_with_targets,
)
from german_whist.expert_iteration.self_play import PolicyPlayers, evaluate_network, torch_mlp
from german_whist.training.rollout.networks import MLP
from support import suit_part

Array = np.ndarray[Any, Any]

CLASSIC = load_rules("classic")
DECISIONS = 26


@cache
def champion() -> Any:
    return read_checkpoint(SECOND_WEIGHTS)


@cache
def policy_agent() -> NetworkAgent:
    return NetworkAgent("classic", SECOND_WEIGHTS)


def policy_parts() -> tuple[Weights, list[str]]:
    """The champion's weights, and its layers in order."""
    count = len(champion().card.network.hidden_sizes)
    return float64_copy(champion().weights), [*(f"hidden.{k}" for k in range(count)), "policy"]


def field(game: Game, seat: int, name: str) -> int:
    return int(game.view(seat).array[name].item())


def policy_probs(game: Game) -> dict[int, float]:
    view = game.view(game.turn or 0)
    probs = policy_agent().network_probabilities(np.array(view.array, VIEW))[0]
    return {card: float(probs[card]) for card in view.legal()}


def self_play(hands: int, epsilon: float) -> Array:
    return PolicyPlayers(CLASSIC, policy_net(champion()), hands).play(11, 0, epsilon)


def decisions_of(hands: Array, seed: int) -> Iterator[tuple[int, int, Game, int]]:
    """The numbers of each hand and decision, the game before it, and the card."""
    for number, hand in enumerate(hands):
        game = Game("classic", seed=seed, number=number)
        for decision, card in enumerate(map(int, hand["plays"])):
            yield number, decision, game, card
            game.play(card)


# -- hands of self-play


def test_random_cards_are_marked_in_their_trick() -> None:
    plain, explored = self_play(96, 0.0), self_play(96, 0.1)
    np.testing.assert_array_equal(plain["deal"], explored["deal"])
    assert not plain["random_tricks"].any()
    parted = 0
    for before, after in zip(plain, explored, strict=True):
        marks = [trick for trick in range(DECISIONS) if int(after["random_tricks"]) >> trick & 1]
        assert all(trick < DECISIONS // 2 for trick in marks)
        differs = np.flatnonzero(before["plays"] != after["plays"])
        if len(differs):
            parted += 1
            assert differs[0] // 2 in marks
            assert marks[0] <= differs[0] // 2
    assert parted > 50


class RecordingSearch:
    def __init__(self) -> None:
        self.streams: list[Array] = []

    def act_with_values(self, views: Array, rng: Array) -> tuple[Array, Array]:
        self.streams.append(rng.copy())
        return Lowest("classic").act(views, rng), np.full((len(views), 13), np.nan, np.float32)


def test_search_gets_a_random_stream_for_each_decision() -> None:
    search: Any = RecordingSearch()
    play_with_targets(SearchPlayers(CLASSIC, search, 20), 3, 0, 0.2)
    streams = np.array(search.streams)
    assert streams.shape == (DECISIONS, 20)
    assert len(np.unique(streams)) == streams.size
    # It is the hand's, whichever are played beside it.
    again: Any = RecordingSearch()
    play_with_targets(SearchPlayers(CLASSIC, again, 5), 3, 15, 0.2)
    np.testing.assert_array_equal(np.array(again.streams), streams[:, 15:])
    other: Any = RecordingSearch()
    play_with_targets(SearchPlayers(CLASSIC, other, 20), 4, 0, 0.2)
    assert not np.isin(np.array(other.streams), streams).any()


# -- search targets


def value_inputs(game: Game) -> list[int]:
    record = game.array[0]
    leader = int(record["leader"])
    hands = [set(map(int, game.hands[seat])) for seat in (leader, 1 - leader)]
    seen = set()
    for seat in range(2):
        known = field(game, 1 - seat, "opponent_known")
        seen |= {card for card in range(52) if known >> card & 1}
    upcard, *rest = map(int, game.stock)

    def strength(suit: int) -> list[int]:
        return [suit_part([*hand], suit) for hand in hands]

    side = [suit for suit in range(4) if suit != game.trump]
    order = [game.trump, *sorted(side, key=strength, reverse=True)]
    ones = [6 * 52 + game.trick]
    for place, suit in enumerate(order):
        in_play = [card for card in (*hands[0], *hands[1], upcard, *rest) if card // 13 == suit]
        for down, card in enumerate(sorted(in_play, reverse=True)):
            column = 13 * place + 12 - down
            owner = 0 if card in hands[0] else 1 if card in hands[1] else 2 if card == upcard else 3
            ones.append(52 * owner + column)
            if owner < 2 and card in seen:
                ones.append(52 * (4 + owner) + column)
    return sorted(ones)


@cache
def value_weights() -> Weights:
    return float64_copy(load_file(str(VALUE_WEIGHTS)))


def expected_payoff(game: Game) -> float:
    weights = value_weights()
    x = np.zeros((1, INPUTS))
    x[0, value_inputs(game)] = 1
    logits = forward(weights, [str(k) for k in range(len(weights) // 2)], x)[-1][0]
    probs = np.exp(logits - logits.max())
    return float(probs[7:].sum() - probs[:7].sum()) / float(probs.sum())


def after(game: Game, card: int) -> Game:
    following = game.clone()
    following.play(card)
    return following


def exact_pay(game: Game) -> int:
    record = game.array[0]
    hands = [int(hand) for hand in record["hand"]]
    return 1 if value(hands, int(record["trump"]), int(record["leader"])) > 6 else -1


def last_trick_pay(game: Game) -> int:
    leader = game.turn

    def payoff(led: Game, reply: int) -> int:
        ending = after(led, reply)
        return exact_pay(ending) * (1 if ending.turn == leader else -1)

    def holds(lead: int) -> bool:
        led = after(game, lead)
        return all(payoff(led, reply) > 0 for reply in led.legal())

    return 1 if any(map(holds, game.legal())) else -1


def target_of(game: Game, card: int) -> float:
    seat = game.turn
    following = after(game, card)
    if following.phase == "follow":
        probs = policy_probs(following)
        first, *others = sorted(probs.values(), reverse=True)
        if others and others[0] > 0.9 * first:
            return math.nan
        following.play(max(probs, key=probs.__getitem__))
    left = len(following.stock)
    sign = 1 if following.turn == seat else -1
    if left == 0:
        return sign * exact_pay(following)
    return sign * (last_trick_pay(following) if left == 2 else expected_payoff(following))


@cache
def tried_hands() -> Array:
    value_net = read_value_network(VALUE_WEIGHTS, CLASSIC)
    players = LookaheadPlayers(CLASSIC, policy_net(champion()), value_net, 16)
    return play_with_targets(players, 3, 0, 0.1)


def test_lookahead_targets_are_values_in_the_true_deal() -> None:
    plain = PolicyPlayers(CLASSIC, policy_net(champion()), 16).play(3, 0, 0.1)
    np.testing.assert_array_equal(tried_hands()["hand"], plain)
    compared = left_out = 0
    for number, decision, game, _ in decisions_of(tried_hands()["hand"][:4], 3):
        targets = tried_hands()["targets"][number, decision]
        probs = policy_probs(game)
        log_probs = {card: math.log(max(prob, 1e-30)) for card, prob in probs.items()}
        best = max(log_probs.values())
        # The networks are asked in half the digits there.
        unsure = [card for card in log_probs if abs(log_probs[card] - best + 8) < 0.3]
        likely = [card for card in log_probs if log_probs[card] > best - 8]
        if not unsure and len(likely) < 2:
            assert np.isnan(targets).all()
        elif not unsure:
            payoffs = dict(zip(probs, targets, strict=False))
            assert [card for card in probs if not np.isnan(payoffs[card])] == likely
            for card in likely:
                expected, pay = target_of(game, card), payoffs[card]
                if math.isnan(expected):
                    left_out += 1
                else:
                    assert pay == pytest.approx(expected, abs=0.06)
                    compared += 1
    assert compared > 100
    assert left_out < compared / 4


def test_policy_task_reads_targets_by_card_and_position() -> None:
    policy = policy_net(champion())
    task = PolicyTask(CLASSIC, policy, 0.01)
    hands = tried_hands()[:5]
    x, targets, legal_outputs = task.read(hands)
    logits = forward(*policy_parts(), (x != 0).astype(float))[-1]
    row = 0
    for number, decision, game, _ in decisions_of(hands["hand"], 3):
        probs = policy_probs(game)
        payoffs = dict(zip(probs, hands["targets"][number, decision], strict=False))
        tried = [card for card in probs if not np.isnan(payoffs[card])]
        if tried:
            legal = legal_outputs[row].numpy()
            assert legal.sum() == len(probs)
            probs_of_row = np.exp(logits[row] - logits[row][legal].max())
            shares = probs_of_row / probs_of_row[legal].sum()
            expected = sorted((float(payoffs[card]), probs[card]) for card in tried)
            has_target = ~np.isnan(targets[row].numpy())
            assert not (has_target & ~legal).any()
            result = sorted(zip(targets[row].numpy()[has_target], shares[has_target], strict=True))
            np.testing.assert_allclose(result, expected, atol=1e-3)
            row += 1
    assert row == len(x) > 60


def test_policy_loss_is_expected_target_less_kl_divergence() -> None:
    """E[target] - kl_coef * KL(new, old), its gradient by hand; better cards weigh at least 0.02.

    Legal cards that were not tried count as the old policy's mean.
    """
    kl_coef = 0.3
    task = PolicyTask(CLASSIC, policy_net(champion()), kl_coef)
    x, targets, legal_outputs = task.read(tried_hands())
    config = FitConfig(tuple(champion().card.network.hidden_sizes))
    net = policy_layers(champion(), task, config)
    old_weights, names = policy_parts()
    with torch.no_grad():
        net.layers[-1].bias += torch.linspace(-8, 8, len(net.layers[-1].bias))
    bias = net.layers[-1].bias.detach().numpy().astype(np.float64)
    weights = {**old_weights, "policy.bias": bias}
    rows, masks = (x != 0).astype(float), legal_outputs.numpy()
    activations = forward(weights, names, rows)
    new = masked_log_softmax(activations[-1], masks)
    old = masked_log_softmax(forward(old_weights, names, rows)[-1], masks)
    probs, tried = np.exp(new), ~np.isnan(targets.numpy())
    assert (masks & ~tried).any()
    payoffs = np.nan_to_num(targets.numpy().astype(float))
    means = (np.exp(old) * payoffs).sum(axis=1) / (np.exp(old) * tried).sum(axis=1)
    payoffs = np.where(tried, payoffs, means[:, None])
    log_ratio = np.where(masks, np.where(masks, new, 0) - np.where(masks, old, 0), 0)
    expected, kl = (probs * payoffs).sum(axis=1), (probs * log_ratio).sum(axis=1)
    before = (np.exp(old) * payoffs).sum(axis=1)
    loss = task.loss(net, tried_hands())
    assert loss.item() == pytest.approx(-(expected - before).mean() + kl_coef * kl.mean(), abs=0.01)
    metrics = task.metrics(net, tried_hands())
    assert [*metrics] == ["gain", "kl", "greedy_gain"]
    (gain,), (divergence,), (greedy,) = metrics.values()
    assert gain == pytest.approx((expected - before).mean(), abs=0.005)
    assert divergence == pytest.approx(kl.mean(), rel=0.05)
    numbers = np.arange(len(payoffs))
    best = payoffs[numbers, new.argmax(axis=1)] - payoffs[numbers, old.argmax(axis=1)]
    assert greedy == pytest.approx(best.mean(), abs=0.02)
    loss.backward()
    better = payoffs - kl_coef * log_ratio - (expected - kl_coef * kl)[:, None]
    lacking = np.where(tried & (better > 0), np.maximum(0.02 - probs, 0), 0)
    assert (lacking * better).sum() > 0.02 * (probs * abs(better)).sum(), "the term matters here"
    lift = lacking * better
    d_logits = -probs * better - (lift - probs * lift.sum(axis=1, keepdims=True))
    gradients: Weights = {}
    add_gradients(gradients, weights, names, activations, d_logits / len(x))
    for layer, name in zip([net.layers[0], net.layers[-1]], [names[0], names[-1]], strict=True):
        gradient = gradients[f"{name}.weight"]
        error = np.linalg.norm(layer.weight.grad.numpy() - gradient)
        assert error < 0.2 * np.linalg.norm(gradient)


def test_min_weight_term_lifts_only_better_rare_cards() -> None:
    """The gradient by each log-probability is what a better card lacks to the least weight."""
    probs = torch.tensor([[0.9, 0.075, 0.011, 0.009, 0.005], [0.5, 0.49, 0.004, 0.003, 0.003]])
    targets = torch.tensor([[0.0, 0.4, 0.5, -0.5, torch.nan], [-0.1, 0.1, 0.2, torch.nan, -0.9]])
    advantages, penalty = targets.nan_to_num() - 0.05, 0.01 * torch.arange(10.0).view(2, 5)
    new = probs.log().requires_grad_()
    _min_weight_term(targets, advantages, new, penalty).sum().backward()
    gradient = new.grad
    assert gradient is not None
    for hand in range(2):
        improvements = advantages[hand] - penalty[hand]
        mean = float((probs[hand] * improvements).sum())
        for card in range(5):
            better = float(improvements[card]) - mean
            lifted = not math.isnan(targets[hand, card]) and better > 0 and probs[hand, card] < 0.02
            expected = (0.02 - float(probs[hand, card])) * better if lifted else 0.0
            assert float(gradient[hand, card]) == pytest.approx(expected, abs=1e-7)
    assert gradient.count_nonzero() == 2


# -- targets of value networks


def test_value_task_reads_inputs_and_leaders_of_hands() -> None:
    hands = self_play(6, 0.1)
    x, leaders, tricks, random_tricks = ValueTask(CLASSIC, 0.8).read(hands)
    assert (tricks.numpy() == hands["tricks"]).all()
    assert (random_tricks.numpy() == hands["random_tricks"]).all()
    for number, decision, game, card in decisions_of(hands, 11):
        if decision % 2 == 0:
            ones = np.flatnonzero(x[number, decision // 2].float().numpy())
            assert ones.tolist() == value_inputs(game)
            assert leaders[number, decision // 2] == game.turn
        if decision == DECISIONS - 1:
            assert leaders[number, -1] == after(game, card).turn


@pytest.mark.parametrize("endgame_tricks", [3, 13])
def test_lambda_returns_are_the_forward_view_cut_at_random_cards(endgame_tricks: int) -> None:
    """Sutton and Barto 2018, 12.1, of whole distributions, each for the leader of its trick."""
    rng = np.random.default_rng(2)
    hands, count, td_lambda = 60, 9, 0.7
    outcomes = endgame_tricks + 1
    probs = np.zeros((hands, count, N_OUTCOMES))
    probs[..., :outcomes] = rng.dirichlet(np.ones(outcomes), size=(hands, count))
    leaders = rng.integers(2, size=(hands, count + 1))
    tricks = rng.integers(outcomes, size=hands)
    marks = rng.random((hands, count)) < 0.15
    random_tricks = (marks << np.arange(count)).sum(axis=1)
    returns, counted = lambda_returns(
        *map(torch.from_numpy, (probs, leaders, tricks, random_tricks)),
        td_lambda=td_lambda,
        endgame_tricks=endgame_tricks,
    )
    assert not returns[..., outcomes:].any()
    for hand in range(hands):
        taken = tricks[hand] if leaders[hand, -1] == 0 else endgame_tricks - tricks[hand]
        outcome = np.eye(outcomes)[taken]
        for trick in range(count):
            expected, weight = np.zeros(outcomes), 1.0
            for later in range(trick + 1, count + 1):
                prediction = outcome if later == count else probs[hand, later, :outcomes]
                if leaders[hand, later] != leaders[hand, trick]:
                    prediction = prediction[::-1]
                if later == count or marks[hand, later]:
                    expected += weight * prediction
                    break
                expected += weight * (1 - td_lambda) * prediction
                weight *= td_lambda
            assert returns[hand, trick, :outcomes].numpy() == pytest.approx(expected, abs=1e-6)
    assert (counted.numpy() == ~marks).all()


@pytest.mark.parametrize("name", ["quick", "small-last"])
def test_value_targets_of_small_hands_are_possible_tricks(name: str) -> None:
    rules = load_rules(name)
    checkpoint = specialize_checkpoint(read_checkpoint(FAMILY_WEIGHTS), rules)
    hands = PolicyPlayers(rules, policy_net(checkpoint), 24).play(11, 0, 0.1)
    net = MLP([INPUTS, 8, N_OUTCOMES])
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        *_, output_bias = net.parameters()
        output_bias[rules.hand + 1 :] = -50
    task = ValueTask(rules, 0.8)
    assert task.loss(net, hands).item() == pytest.approx(np.log(rules.hand + 1), rel=0.01)
    (errors,) = task.metrics(net, hands).values()
    assert all(0.5 < error <= 1.01 for error in errors), "nothing is known, and 1 or -1 comes out"


def test_losses_of_value_and_belief_networks_are_cross_entropies() -> None:
    hands = self_play(24, 0.1)
    value_task = ValueTask(CLASSIC, 0.8)
    net = MLP([INPUTS, 16, N_OUTCOMES])
    x, *outcomes = value_task.read(hands)
    with torch.no_grad():
        log_probs = torch.log_softmax(net(x.float()), -1)
        targets, counted = lambda_returns(
            log_probs.exp(), *outcomes, td_lambda=0.8, endgame_tricks=CLASSIC.hand
        )
        losses = -(targets * log_probs).sum(-1)
        value_loss = float(losses[counted].mean())
    assert 0 < (~counted).sum() < counted.sum()
    assert value_task.loss(net, hands).item() == pytest.approx(value_loss, rel=0.01)
    belief_task = BeliefTask(CLASSIC)
    net = MLP([belief_task.inputs, 16, 52])
    x, labels, masks = belief_task.read(hands)
    with torch.no_grad():
        p = torch.sigmoid(net(x.float())).numpy().astype(float)
    nats = -np.where(labels > 0, np.log(p), np.log(1 - p))
    belief_loss = np.where(masks > 0, nats, 0).sum(axis=-1)
    assert belief_task.loss(net, hands).item() == pytest.approx(belief_loss.mean(), rel=0.01)
    (entropies,) = belief_task.metrics(net, hands).values()
    assert entropies == pytest.approx(belief_loss.mean(axis=0), rel=0.02)
    order, places = np.zeros(4, np.uint8), np.zeros(4, np.int64)
    for number, decision, game, _ in decisions_of(hands, 11):
        seat, active = game.turn or 0, np.zeros(MAX_BELIEF_INPUTS, np.int16)
        view = row(np.array(game.view(seat).array, VIEW), 0)
        count = write_belief_inputs(row(CLASSIC.array(), 0), view, order, places, active)
        assert np.flatnonzero(x[number, decision].float()).tolist() == sorted(active[:count])
        cards = 13 * order[np.arange(52) // 13].astype(int) + np.arange(52) % 13
        unseen = field(game, seat, "unseen")
        assert masks[number, decision].tolist() == [unseen >> card & 1 for card in cards.tolist()]
        held = [float(card in game.hands[1 - seat]) for card in cards]
        assert labels[number, decision].tolist() == held


# -- fits


class Regression:
    kind = "value"
    inputs = 3
    outputs = 1

    def __init__(self) -> None:
        self.batches: list[Array] = []
        self.checked: list[Array] = []

    def loss(self, net: Any, hands: Array) -> Any:
        self.batches.append(hands.copy())
        rows = torch.from_numpy(hands)
        return ((net(rows[:, 1:4]).squeeze(-1) - rows[:, 4]) ** 2).mean()

    def metrics(self, net: Any, hands: Array) -> dict[str, list[float]]:
        self.checked.append(hands.copy())
        return {"error": [0.0]}


def numbered_files(folder: Path, counts: list[int]) -> list[Path]:
    rng, files, first = np.random.default_rng(1), [], 0
    for number, count in enumerate(counts):
        rows = rng.normal(size=(count, 6)).astype(np.float32)
        rows[:, 0] = first + np.arange(count)
        rows[:, 5] = number
        first += count
        files.append(folder / f"{number}.npy")
        np.save(files[-1], rows)
    return files


def test_fit_shuffles_hands_of_several_files_each_epoch(tmp_path: Path) -> None:
    files = numbered_files(tmp_path, [24] * 6)
    fit = Fit(Regression(), FitConfig((), 2.0, 8), files)
    assert fit.steps == 2 * 18
    epochs: list[list[Array]] = [[], []]
    for number, batch in zip(range(36), fit.batches(), strict=False):
        epochs[number // 18].append(batch)
        fit.step += 1
    orders = [np.concatenate([batch[:, 0] for batch in epoch]) for epoch in epochs]
    for order, epoch in zip(orders, epochs, strict=True):
        assert sorted(order) == list(range(6 * 24))
        assert (np.diff(order) != 1).mean() > 0.9
        # Every batch holds hands of more than one file.
        assert min(len(np.unique(batch[:, 5])) for batch in epoch) > 1
    assert (orders[0] == orders[1]).mean() < 0.1
    # Which files are mixed with which is drawn anew as well: it is in no order.
    first = [frozenset(np.unique(np.concatenate(epoch[:12])[:, 5])) for epoch in epochs]
    assert [len(group) for group in first] == [4, 4]
    assert first[0] != frozenset(range(4))
    assert first[0] != first[1]


def test_fit_to_a_single_file_has_another_order_in_every_epoch(tmp_path: Path) -> None:
    fit = Fit(Regression(), FitConfig((), 2.0, 8), numbered_files(tmp_path, [64]))
    rows = []
    for _, batch in zip(range(16), fit.batches(), strict=False):
        rows += batch[:, 0].tolist()
        fit.step += 1
    assert sorted(rows[:64]) == sorted(rows[64:]) == list(range(64))
    assert (np.array(rows[:64]) == rows[64:]).mean() < 0.2


def test_fit_writes_averaged_weights_and_ignores_validation(
    tmp_path: Path,
) -> None:
    files = numbered_files(tmp_path, [64, 64, 64])
    task, config = Regression(), FitConfig((5,), 40.0, 8, learning_rate=0.05, ema_decay=0.97)
    fit = Fit(task, config, files[:-1])
    weights = float64_copy({name: values.numpy() for name, values in fit.net.state_dict().items()})
    average, adam, names = dict(weights), PlainAdam(weights, eps=1e-8), ["layers.0", "layers.1"]
    checked = np.load(files[-1])[:20]
    fit.run(
        tmp_path / "net",
        lambda _: None,
        checked,
        partial(write_search_network, CLASSIC, Recipe()),
    )
    assert len(task.batches) == fit.steps == 40 * 16
    numbers = Counter(np.concatenate(task.batches)[:, 0].tolist())
    assert numbers == dict.fromkeys(range(128), 40)
    assert task.checked
    assert all(np.array_equal(hands, checked) for hands in task.checked)
    for step, batch in enumerate(task.batches):
        rows = batch.astype(float)
        activations = forward(weights, names, rows[:, 1:4])
        d_output = 2 * (activations[-1] - rows[:, 4:5]) / len(rows)
        gradients: Weights = {}
        add_gradients(gradients, weights, names, activations, d_output)
        # Warm-up over two hundred steps, and half a cosine down to nothing.
        lr = 0.05 * min(1, (step + 1) / 200) * (1 + math.cos(math.pi * step / 640)) / 2
        adam.step(weights, gradients, lr)
        decay = min(0.97, (step + 1) / (step + 11))
        average = {k: decay * average[k] + (1 - decay) * weights[k] for k in weights}
    for name, values in fit.net.state_dict().items():
        assert values.numpy() == pytest.approx(weights[name], rel=1e-2, abs=1e-3)
    written = load_file(str(tmp_path / "net.safetensors"))
    for place, layer in enumerate(names):
        for part in ("weight", "bias"):
            expected = pytest.approx(average[f"{layer}.{part}"], rel=1e-2, abs=2e-3)
            assert written[f"{place}.{part}"] == expected


def test_recipe_fits_to_all_files_but_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_N_GAMES", {"hands": 16, "search_targets": 16})
    monkeypatch.setattr(pipeline, "_BATCHES_PER_FILE", 1)
    fits: dict[str, tuple[FitConfig, list[str]]] = {}
    checked: list[bytes] = []

    class RecordedFit(Fit):
        def run(self, target: Path, log: Any, validation: Array, write: Any) -> None:
            fits[target.name] = (
                self.config,
                [f"{file.parent.name}/{file.stem}" for file in self.files],
            )
            checked.append(validation.tobytes())
            super().run(target, log, validation, write)

    monkeypatch.setattr(pipeline, "Fit", RecordedFit)
    words = "policy=champion-2 hands=64 target_hands=64 value_hidden_sizes=[6]"
    words += " belief_hidden_sizes=[7] value_epochs=8 belief_epochs=7 policy_epochs=6"
    words += " value_learning_rate=0.5 belief_learning_rate=0.4 policy_learning_rate=0.05"
    lines: list[str] = []
    run_expert_iteration(tmp_path, load_recipe("quick", words.split()), lines.append)
    assert not any("are of training" in line for line in lines)
    hands, targets = (
        [f"{folder}/{seed}-{number:05d}" for number in range(3)]
        for folder, seed in (("hands", 1), ("search_targets", 1))
    )
    widths = tuple(champion().card.network.hidden_sizes)
    assert fits == {
        "value": (FitConfig((6,), 8.0, 512, 0.5), hands),
        "belief": (FitConfig((7,), 7.0, 128, 0.4), hands),
        "policy": (FitConfig(widths, 6.0, 128, 0.05, 0.998), targets),
    }
    last = [np.load(tmp_path / folder / "1-00003.npy") for folder in ("hands", "search_targets")]
    assert checked == [last[0].tobytes(), last[0].tobytes(), last[1].tobytes()]


# -- precision


@pytest.mark.parametrize("mixed", [True, False])
def test_expert_iteration_multiplies_in_float32_without_bfloat16(
    mixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played_hands, "has_bfloat16", lambda: mixed)
    net = torch.nn.Linear(8, 4)
    bits = np.full((3, 8), played_hands.BF16_ONE)
    inputs = torch.from_numpy(bits).view(torch.bfloat16)
    expected = net(inputs.float())
    outputs = evaluate_network(net, inputs)
    assert torch.equal(outputs, expected) is not mixed
    assert torch.allclose(outputs, expected, atol=0.05)
    weights = np.concatenate([net.weight.detach().numpy().T.ravel(), net.bias.detach().numpy()])
    compiled = evaluate_network(torch_mlp(pack_mlp(np.array([8, 4]), weights)), inputs)
    assert torch.equal(compiled, outputs)
