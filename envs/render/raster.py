"""A scene as an image, antialiased by drawing at twice the size with Pillow."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ...common.typing import Array
from .shapes import Box, Scene, Shape, Text

_LARGER = 2
_ANCHORS = {"start": "lm", "middle": "mm", "end": "rm"}


def image_of(scene: Scene) -> Array:
    """The scene as `(height, width, 3)` uint8."""
    size = (scene.width * _LARGER, scene.height * _LARGER)
    image = Image.new("RGB", size)
    draw = ImageDraw.Draw(image)
    for item in scene.items:
        if isinstance(item, Box):
            _box(draw, item)
        elif isinstance(item, Shape):
            draw.polygon([(x * _LARGER, y * _LARGER) for x, y in item.points], fill=item.fill)
        else:
            _text(image, draw, item)
    return np.array(image.reduce(_LARGER), np.uint8)


def _box(draw: ImageDraw.ImageDraw, box: Box) -> None:
    sides = (box.x, box.y, box.x + box.width, box.y + box.height)
    draw.rounded_rectangle(
        [side * _LARGER for side in sides],
        box.radius * _LARGER,
        fill=box.fill,
        outline=box.line,
        width=round(box.line_width * _LARGER) if box.line else 0,
    )


def _text(image: Image.Image, draw: ImageDraw.ImageDraw, text: Text) -> None:
    at = (text.x * _LARGER, text.y * _LARGER)
    if text.turned:
        letters = _upside_down(text.text, round(text.size * _LARGER), text.bold)
        corner = round(at[0] - letters.width / 2), round(at[1] - letters.height / 2)
        image.paste(
            text.fill, (*corner, corner[0] + letters.width, corner[1] + letters.height), letters
        )
        return
    # Pillow's font has one weight; an outline in the same color makes it bold.
    draw.text(
        at,
        text.text,
        fill=text.fill,
        font=_font(round(text.size * _LARGER)),
        anchor=_ANCHORS[text.anchor],
        stroke_width=1 if text.bold else 0,
        stroke_fill=text.fill,
    )


@cache
def _upside_down(text: str, size: int, bold: bool) -> Image.Image:
    letters = Image.new("L", (2 * size, 2 * size))
    draw = ImageDraw.Draw(letters)
    draw.text((size, size), text, 255, _font(size), "mm", stroke_width=1 if bold else 0)
    return letters.rotate(180)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
