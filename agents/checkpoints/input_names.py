"""Names of network inputs: groups of an observation, whole or in part.

A whole group has its name in the observation, such as `own_hand`; a part is written like a slice of
the group, such as `decision[0]` or `draws_left[0:13]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ...common.schema import short_repr
from ...common.suggestions import suggest
from ...common.typing import Array
from ...engine.observation.spec import EXCHANGE_SPEC, ObservationSpec

_NAME = re.compile(r"(\w+)(?:\[(\d{1,6})(?::(\d{1,6}))?\])?")


def input_places(
    names: Iterable[str], spec: ObservationSpec = EXCHANGE_SPEC
) -> npt.NDArray[np.int64]:
    """Indices into an observation that these names stand for, in order."""
    places: dict[int, str] = {}
    for name in names:
        for place in _places(name, spec):
            if place in places:
                raise ValueError(
                    f"the network reads a place of {places[place]!r} twice, the second time as "
                    f"{name!r}: each place that it reads stands once among its inputs"
                )
            places[place] = name
    return np.array([*places], np.int64)


def _places(name: str, spec: ObservationSpec) -> range:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(
            f"{short_repr(name)} is no group of inputs: write one of the observation, "
            "as 'own_hand', or a "
            "part of one, as 'decision[0]' or 'draws_left[0:13]'"
        )
    group_name, first, stop = match.groups()
    groups = {group.name: group for group in spec.groups}
    group = groups.get(group_name)
    if group is None:
        raise ValueError(
            f"{short_repr(group_name)} is no group of inputs{suggest(group_name, groups)}"
        )
    start = int(first or 0)
    end = int(stop) if stop else start + 1 if first else group.size
    if not start < end <= group.size:
        raise ValueError(
            f"{name!r} is no part of {group_name}, which has the places 0 to {group.size - 1}: "
            f"write one of them, or several as '{group_name}[0:{group.size}]'"
        )
    return range(group.start + start, group.start + end)


def input_names(places: Array, spec: ObservationSpec = EXCHANGE_SPEC) -> tuple[str, ...]:
    """The fewest names that stand for these indices, in order."""
    group_of = np.repeat(np.arange(len(spec.groups)), [group.size for group in spec.groups])
    breaks = (np.diff(places) != 1) | (np.diff(group_of[places]) != 0)
    runs = np.split(places, np.flatnonzero(breaks) + 1) if len(places) else []
    names = []
    for run in runs:
        group = spec.groups[group_of[run[0]]]
        first = int(run[0]) - group.start
        part = f"[{first}]" if len(run) == 1 else f"[{first}:{first + len(run)}]"
        names.append(group.name if len(run) == group.size else group.name + part)
    return tuple(names)
