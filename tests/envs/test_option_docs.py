"""The docstrings of the environments describe every option, alike in all of them."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from typing import Any, Literal, get_args, get_origin

import pytest

from german_whist import german_whist_v0, named_rules
from german_whist.engine.rules import RuleSetName
from german_whist.envs import (
    GermanWhistEnv,
    GermanWhistVecEnv,
    GermanWhistVectorEnv,
    OpponentPool,
    SelfPlayEnv,
)

CONSTRUCTORS: dict[str, Any] = {
    "env": german_whist_v0.env,
    "GermanWhistEnv": GermanWhistEnv,
    "GermanWhistVectorEnv": GermanWhistVectorEnv,
    "GermanWhistVecEnv": GermanWhistVecEnv,
    "SelfPlayEnv": SelfPlayEnv,
    "OpponentPool": OpponentPool,
}


def described_options(constructor: Any) -> dict[str, str]:
    """The options in a docstring and what it says of them."""
    text = inspect.getdoc(constructor) or ""
    items = re.findall(r"^- `(\w+)`: (.+(?:\n  .+)*)", text, re.MULTILINE)
    return {name: " ".join(about.split()) for name, about in items}


def literal_values(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [value for part in get_args(annotation) for value in literal_values(part)]


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_docstring_tells_values_and_default_of_every_option(name: str) -> None:
    constructor = CONSTRUCTORS[name]
    described = described_options(constructor)
    parameters = inspect.signature(constructor).parameters
    assert list(described) == list(parameters)
    function = constructor.__init__ if inspect.isclass(constructor) else constructor
    names = inspect.unwrap(function).__globals__
    for option, parameter in parameters.items():
        about = described[option].replace('"', "'")
        default = getattr(parameter.default, "value", parameter.default)
        assert default == () or repr(default) in about, option
        values = [] if option == "rules" else literal_values(eval(parameter.annotation, names))
        assert not [value for value in values if f"`{value!r}`" not in about], option


def test_an_option_is_described_alike_everywhere() -> None:
    texts: dict[str, set[str]] = defaultdict(set)
    for name, constructor in CONSTRUCTORS.items():
        for option, about in described_options(constructor).items():
            if name != "OpponentPool" and (name, option) != ("SelfPlayEnv", "rules"):
                texts[option].add(about)
    # Of single environments, observations can be words; agents have no seat of their own.
    several = {"observation": 2, "render_view": 2, "num_envs": 2, "with_state": 2}
    assert {option: len(told) for option, told in texts.items() if len(told) > 1} == several


def test_raw_env_takes_the_options_of_env() -> None:
    env, raw_env = german_whist_v0.env, german_whist_v0.raw_env
    assert inspect.signature(env).parameters == inspect.signature(raw_env).parameters


def test_option_that_only_single_environments_have_is_explained() -> None:
    for make in (GermanWhistVectorEnv, GermanWhistVecEnv):
        with pytest.raises(TypeError, match="no option 'costs': single environments alone"):
            make(2, costs="exact")  # pyright: ignore[reportCallIssue]
        with pytest.raises(ValueError, match="observation is 'text', which single environments"):
            make(2, observation="text")  # pyright: ignore[reportArgumentType]


def test_names_of_rule_sets_are_in_their_type() -> None:
    assert set(get_args(RuleSetName)) == set(named_rules())
