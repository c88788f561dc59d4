"""The table can be looked at: in every render mode, at any deck size, from any seat."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pygame
import pytest
from walks import lies_inside, render_test

from german_whist import Game, german_whist_v0
from german_whist.engine.text.position import by_suit, position_text
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv
from german_whist.envs.render.modes import Painter
from german_whist.envs.render.raster import image_of
from german_whist.envs.render.scene import WIDTH, scene_of
from german_whist.envs.render.shapes import Box, Item, Scene, Shape
from german_whist.envs.sb3 import GermanWhistVecEnv
from support import ODD

# Sets that lead through other positions: a choice, two upcards, none, an exchange, a race.
LOOKS = ["classic", "colour", "no-trump", "open-stock", "draft", "race-9", "humbug"]
RULES = [*LOOKS, *(ODD[name] for name in ("two cards", "hand of one", "set aside", "no stock"))]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows show every picture, without the pause that people need."""
    monkeypatch.setattr(pygame.time, "Clock", lambda: type("", (), {"tick": lambda *_: None})())


MATCH: dict[str, Any] = {"horizon": "match", "match": 10}


@pytest.mark.parametrize(
    "make",
    [
        partial(german_whist_v0.env, "draft"),
        partial(german_whist_v0.env, "small-all", **MATCH),
    ],
    ids=["draft", "match"],
)
def test_render_test_passes(make: Any) -> None:
    render_test(make, custom_tests={"svg": lambda svg: fromstring(svg).tag.endswith("svg")})


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_everything_lies_on_the_table_at_every_moment(rules: Any) -> None:
    game = Game(rules, seed=1)
    rng = np.random.default_rng(1)
    while True:
        if len(game.actions) % 7 == 0 or game.over:
            for seat in (0, 1):
                other = game.hands[1 - seat] if seat else None
                scene = scene_of(game.view(seat), other_hand=other)
                assert all(lies_inside(item, scene.width, scene.height) for item in scene.items)
                assert Painter("ansi").paint(game, seat, ("a", "b"), open_hands=True)
        if game.over:
            break
        legal = game.legal()
        game.play(legal[rng.integers(len(legal))])


def faces(scene: Any, low: float, high: float) -> int:
    """How many cards lie face up between two heights."""
    boxes = [item for item in scene.items if isinstance(item, Box) and item.width < WIDTH / 5]
    return sum(box.fill == "#fdfcf7" and box.height > 100 and low < box.y < high for box in boxes)


def test_picture_shows_only_what_the_seat_knows() -> None:
    game = Game("classic", seed=3)
    for _ in range(12):
        game.play(game.legal()[0])
    view = game.view(0)
    seen, opened = scene_of(view), scene_of(view, other_hand=game.hands[1])
    assert faces(seen, 0, 100) == len(view.opponent_known)
    assert faces(opened, 0, 100) == len(game.hands[1])
    assert faces(seen, 400, 600) == faces(opened, 400, 600) == len(view.hand)
    assert faces(seen, 200, 400) == len(view.upcards) + 2


def test_text_is_that_of_language_models_and_opens_a_hand_on_request() -> None:
    game = Game("classic", seed=2)
    text, opened = (
        Painter("ansi").paint(game, 0, ("me", "you"), open_hands=open_hands)
        for open_hands in (False, True)
    )
    assert text == position_text(game.view(0)) + "\n"
    assert opened.removeprefix(text) == f"The opponent's hand: {by_suit(game.hands[1])}.\n"


def test_environments_show_the_view_of_the_player_to_move() -> None:
    """Unless a seat or all hands are asked for."""
    env, of_one, opened = envs = [
        german_whist_v0.raw_env(render_mode="ansi", **options)
        for options in ({}, {"render_view": 1}, {"render_view": "open"})
    ]
    for each in envs:
        each.reset(seed=6)
    movers = set()
    for _ in range(4):
        mover = env.agent_selection
        movers.add(mover)
        assert env.render() == position_text(env.view(mover)) + "\n"
        assert of_one.render() == position_text(of_one.view("player_1")) + "\n"
        assert "The opponent's hand" not in env.render()
        assert "The opponent's hand" in opened.render()
        for each in envs:
            each.step(int(each.last()[0]["action_mask"].argmax()))
    assert len(movers) == 2


# -- images, item by item, against plain drawing

RED, BLUE = (200, 30, 30), (30, 60, 200)


