"""Self-play hands, search targets and fits of expert iteration beside second implementations.

Hands are played again in the engine's single game. Networks are evaluated in NumPy from the
weights in their files; targets, losses, gradients, Adam and the averaged weights are computed
from their formulas.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_learning import (  # noqa: E402
    PlainAdam,
    Weights,
    add_gradients,
    float64_copy,
    forward,
    masked_log_softmax,
)
from safetensors.numpy import load_file  # noqa: E402

from german_whist import Game  # noqa: E402
from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS, VALUE_WEIGHTS  # noqa: E402
from german_whist.agents.checkpoints.checkpoint import read_checkpoint  # noqa: E402
from german_whist.agents.networks.policy import NetworkAgent, policy_net  # noqa: E402
from german_whist.agents.networks.value import INPUTS, OUTCOMES, read_value_network  # noqa: E402
from german_whist.engine.dtypes import VIEW  # noqa: E402
from german_whist.engine.endgame import value  # noqa: E402
from german_whist.engine.rules import load_rules  # noqa: E402
from german_whist.training.expert_iteration import pipeline as parts  # noqa: E402
from german_whist.training.expert_iteration.belief import BeliefTask  # noqa: E402
from german_whist.training.expert_iteration.fitting import Fit, FitConfig, layers, write_network  # noqa: E402
from german_whist.training.expert_iteration.pipeline import policy_layers, run_expert_iteration  # noqa: E402
from german_whist.training.expert_iteration.recipe import Recipe, load_recipe  # noqa: E402
from german_whist.training.expert_iteration.search_targets import (  # noqa: E402
    LookaheadPlayers,
    PolicyTask,
    SearchPlayers,
    with_targets,
)
from german_whist.training.expert_iteration.self_play import PolicyPlayers  # noqa: E402
from german_whist.training.expert_iteration.value import ValueTask, targets  # noqa: E402

Array = np.ndarray[Any, Any]

CLASSIC = load_rules("classic")
DECISIONS = 26


@cache
def champion() -> Any:
    return read_checkpoint(CLASSIC_WEIGHTS)


@cache
def policy_agent() -> NetworkAgent:
    return NetworkAgent("classic", CLASSIC_WEIGHTS)


def field(game: Game, seat: int, name: str) -> int:
    """A number of what a seat may know."""
    return int(game.view(seat).record[name].item())


def policy_probs(game: Game) -> dict[int, float]:
    """What the policy plays in the seat to move, by card."""
    view = game.view(game.turn or 0)
    probs = policy_agent().likelihoods(np.array(view.record, VIEW))[0]
    return {card: float(probs[card]) for card in view.legal()}


def self_play(hands: int, epsilon: float) -> Array:
    return PolicyPlayers(CLASSIC, policy_net(champion()), hands).play(11, 0, epsilon)


# -- hands of self-play


def test_random_cards_are_marked_in_the_trick_in_which_they_were_played() -> None:
    """Up to the first of them a hand is as it is without any, and it may differ from there."""
    plain, explored = self_play(96, 0.0), self_play(96, 0.1)
    np.testing.assert_array_equal(plain["deal"], explored["deal"])
    assert not plain["strayed"].any()
    parted = marked = 0
    for before, after in zip(plain, explored, strict=True):
        marks = [trick for trick in range(DECISIONS) if int(after["strayed"]) >> trick & 1]
        assert all(trick < DECISIONS // 2 for trick in marks)
        differs = np.flatnonzero(before["plays"] != after["plays"])
        marked += len(marks)
        if len(differs):
            parted += 1
            assert differs[0] // 2 in marks
            assert marks[0] <= differs[0] // 2
    assert parted > 50
    # Of decisions with a choice a tenth is random, and two of them may share a trick.
    choices = tricks = 0
    for number, hand in enumerate(explored):
        game = Game("classic", seed=11, number=number)
        for decision, card in enumerate(hand["plays"]):
            choices += len(game.legal()) > 1
            tricks += decision % 2
            game.play(int(card))
    assert marked <= tricks
    assert marked == pytest.approx(0.1 * choices * 0.95, rel=0.15)


class RecordingSearch:
    """Plays the lowest card, and records the random streams that it is given."""

    def __init__(self) -> None:
        self.streams: list[Array] = []

    def advise(self, views: Array, rng: Array) -> tuple[Array, Array]:
        self.streams.append(rng.copy())
        lowest = [int(hand) & -int(hand) for hand in self._legal(views)]
        actions = np.array([card.bit_length() - 1 for card in lowest], np.int64)
        return actions, np.full((len(views), 13), np.nan, np.float32)

    def _legal(self, views: Array) -> list[int]:
        found = []
        for view in views:
            suit = ((1 << 13) - 1) << 13 * (int(view["led"]) // 13) if view["led"] < 52 else 0
            hand = int(view["hand"])
            found.append(hand & suit or hand)
        return found


def test_a_search_gets_a_random_stream_of_its_own_for_every_decision_of_every_hand() -> None:
    search: Any = RecordingSearch()
    with_targets(SearchPlayers(CLASSIC, search, 20), 3, 0, 0.2)
    streams = np.array(search.streams)
    assert streams.shape == (DECISIONS, 20)
    assert len(np.unique(streams)) == streams.size
    # It is the hand's, whichever are played beside it.
    again: Any = RecordingSearch()
    with_targets(SearchPlayers(CLASSIC, again, 5), 3, 15, 0.2)
    np.testing.assert_array_equal(np.array(again.streams), streams[:, 15:])
    other: Any = RecordingSearch()
    with_targets(SearchPlayers(CLASSIC, other, 20), 4, 0, 0.2)
    assert not np.isin(np.array(other.streams), streams).any()


# -- search targets


def worth_inputs(game: Game) -> list[int]:
    """Which inputs of a value network are one before a trick, from cards alone."""
    record = game.record[0]
    leader = int(record["leader"])
    hands = [set(map(int, game.hands[seat])) for seat in (leader, 1 - leader)]
    seen = set()
    for seat in range(2):
        known = field(game, 1 - seat, "known_cards")
        seen |= {card for card in range(52) if known >> card & 1}
    upcard, *rest = map(int, game.stock)

    def strength(suit: int) -> list[int]:
        return [sum(1 << card % 13 for card in hand if card // 13 == suit) for hand in hands]

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
def worth_weights() -> Weights:
    return float64_copy(load_file(str(VALUE_WEIGHTS)))


def expected_pay(game: Game) -> float:
    """What the leader of a trick is paid on average, by the value network."""
    weights = worth_weights()
    x = np.zeros((1, INPUTS))
    x[0, worth_inputs(game)] = 1
    logits = forward(weights, [str(k) for k in range(len(weights) // 2)], x)[-1][0]
    probs = np.exp(logits - logits.max())
    return float(probs[7:].sum() - probs[:7].sum()) / float(probs.sum())


def after(game: Game, card: int) -> Game:
    following = game.clone()
    following.play(card)
    return following


def exact_pay(game: Game) -> int:
    """What the leader of the ending is paid with best play by both."""
    record = game.record[0]
    hands = [int(hand) for hand in record["hand"]]
    return 1 if value(hands, int(record["trump"]), int(record["leader"])) > 6 else -1


def last_trick_pay(game: Game) -> int:
    """What the leader of the last foreplay trick is paid when both play it with open cards."""
    leader = game.turn

    def paid(led: Game, reply: int) -> int:
        ending = after(led, reply)
        return exact_pay(ending) * (1 if ending.turn == leader else -1)

    def holds(lead: int) -> bool:
        led = after(game, lead)
        return all(paid(led, reply) > 0 for reply in led.legal())

    return 1 if any(map(holds, game.legal())) else -1


def target_of(game: Game, card: int) -> float:
    """What a card comes to in the deal as it is, nan where the policy's reply is a close call."""
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
    return sign * (last_trick_pay(following) if left == 2 else expected_pay(following))


