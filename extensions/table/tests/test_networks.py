"""Networks on a finished hand: checkpoints side by side, beliefs, values, continuations."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from serving import running_server

from german_whist import Game
from german_whist.agents.networks.belief import inclusion_probabilities
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.registry import load_agent
from german_whist.engine.cards import cards_of
from german_whist.engine.records import GameRecord, record_of
from german_whist.table.browser.saved_replay import replay_page
from german_whist.table.commands.analyze import as_text
from german_whist.table.game.opponents import Opponents
from german_whist.table.review.accuracy import accuracy
from german_whist.table.review.analysis import AnalysisSettings
from german_whist.table.review.networks import NetworkReview, review_networks
from german_whist.table.review.replay import make_replay
from german_whist.table.text.labels import begin
from german_whist.table.text.words import display_name, tell_apart
from support import played_out


def policy(name: str, rules: str = "classic") -> NetworkAgent:
    return cast(NetworkAgent, load_agent(name, rules))


@pytest.fixture(scope="module")
def record() -> GameRecord:
    game, first = Game("classic", seed=11), policy("champion-1")
    while not game.over:
        game.play(int(first.probabilities(np.array(game.view().array))[0].argmax()))
    return record_of(game)


@pytest.fixture(scope="module")
def review(record: GameRecord) -> NetworkReview:
    return review_networks(record, [policy("champion-1"), policy("champion")])


def test_inclusion_probabilities_are_those_of_all_hands() -> None:
    odds = np.array([0.5, 2.0, 1.0, 0.0, 3.0, 0.1])
    for count in range(5):
        hands = list(itertools.combinations(range(len(odds)), count))
        weights = np.array([np.prod(odds[list(hand)]) for hand in hands])
        expected = [
            sum(weight for hand, weight in zip(hands, weights, strict=True) if card in hand)
            / weights.sum()
            for card in range(len(odds))
        ]
        assert inclusion_probabilities(odds, count) == pytest.approx(expected)


def test_beliefs_cover_the_unseen_cards_and_fill_the_hand(
    record: GameRecord, review: NetworkReview
) -> None:
    game = record.start()
    for decision, action in zip(review.decisions, record.actions, strict=True):
        view = game.view()
        unseen = cards_of(int(view.array["unseen"][0] | view.array["opponent_known"][0]))
        assert list(decision.belief) == [str(card) for card in unseen]
        assert sum(decision.belief.values()) == pytest.approx(view.opponent_hand_size, abs=0.05)
        assert all(decision.belief[str(card)] == 1 for card in view.known_opponent_cards)
        game.play(action)


def test_policies_part_where_their_likeliest_cards_first_differ(
    record: GameRecord, review: NetworkReview
) -> None:
    game, agents = record.start(), [policy("champion-1"), policy("champion")]
    first_difference = None
    for n, action in enumerate(record.actions):
        view = np.array(game.view().array)
        if len({int(agent.probabilities(view)[0].argmax()) for agent in agents}) > 1:
            first_difference = n
            break
        game.play(action)
    assert first_difference is not None
    assert review.first_difference == first_difference
    own, other = (continuation.actions for continuation in review.continuations)
    assert own == list(record.actions[first_difference:])
    assert other[0] != own[0]
    assert len(other) == len(own)


def test_equal_policies_do_not_part(record: GameRecord) -> None:
    review = review_networks(record, [policy("champion"), policy("champion")])
    assert (review.first_difference, review.continuations) == (None, [])
    assert {decision.kl for decision in review.decisions} == {0.0}


def test_rules_without_search_networks_show_policies_alone() -> None:
    game = Game("race-9", seed=1)
    while not game.over:
        game.play(game.legal()[0])
    review = review_networks(record_of(game), [])
    assert review.curves == []
    assert all(not decision.belief for decision in review.decisions)
    assert [decision.policies for decision in review.decisions] == [[]] * len(review.decisions)


@pytest.mark.parametrize("critic", ["oracle", "shared"])
def test_critics_value_both_seats_in_the_foreplay(
    critic: Any, record: GameRecord, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from german_whist.training.algorithms.ppo import PPO
    from german_whist.training.algorithms.settings import PPOSettings
    from german_whist.training.run_state import write_policy

    trainer = PPO(PPOSettings(critic=critic, reward="win", n_envs=2, hidden_sizes=(8,)))
    (tmp_path / "quick-1" / "checkpoints").mkdir(parents=True)
    path = write_policy(
        tmp_path / "quick-1" / "checkpoints" / "1000",
        trainer.policy_weights(),
        trainer.settings,
        trainer.network_card(),
        decisions=1000,
    )
    review = review_networks(record, [policy(str(path))])
    assert review.names == ["quick-1@1,000"] == [display_name(str(path))]
    assert Opponents((str(path),))[str(path)].title == "quick-1@1,000"
    value_network, curve = review.curves
    assert (value_network.name, curve.name, curve.unit) == ("", "quick-1@1,000", "win %")
    game = record.start()
    for value, action in zip(curve.values, record.actions, strict=False):
        assert value.who == game.turn
        assert (value.actual is None, value.spread is None) == (critic == "shared",) * 2
        game.play(action)
    assert not game.stock
    assert [value.n for value in curve.values] == list(range(26))
    # Another training writes its checkpoint over this one, and then it is deleted.
    agent = policy(str(path))
    for seed in (2, None):
        if seed is None:
            path.unlink()
        else:
            write_policy(
                path.with_suffix(""),
                PPO(msgspec.structs.replace(trainer.settings, seed=seed)).policy_weights(),
                trainer.settings,
                trainer.network_card(),
                decisions=1000,
            )
        later = review_networks(record, [agent])
        assert later.decisions == review.decisions
        assert later.curves == [value_network]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("runs/a", "a"),
        ("runs/a,sample", "a,sample"),
        ("checkpoints/000000001000.safetensors", "quick-1@1,000"),
        ("./000000001000.safetensors", "000000001000"),
        ("../quick-1/checkpoints/000000001000.safetensors,sample", "quick-1@1,000,sample"),
    ],
)
def test_a_checkpoints_name_has_its_run_and_options(
    name: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quick-1").mkdir()
    monkeypatch.chdir(tmp_path / "quick-1")
    assert display_name(name) == shown


def test_checkpoints_of_the_command_line_are_compared_in_replays(tmp_path, record) -> None:
    with running_server(tmp_path, more=("champion-1", "counting", "champion")) as server:
        found = server.client().get(f"/api/replays/{server.add_hand(record)}/1/networks")
    assert found["names"] == ["Champion-1", "Champion"]
    assert len(found["decisions"]) == len(record.actions)


def test_without_checkpoints_replays_show_the_champion(server, client, record) -> None:
    hand = server.add_hand(record)
    assert client.get(f"/api/replays/{hand}/1/networks")["names"] == ["Champion"]


def test_panel_goes_to_decisions_and_keeps_to_a_seats_view(
    browser: Any, tmp_path: Path, record: GameRecord, review: NetworkReview
) -> None:
    pytest.importorskip("playwright.sync_api")
    from playwright.sync_api import expect
    from tablepage import user_of

    with (
        running_server(tmp_path, more=("champion-1", "champion")) as server,
        user_of(server, browser, viewport={"width": 390, "height": 844}) as user,
    ):
        page = user.page
        user.go(f"replay/{server.add_hand(record)}/1/5")
        user.computed(".networks")
        names = page.locator(".policies thead th")
        expect(names).to_have_text(["Card", "Champion-1", "Champion"])
        assert names.last.evaluate("each => each.scrollWidth <= each.clientWidth")
        page.get_by_role("button", name="where they part").click()
        assert page.url.endswith(f"/{review.first_difference}")
        divergence = page.locator(".networks-values").last
        divergence.scroll_into_view_if_needed()
        box = divergence.locator("svg").bounding_box()
        page.mouse.click(box["x"] + box["width"] * (40 + 294 * 0.5) / 340, box["y"] + 20)
        assert page.url.endswith(f"/{len(record.actions) // 2}")
        curve, other = (page.locator(f".networks-values g.seat-{seat}").first for seat in (0, 1))
        for seats, shown in (("0", [True, False]), ("1", [False, True]), ("both", [True, True])):
            page.get_by_label("Whose cards are shown").select_option(seats)
            assert [curve.is_visible(), other.is_visible()] == shown
            assert divergence.is_visible() == (seats == "both")
        assert not user.complaints


def test_agents_have_the_shortest_name_that_tells_them_apart(tmp_path: Path) -> None:
    one, other, same = (str(tmp_path / name) for name in ("x/a", "x/b", "y/a"))
    assert [display_name(one), display_name(other)] == ["a", "b"]
    assert [display_name(name, (one, same)) for name in (one, same)] == ["x/a", "y/a"]
    tell_apart((one, same))
    assert [display_name(one), display_name(other)] == ["x/a", "b"]
    tell_apart((one, other))
    record = played_out(Game("small-last", seed=3))
    replay = make_replay(replace(record_of(record), meta={"players": [one, other]}))
    assert replay.players == ("a", "b")
    # At the start of a sentence a run's name keeps its letters.
    assert {step.prompt.split()[0] for step in replay.steps} == {"a", "b"}
    assert begin("you lead") == "You lead"


CUT = """all => all.filter((each) => each.scrollWidth > each.clientWidth + 1
    || each.getBoundingClientRect().right > innerWidth).map((each) => each.textContent)"""
SIZES = (1280, 800), (390, 844), (844, 390)


def test_two_checkpoints_have_one_name_on_every_surface(
    browser: Any, tmp_path: Path, record: GameRecord
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("playwright.sync_api")
    from playwright.sync_api import expect
    from tablepage import user_of

    from german_whist.training.algorithms.ppo import PPO
    from german_whist.training.algorithms.settings import PPOSettings
    from german_whist.training.run_state import write_policy

    paths: list[str] = []
    for run in ("sweep-1", "sweep-2"):
        trainer = PPO(PPOSettings(n_envs=2, hidden_sizes=(8,), seed=len(paths)))
        (folder := tmp_path / "runs" / run / "checkpoints").mkdir(parents=True)
        state = trainer.policy_weights(), trainer.settings, trainer.network_card()
        paths.append(str(write_policy(folder / "200704", *state, decisions=200_704)))
    names = ["sweep-1@200,704", "sweep-2@200,704"]
    both = replace(record, meta={"players": paths})

    # The table of costs, and a replay as a file.
    settings = AnalysisSettings(search="flat-mc:20", network=paths[0])
    costs = as_text(accuracy([both], settings), tricks=False).splitlines()[2:]
    assert list(dict.fromkeys(line.split()[0] for line in costs)) == names
    page_of_hand = replay_page(both)
    assert f"<title>{names[0]} and {names[1]} · German Whist</title>" in page_of_hand
    assert str(tmp_path) not in page_of_hand

    with (
        running_server(tmp_path / "data", more=tuple(paths)) as server,
        user_of(server, browser, viewport={"width": 1280, "height": 800}) as user,
    ):
        page = user.page
        user.go()
        expect(page.locator(".agent b").nth(1)).to_be_visible()
        assert page.locator(".agent b").all_inner_texts()[:2] == names
        expect(page.locator("button.play")).to_contain_text(names[0])
        user.go("watch")
        expect(page.locator("button.play")).to_contain_text(f"{names[0]} – {names[1]}")
        table = user.table(rules="classic", player=paths[0], opponent=paths[1])
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            user.go(f"table/{table}")
            user.computed(".plate-name")
            plates = page.locator(".plate-own .plate-name, .plate-other .plate-name")
            assert sorted(plates.all_inner_texts()) == names
            assert plates.evaluate_all(CUT) == []
        assert names[0] in page.title() or names[1] in page.title()
        hand = server.add_hand(both)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            user.go(f"replay/{hand}/1/5")
            user.computed(".totals")
            user.computed(".networks")
            assert page.locator("h1").inner_text().startswith(f"{names[0]} and {names[1]}")
            assert page.locator(".totals tbody th").all_inner_texts() == names
            assert page.locator(".policies thead th").all_inner_texts()[1:] == names
            whose = page.get_by_label("Whose cards are shown").locator("option")
            assert whose.all_inner_texts()[1:] == [f"As {name} saw it" for name in names]
            # The column of costs ends within the panel.
            assert page.locator(".analysis, .totals").evaluate_all(CUT) == []
