"""The docstrings of public names stand alone in a tooltip: they name every parameter."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

import german_whist
from german_whist import agents, envs

PUBLIC: dict[str, Any] = {
    name: member
    for package in (german_whist, envs, agents)
    for name in package.__all__
    if inspect.isfunction(member := getattr(package, name)) or inspect.isclass(member)
}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_name_has_a_docstring_with_its_parameters(name: str) -> None:
    member = PUBLIC[name]
    text = inspect.getdoc(member) or ""
    assert text
    described_by_fields = dataclasses.is_dataclass(member) or hasattr(member, "_fields")
    if described_by_fields or (inspect.isclass(member) and issubclass(member, (Exception, int))):
        return
    parameters = [
        parameter.name
        for parameter in inspect.signature(member).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    # A single parameter is what the sentence is about.
    missing = [parameter for parameter in parameters if f"`{parameter}`" not in text]
    assert len(parameters) == 1 or not missing