@cache
def tried_hands() -> Array:
    """Hands of which every likely card was tried."""
    worth = read_value_network(VALUE_WEIGHTS, CLASSIC)
    return with_targets(LookaheadPlayers(CLASSIC, policy_net(champion()), worth, 16), 3, 0, 0.1)


def test_search_targets_are_what_every_likely_card_comes_to_in_the_deal_as_it_is() -> None:
    plain = PolicyPlayers(CLASSIC, policy_net(champion()), 16).play(3, 0, 0.1)
    np.testing.assert_array_equal(tried_hands()["hand"], plain)
    compared = left_out = 0
    for number, advised in enumerate(tried_hands()[:4]):
        game = Game("classic", seed=3, number=number)
        for decision, played in enumerate(advised["hand"]["plays"]):
            found = advised["worths"][decision]
            probs = policy_probs(game)
            logs = {card: math.log(max(prob, 1e-30)) for card, prob in probs.items()}
            best = max(logs.values())
            # The networks are asked in half the digits there.
            unsure = [card for card in logs if abs(logs[card] - best + 6.5) < 0.3]
            likely = [card for card in logs if logs[card] > best - 6.5]
            if not unsure and len(likely) < 2:
                assert np.isnan(found).all()
            elif not unsure:
                tried = [card for card, pay in zip(probs, found, strict=False) if not np.isnan(pay)]
                assert tried == likely
                for card in likely:
                    wanted = target_of(game, card)
                    pay = found[list(probs).index(card)]
                    if math.isnan(wanted):
                        left_out += 1
                    else:
                        assert pay == pytest.approx(wanted, abs=0.06)
                        compared += 1
            game.play(int(played))
    assert compared > 100
    assert left_out < compared / 4


