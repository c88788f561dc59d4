"""Pictures of the three-player game, in every render mode and from every seat."""

from __future__ import annotations

import random
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from walks import lies_inside, render_test

from german_whist.engine.cards import CARDS
from german_whist.envs.render.shapes import Box
from german_whist.three_player import GermanWhistThreeEnv, german_whist_three_v0
from german_whist.three_player.game import ThreeGame
from german_whist.three_player.render import scene_of_three, text_of_three


def at(seed: int, cards: int) -> ThreeGame:
    rng, game = random.Random(seed), ThreeGame(seed)
    for _ in range(cards):
        game.play(rng.choice(game.legal()))
    return game


def faces(scene: Any) -> int:
    boxes = [item for item in scene.items if isinstance(item, Box) and item.width == 92]
    return sum(box.fill == "#fdfcf7" for box in boxes)


@pytest.mark.parametrize("cards", [0, 2, 17, 24, 25, 40, 52])
def test_a_seat_is_shown_its_own_cards_and_those_that_it_knows(cards: int) -> None:
    for seed in range(3):
        game = at(seed, cards)
        last = len(game.tricks[-1].cards) if game.tricks else 0
        in_middle = sum(map(bool, game.view(0).trick)) or last
        turned = in_middle + (game.upcard is not None)
        for seat in range(3):
            view = game.view(seat)
            scene, text = scene_of_three(view), text_of_three(view)
            assert all(lies_inside(item, scene.width, scene.height) for item in scene.items)
            sets = (view.hand, *view.known, view.dummy)
            n_known = sum(cards.bit_count() for cards in sets)
            assert faces(scene) == turned + n_known
            assert text.count("??") == sum(map(len, game.hands)) - n_known
            hidden = [card for card in CARDS if view.unseen >> card & 1]
            assert not any(f" {card.symbol}" in text for card in hidden)
            opened = scene_of_three(view, game.hands)
            assert faces(opened) == turned + sum(map(len, game.hands))
            open_text = text_of_three(view, game.hands)
            assert all(card.symbol in open_text for hand in game.hands for card in hand)


def test_environments_show_one_seat_or_all() -> None:
    opened = german_whist_three_v0.env(render_mode="ansi", render_view="open")
    by_default = german_whist_three_v0.raw_env(render_mode="ansi")
    closed = german_whist_three_v0.env(render_mode="ansi", render_view=1)
    for env in (opened, closed, by_default):
        env.reset(seed=4)
    mover = by_default.view(by_default.agent_selection)
    assert by_default.render() == text_of_three(mover)
    assert opened.render().count("??") == 0
    assert closed.render().count("??") == 14
    image = german_whist_three_v0.raw_env(render_mode="rgb_array")
    image.reset(seed=4)
    assert image.render().shape == (720, 1100, 3)
    assert image.render().dtype == np.uint8
    learner = GermanWhistThreeEnv(render_mode="ansi", seat=2)
    learner.reset(seed=4)
    assert learner.render() == text_of_three(learner.view())
    every = GermanWhistThreeEnv(render_mode="svg", render_view="open")
    every.reset(seed=4)
    assert every.render().startswith("<svg")
    for env in (opened, closed, image, learner, every):
        env.close()
        env.close()
    with pytest.raises(ValueError, match="render_view is 3"):
        german_whist_three_v0.env(render_view=3)
    with pytest.raises(ValueError, match="render_view is 1"):
        GermanWhistThreeEnv(render_view=1)


def test_a_window_shows_every_step(monkeypatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(
        "german_whist.envs.render.window.Window.show", lambda _, scene: shown.append(scene)
    )
    env = german_whist_three_v0.raw_env(render_mode="human")
    env.reset(seed=1)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    assert len(shown) == 2
    learner = GermanWhistThreeEnv(render_mode="human")
    learner.reset(seed=1)
    learner.step(learner.action_masks().argmax())
    assert len(shown) == 4


def test_render_test_passes() -> None:
    render_test(
        german_whist_three_v0.env,
        custom_tests={"svg": lambda svg: fromstring(svg).tag.endswith("svg")},
    )
