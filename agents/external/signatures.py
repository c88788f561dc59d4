"""What a function plays by, as its parameters tell: views and random streams, or texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from inspect import Parameter

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def takes_text(function: Callable[..., object]) -> bool:
    """Whether a function needs one argument alone, which is neither the rules nor views.

    Options that have defaults may follow, as in `f(prompt, temperature=0)`. The names `rng` and
    `match` tell functions of views and factories of agents.
    """
    parameters = _parameters(function)
    first = next((each for each in parameters if each.kind in _BY_POSITION), None)
    if first is None or first.name in ("rules", "views"):
        return False
    others = [each for each in parameters if each is not first]
    optional = all(
        each.default is not Parameter.empty or each.kind is Parameter.VAR_KEYWORD for each in others
    )
    return optional and not {"rng", "match"} & {each.name for each in others}


def takes_views(function: Callable[..., object]) -> bool:
    """Whether the first parameters are `views` and `rng`, by these names."""
    return [each.name for each in _parameters(function) if each.kind in _BY_POSITION][:2] == [
        "views",
        "rng",
    ]


def check_takes_views(function: Callable[..., object]) -> None:
    """Refuse a function that cannot be called with views and random streams."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of compiled code, which tells only when it is called
    if next(iter(signature.parameters), "") == "rules":
        raise ValueError(
            f"{name_of(function)}{signature} makes agents: give what it returns, or its name as in "
            "module:function"
        )
    try:
        signature.bind("views", "rng")
    except TypeError as error:
        raise ValueError(
            f"{name_of(function)}{signature} is no agent: write f(views, rng), a function of views "
            "and random streams, or f(prompt), a function of a text"
        ) from error


def name_of(function: Callable[..., object]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _parameters(function: Callable[..., object]) -> list[Parameter]:
    try:
        return [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return []