def test_a_policy_learns_each_target_at_its_card_and_in_the_position_it_was_tried_in() -> None:
    policy = policy_net(champion())
    about = PolicyTask(CLASSIC, policy, 0.01)
    advised = tried_hands()[:5]
    x, worths = about.read(advised)
    names = [*(f"hidden.{k}" for k in range(len(champion().card.network.hidden_sizes))), "policy"]
    weights = {name: each.astype(np.float64) for name, each in champion().weights.items()}
    logits = forward(weights, names, (x != 0).astype(float))[-1]
    row = 0
    for number, each in enumerate(advised):
        game = Game("classic", seed=3, number=number)
        for decision, played in enumerate(each["hand"]["plays"]):
            probs = policy_probs(game)
            pays = dict(zip(probs, each["worths"][decision], strict=False))
            tried = [card for card in probs if not np.isnan(pays[card])]
            if tried:
                legal = ~np.isnan(worths[row].numpy())
                shares = np.exp(logits[row] - logits[row][legal].max())[legal]
                total = sum(probs[card] for card in tried)
                wanted = sorted((float(pays[card]), probs[card] / total) for card in tried)
                found = sorted(zip(worths[row].numpy()[legal], shares / shares.sum(), strict=True))
                np.testing.assert_allclose(found, wanted, atol=1e-3)
                row += 1
            game.play(int(played))
    assert row == len(x) > 60


