"""A scene as SVG text."""

from __future__ import annotations

from ...common.markup import html_text
from .shapes import Box, Item, Scene, Shape, Text

_FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"


def svg_of(scene: Scene) -> str:
    """The scene as an SVG document."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {scene.width} {scene.height}" '
        f'width="{scene.width}" height="{scene.height}" role="img" font-family="{_FONT}">'
    )
    body = [f"<title>{html_text(scene.title)}</title>", *map(_element, scene.items)]
    return "\n".join([head, *body, "</svg>"]) + "\n"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _element(item: Item) -> str:
    if isinstance(item, Box):
        line = (
            f' stroke="{item.line}" stroke-width="{_number(item.line_width)}"' if item.line else ""
        )
        return (
            f'<rect x="{_number(item.x)}" y="{_number(item.y)}" width="{_number(item.width)}" '
            f'height="{_number(item.height)}" rx="{_number(item.radius)}" '
            f'fill="{item.fill or "none"}"{line}/>'
        )
    if isinstance(item, Shape):
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in item.points)
        return f'<polygon points="{points}" fill="{item.fill}"/>'
    assert isinstance(item, Text)
    weight = ' font-weight="bold"' if item.bold else ""
    if item.turned:
        weight += f' transform="rotate(180 {_number(item.x)} {_number(item.y)})"'
    return (
        f'<text x="{_number(item.x)}" y="{_number(item.y)}" font-size="{_number(item.size)}" '
        f'fill="{item.fill}" text-anchor="{item.anchor}" dominant-baseline="central"{weight}>'
        f"{html_text(item.text)}</text>"
    )
