"""The render modes: one table as text, SVG, an image or a window."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Any, Literal, get_args

import gymnasium

from ...common.suggestions import not_installed
from ...engine.checks import checked_choice
from ...engine.game import Game
from ...engine.text.position import by_suit, position_text
from .scene import scene_of
from .shapes import Scene

if TYPE_CHECKING:
    from .window import Window

RenderMode = Literal["human", "ansi", "rgb_array", "svg"]
RENDER_MODES = get_args(RenderMode)
_LIBRARIES = {"human": ("PIL", "pygame"), "rgb_array": ("PIL",)}
"""Modules that a mode imports; the extra `render` brings them."""
OPEN, SEAT, MOVER = "open", "seat", "mover"
LearnerRenderView = Literal["seat", "open"]
"""Whose hand a picture shows: the learner's, or both."""
AgentRenderView = Literal["mover", "open"] | int
"""Whose hand a picture shows: of the agent to move, all, or of a seat."""
RenderFrame = Any
"""By the mode: a text (`ansi`, `svg`), uint8 of (height, width, 3) (`rgb_array`), or None."""


def _missing_library(mode: str) -> str | None:
    missing = (name for name in _LIBRARIES.get(mode, ()) if importlib.util.find_spec(name) is None)
    return next(missing, None)


def usable_render_modes() -> list[str]:
    """The modes for an environment's metadata: those whose libraries are installed.

    Gymnasium's checker makes an environment in each of them.
    """
    return [mode for mode in RENDER_MODES if _missing_library(mode) is None]


def painter_for(mode: str | None, fps: int = 2) -> Painter | None:
    """A painter for a render mode; None without one."""
    return None if mode is None else Painter(checked_choice("render_mode", mode, RENDER_MODES), fps)


def warn_without_render_mode() -> None:
    """Warn that there is nothing to render."""
    gymnasium.logger.warn("render() draws nothing: make the environment with a render_mode")


class Painter:
    """Draws games: `Painter("svg").paint(game, 0, ("me", "opponent"), open_hands=False)`.

    - `mode`: a render mode: `"human"`, `"ansi"`, `"rgb_array"` or `"svg"`.
    - `fps`: pictures a second (2), in a window.
    """

    def __init__(self, mode: str, fps: int = 2) -> None:
        if library := _missing_library(mode):
            sentence = not_installed(f"render_mode {mode!r}", library, "render")
            raise ModuleNotFoundError(sentence, name=library)
        self.mode = mode
        self._fps = fps
        self._window: Window | None = None

    def paint(
        self, game: Game, seat: int, names: tuple[str, str], *, open_hands: bool
    ) -> RenderFrame:
        """The table from a seat, its name first; with `open_hands` the other hand is shown."""
        view = game.view(seat)
        other_hand = game.hands[1 - seat] if open_hands else None
        if self.mode == "ansi":
            # The text that language models read; an open hand follows it.
            shown = "" if other_hand is None else f"The opponent's hand: {by_suit(other_hand)}.\n"
            return f"{position_text(view)}\n{shown}"
        return self.draw(scene_of(view, other_hand=other_hand, names=names))

    def draw(self, scene: Scene) -> RenderFrame:
        if self.mode == "svg":
            from .svg import svg_of

            return svg_of(scene)
        if self.mode == "rgb_array":
            from .raster import image_of

            return image_of(scene)
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "hide")
        from .window import Window

        if self._window is None:
            self._window = Window("German Whist", self._fps)
        self._window.show(scene)
        return None

    def __getstate__(self) -> dict[str, object]:
        # A copy opens a window of its own.
        return {**self.__dict__, "_window": None}

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None