def test_the_loss_of_a_policy_is_its_expected_target_less_a_divergence_from_the_old_one() -> None:
    """E[target] - pull * KL(new, old) over the cards that were tried; its gradient by hand."""
    pull = 0.3
    about = PolicyTask(CLASSIC, policy_net(champion()), pull)
    x, worths = about.read(tried_hands())
    plan = FitConfig(tuple(champion().card.network.hidden_sizes))
    net = policy_layers(champion(), about, plan)
    names = [*(f"hidden.{k}" for k in range(len(plan.layers))), "policy"]
    old_weights = {name: each.astype(np.float64) for name, each in champion().weights.items()}
    with torch.no_grad():
        net[-1].bias += torch.linspace(-1, 1, len(net[-1].bias))
    weights = {**old_weights, "policy.bias": net[-1].bias.detach().numpy().astype(np.float64)}
    rows, masks = (x != 0).astype(float), ~np.isnan(worths.numpy())
    activations = forward(weights, names, rows)
    new = masked_log_softmax(activations[-1], masks)
    old = masked_log_softmax(forward(old_weights, names, rows)[-1], masks)
    probs, pays = np.exp(new), np.nan_to_num(worths.numpy().astype(float))
    log_ratio = np.where(masks, np.where(masks, new, 0) - np.where(masks, old, 0), 0)
    expected, kl = (probs * pays).sum(axis=1), (probs * log_ratio).sum(axis=1)
    before = (np.exp(old) * pays).sum(axis=1)
    loss = about.loss(net, tried_hands())
    assert loss.item() == pytest.approx(-(expected - before).mean() + pull * kl.mean(), abs=0.01)
    gain, divergence, greedy = about.errors(net, tried_hands())
    assert gain == pytest.approx((expected - before).mean(), abs=0.005)
    assert divergence == pytest.approx(kl.mean(), rel=0.05)
    numbers = np.arange(len(pays))
    best = pays[numbers, new.argmax(axis=1)] - pays[numbers, old.argmax(axis=1)]
    assert greedy == pytest.approx(best.mean(), abs=0.02)
    loss.backward()
    d_logits = -probs * (pays - expected[:, None]) + pull * probs * (log_ratio - kl[:, None])
    gradients: Weights = {}
    add_gradients(gradients, weights, names, activations, d_logits / len(x))
    for layer, name in zip([net[0], net[-1]], [names[0], names[-1]], strict=True):
        wanted = gradients[f"{name}.weight"]
        apart = np.linalg.norm(layer.weight.grad.numpy() - wanted)
        assert apart < 0.2 * np.linalg.norm(wanted)


# -- targets of value networks