def color_of(rgb: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def image(*items: Item) -> np.ndarray[Any, Any]:
    return image_of(Scene(90, 60, items, ""))


def test_a_box_fills_its_corners_and_is_lined_within() -> None:
    large = np.zeros((120, 180, 3))  # twice as large, and a box holds its last pixel too
    large[24:65, 20:81] = BLUE
    large[28:61, 24:77] = RED
    found = image(Box(10, 12, 30, 20, 0, color_of(RED), color_of(BLUE), 2))
    np.testing.assert_allclose(found, large.reshape(60, 2, 90, 2, 3).mean(axis=(1, 3)), atol=1)
    assert (image(Box(10, 12, 30, 20, 0, color_of(RED)))[13, 11] == RED).all()
    assert not image(Box(10, 12, 30, 20, 9, color_of(RED)))[12, 10].any()
    assert not image(Box(10, 12, 30, 20, 0, None, color_of(RED), 1))[20, 20].any()


def test_a_polygon_is_filled_and_what_comes_later_lies_on_top() -> None:
    triangle = Shape(((10, 10), (50, 10), (10, 50)), color_of(RED))
    found = image(triangle, Box(20, 15, 5, 5, 0, color_of(BLUE)))
    rows, columns = np.indices((60, 90))
    inside = (rows > 11) & (columns > 11) & (rows + columns < 58)
    covered = (rows >= 15) & (rows < 21) & (columns >= 20) & (columns < 26)
    assert (found[inside & ~covered] == RED).all()
    assert (found[16:19, 21:24] == BLUE).all()
    assert not found[(rows < 9) | (columns < 9) | (rows + columns > 62)].any()


def test_a_window_opens_and_closes_cleanly_and_is_not_copied() -> None:
    env = german_whist_v0.env(render_mode="human", render_view=1)
    env.reset(seed=1)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    assert pygame.display.get_init()
    copied = pickle.loads(pickle.dumps(env))
    copied.step(int(copied.last()[0]["action_mask"].argmax()))
    for each in (copied, env, env):
        each.close()
    assert not pygame.display.get_init()


def test_one_window_shows_one_picture_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[bytes] = []
    opened: list[Any] = []
    flip, set_mode = pygame.display.flip, pygame.display.set_mode

    def seen() -> None:
        flip()
        shown.append(pygame.image.tobytes(pygame.display.get_surface(), "RGB"))

    monkeypatch.setattr(pygame.display, "flip", seen)
    monkeypatch.setattr(
        pygame.display, "set_mode", lambda size: opened.append(size) or set_mode(size)
    )
    window = german_whist_v0.raw_env(render_mode="human", render_view=0)
    image = german_whist_v0.raw_env(render_mode="rgb_array", render_view=0)
    painted = []
    for env in (window, image):
        env.reset(seed=1)
        for _ in range(3):
            env.step(int(env.last()[0]["action_mask"].argmax()))
            if env is image:
                painted.append(env.render().tobytes())  # type: ignore[union-attr]
    assert shown[-3:] == painted
    assert len(set(shown)) == len(shown) >= 3
    assert len(opened) == 1
    window.close()


def test_a_window_that_its_user_closes_stays_closed() -> None:
    env = german_whist_v0.raw_env(render_mode="human")
    env.reset(seed=1)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.render()
    assert not pygame.display.get_init()
    env.step(int(env.last()[0]["action_mask"].argmax()))
    env.close()


def test_gymnasium_vectors_and_sb3_draw_too() -> None:
    env = GermanWhistEnv("small-last", render_mode="rgb_array", render_view="open")
    env.reset(seed=1)
    assert env.render().shape == (640, 1000, 3)
    vector = GermanWhistVectorEnv(2, "small-last", render_mode="ansi")
    vector.reset(seed=1)
    assert [type(each) for each in vector.render() or ()] == [str, str]
    sb3 = GermanWhistVecEnv(2, "small-last", render_mode="rgb_array")
    sb3.reset()
    assert np.shape(sb3.render())[2] == 3
    for each in (env, vector, sb3):
        each.close()


def test_rendering_without_a_mode_says_so() -> None:
    env = german_whist_v0.raw_env()
    env.reset()
    with pytest.warns(UserWarning, match="make the environment with a render_mode"):
        assert env.render() is None
    with pytest.raises(ValueError, match="render_view is 'mine'"):
        german_whist_v0.raw_env(render_view="mine")