def test_what_a_value_network_reads_of_hands_is_what_the_cards_say() -> None:
    hands = self_play(6, 0.1)
    x, leaders, tricks, strayed = ValueTask(CLASSIC, 0.8).read(hands)
    assert (tricks.numpy() == hands["tricks"]).all()
    assert (strayed.numpy() == hands["strayed"]).all()
    for number, hand in enumerate(hands):
        game = Game("classic", seed=11, number=number)
        for decision, card in enumerate(hand["plays"]):
            if decision % 2 == 0:
                ones = np.flatnonzero(x[number, decision // 2].float().numpy())
                assert ones.tolist() == worth_inputs(game)
                assert leaders[number, decision // 2] == game.turn
            game.play(int(card))
        assert leaders[number, -1] == game.turn


def test_lambda_returns_are_the_forward_view_cut_off_at_random_cards() -> None:
    """Sutton and Barto 2018, 12.1, of whole distributions, each for the leader of its trick."""
    rng = np.random.default_rng(2)
    hands, count, lambda_ = 60, 9, 0.7
    probs = rng.dirichlet(np.ones(OUTCOMES), size=(hands, count))
    leaders = rng.integers(2, size=(hands, count + 1))
    tricks = rng.integers(OUTCOMES, size=hands)
    marks = rng.random((hands, count)) < 0.15
    strayed = (marks << np.arange(count)).sum(axis=1)
    found, counted = targets(*map(torch.from_numpy, (probs, leaders, tricks, strayed)), lambda_)
    for hand in range(hands):
        outcome = np.eye(OUTCOMES)[tricks[hand] if leaders[hand, -1] == 0 else 13 - tricks[hand]]
        for trick in range(count):
            wanted, weight = np.zeros(OUTCOMES), 1.0
            for later in range(trick + 1, count + 1):
                said = outcome if later == count else probs[hand, later]
                if leaders[hand, later] != leaders[hand, trick]:
                    said = said[::-1]
                if later == count or marks[hand, later]:
                    wanted += weight * said
                    break
                wanted += weight * (1 - lambda_) * said
                weight *= lambda_
            assert found[hand, trick].numpy() == pytest.approx(wanted, abs=1e-6)
    assert (counted.numpy() == ~marks).all()


def test_losses_of_value_and_belief_networks_are_cross_entropies() -> None:
    hands = self_play(24, 0.1)
    value_study = ValueTask(CLASSIC, 0.8)
    net = layers(INPUTS, (16,), OUTCOMES, 3)
    x, leaders, tricks, strayed = value_study.read(hands)
    with torch.no_grad():
        log_probs = torch.log_softmax(net(x.float()), -1)
        wanted, counted = targets(log_probs.exp(), leaders, tricks, strayed, 0.8)
        losses = -(wanted * log_probs).sum(-1)
        value_loss = float(losses[counted].mean())
    assert 0 < (~counted).sum() < counted.sum()
    assert value_study.loss(net, hands).item() == pytest.approx(value_loss, rel=0.01)
    belief_study = BeliefTask(CLASSIC)
    net = layers(belief_study.inputs, (16,), 52, 3)
    x, held, unseen = belief_study.read(hands)
    with torch.no_grad():
        p = torch.sigmoid(net(x.float())).numpy().astype(float)
    nats = -np.where(held > 0, np.log(p), np.log(1 - p))
    belief_loss = np.where(unseen > 0, nats, 0).sum(axis=-1)
    assert belief_study.loss(net, hands).item() == pytest.approx(belief_loss.mean(), rel=0.01)
    assert belief_study.errors(net, hands) == pytest.approx(belief_loss.mean(axis=0), rel=0.02)
    # Of the cards that a player has not seen, thirteen less those it knows are the other's.
    for number in range(24):
        game = Game("classic", seed=11, number=number)
        for decision, card in enumerate(hands[number]["plays"]):
            seat = game.turn or 0
            assert unseen[number, decision].sum() == field(game, seat, "unseen").bit_count()
            other = int((held[number, decision] * unseen[number, decision]).sum())
            known = field(game, seat, "opponent_known").bit_count()
            assert other == field(game, seat, "opponent_hand_size") - known
            game.play(int(card))


# -- fits


class Regression:
    """A study of rows of numbers, the last of each what is to be said of the others."""

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

    def errors(self, net: Any, hands: Array) -> list[float]:
        self.checked.append(hands.copy())
        return [0.0]


def numbered_files(folder: Path, counts: list[int]) -> list[Path]:
    """Files of rows, each with its number and the file's."""
    rng, files, first = np.random.default_rng(1), [], 0
    for number, count in enumerate(counts):
        rows = rng.normal(size=(count, 6)).astype(np.float32)
        rows[:, 0] = first + np.arange(count)
        rows[:, 5] = number
        first += count
        files.append(folder / f"{number}.npy")
        np.save(files[-1], rows)
    return files


def test_a_fit_mixes_hands_of_several_files_anew_in_every_epoch(tmp_path: Path) -> None:
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
    assert [len(each) for each in first] == [4, 4]
    assert first[0] != frozenset(range(4))
    assert first[0] != first[1]


def test_a_fit_to_a_single_file_takes_another_order_in_every_epoch(tmp_path: Path) -> None:
    fit = Fit(Regression(), FitConfig((), 2.0, 8), numbered_files(tmp_path, [64]))
    rows = []
    for _, batch in zip(range(16), fit.batches(), strict=False):
        rows += batch[:, 0].tolist()
        fit.step += 1
    assert sorted(rows[:64]) == sorted(rows[64:]) == list(range(64))
    assert (np.array(rows[:64]) == rows[64:]).mean() < 0.2


def test_a_fit_ends_with_the_averaged_weights_of_adam_and_never_learns_what_it_is_checked_on(
    tmp_path: Path,
) -> None:
    files = numbered_files(tmp_path, [64, 64, 64])
    about, plan = Regression(), FitConfig((5,), 40.0, 8, rate=0.05, average=0.97)
    fit = Fit(about, plan, files[:-1])
    weights = float64_copy({name: each.numpy() for name, each in fit.net.state_dict().items()})
    average, adam, names = dict(weights), PlainAdam(weights, eps=1e-8), ["0", "2"]
    checked = np.load(files[-1])[:20]
    fit.go(tmp_path / "net", lambda _: None, checked,
           lambda fit, path: write_network(path, fit, CLASSIC, Recipe()))  # fmt: skip
    assert len(about.batches) == fit.steps == 40 * 16
    numbers = Counter(np.concatenate(about.batches)[:, 0].tolist())
    assert numbers == dict.fromkeys(range(128), 40)
    assert about.checked
    assert all(np.array_equal(each, checked) for each in about.checked)
    for step, batch in enumerate(about.batches):
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
    for name, each in fit.net.state_dict().items():
        assert each.numpy() == pytest.approx(weights[name], rel=1e-2, abs=1e-3)
    written = load_file(str(tmp_path / "net.safetensors"))
    for name, layer in zip(("0", "1"), names, strict=True):
        for part in ("weight", "bias"):
            found, wanted = written[f"{name}.{part}"], average[f"{layer}.{part}"]
            assert found == pytest.approx(wanted, rel=1e-2, abs=2e-3)


def test_a_course_keeps_hands_apart_to_check_on_and_writes_averaged_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every network comes out as it does when fitted to all files of hands but the last."""
    monkeypatch.setattr(parts, "_TOGETHER", {"hands": 16, "search_targets": 16})
    monkeypatch.setattr(parts, "_TIMES", 1)
    words = ["hands=64", "target_hands=64", "value_hidden_sizes=[6]", "belief_hidden_sizes=[6]"]
    words += ["value_epochs=8", "belief_epochs=8", "policy_epochs=8"]
    words += ["value_learning_rate=0.5", "belief_learning_rate=0.5", "policy_learning_rate=0.05"]
    recipe = load_recipe("quick", words)
    lines: list[str] = []
    run_expert_iteration(tmp_path, recipe, lines.append)
    assert not any("training errors" in line for line in lines)
    about = PolicyTask(CLASSIC, policy_net(champion()), recipe.kl_coef)
    widths = tuple(champion().card.network.hidden_sizes)
    plans = {
        "value": (ValueTask(CLASSIC, recipe.lambda_), FitConfig((6,), 8.0, 512, 0.5)),
        "belief": (BeliefTask(CLASSIC), FitConfig((6,), 8.0, 128, 0.5)),
        "policy": (about, FitConfig(widths, 8.0, 128, 0.05, 0.998)),
    }
    for name, (about_it, plan) in plans.items():
        folder = tmp_path / ("search_targets" if name == "policy" else "hands")
        files = sorted(folder.glob("*.npy"))
        assert len(files) == 4
        start = policy_layers(champion(), about, plan) if name == "policy" else None
        fit = Fit(about_it, plan, files[:-1], start)
        for batch in fit.batches():
            if fit.step == fit.steps:
                break
            fit.learn(batch)
        written = load_file(str(tmp_path / f"{name}.safetensors"))
        linear = [each for each in fit.average.modules() if isinstance(each, torch.nn.Linear)]
        last = [each for each in fit.net.modules() if isinstance(each, torch.nn.Linear)]
        names = [layer for layer in (f"hidden.{k}" for k in range(9)) if f"{layer}.bias" in written]
        names = [*names, "policy"] if name == "policy" else ["0", "1"]
        for key, mean, now in zip(names, linear, last, strict=True):
            found = torch.from_numpy(written[f"{key}.weight"])
            assert torch.equal(found, mean.weight.half())
            assert not torch.equal(found, now.weight.half())
        told = next(line for line in lines if line.startswith(f"{name}: {fit.steps} of"))
        errors = [float(each) for each in re.findall(r"-?[\d.]+|nan", told.split("errors")[1])]
        wanted = about_it.errors(fit.average, np.load(files[-1]))
        assert errors == pytest.approx(wanted, abs=0.00051, nan_ok=True)
