"""Beginning a training with the weights of a checkpoint: `init=PATH`, or `init=champion`.

What the weights have to fit is compared first, and every difference is told with
the setting that would take it away. Other rule sets are none: each weight goes to the place
that it was for, and a place or an action that the checkpoint does not know begins at nothing.
A critic comes along where its weights are there and it was paid in the same way; otherwise it
begins anew.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...agents.checkpoints.bundled import network_for
from ...agents.checkpoints.checkpoint import policy_alone, read_checkpoint
from ...agents.checkpoints.schema import Card, NetworkCard, Origin
from ...common.settings_files import format_overrides
from ...common.typed_settings import SettingsError
from ...common.typing import Array
from ...engine.observation.rule_features import rule_features
from ...engine.rules import Rules
from ..settings import Settings


@dataclass(frozen=True)
class Beginning:
    """The weights that a training begins with."""

    weights: dict[str, Array]
    origin: Origin
    about: str
    """What was taken and what was not, in a sentence."""


def beginning_of(settings: Settings, network: NetworkCard) -> Beginning:
    """The weights that `init` names, checked against a training's settings and its network."""
    try:
        found = read_checkpoint(network_for(settings.options.rules, settings.init))
    except ValueError as error:
        raise SettingsError(f"init: {error}") from None
    different = [*_layouts_apart(settings, found.card), *_networks_apart(network, found.card)]
    if different:
        raise SettingsError(f"init: {settings.init} {'; '.join(different)}")
    card = found.card
    assert card.weights is not None
    origin = Origin(settings.init, card.weights.sha256, card.decisions, card.commands)
    missing = _no_critic(settings, network, card)
    weights = policy_alone(found).weights if missing else found.weights
    about = f"begun with the weights of {settings.init}"
    mine = [each.rules for each in settings.all_options]
    if not all(any(map(each.same_game, found.rules)) for each in mine):
        about += f", which plays {', '.join(each.name for each in found.rules)}"
    if lost := len(np.setdiff1d(card.network.places, network.places)):
        about += f"; what it made of {lost} places that are not read here is lost"
    if missing:
        about += f"; the critic begins anew: {missing}"
    actions = max(each.actions for each in mine)
    placed = _in_their_places(weights, card.network, network, mine[0], actions)
    return Beginning(placed, origin, about)


def _in_their_places(
    weights: Mapping[str, Array], theirs: NetworkCard, mine: NetworkCard, rules: Rules, actions: int
) -> dict[str, Array]:
    """The weights of a checkpoint where a training's network has what they were for.

    What told the checkpoint's rule sets apart and is the same in all of this training's, which
    `rules` are one of, goes into the biases.
    """
    seen = len(theirs.places) + len(theirs.rule_places)
    known = {place: k for k, place in enumerate(_places(theirs))}
    columns = [known.get(place, -1) for place in _places(mine)]
    features = rule_features(rules)
    fixed = [
        len(theirs.places) + k
        for k, place in enumerate(theirs.rule_places)
        if place not in mine.rule_places and features[place]
    ]
    placed = {name: each.astype(np.float32) for name, each in weights.items()}
    for layer in ("hidden.0", "critic.0"):
        if f"{layer}.weight" in placed:
            placed |= _first_layer(placed, layer, seen, columns, fixed)
    for part in ("policy.weight", "policy.bias"):
        rows = placed[part][:actions]
        room = [(0, actions - len(rows)), *[(0, 0)] * (rows.ndim - 1)]
        placed[part] = np.pad(rows, room)
    return placed


def _places(network: NetworkCard) -> Iterator[tuple[str, int]]:
    """What a network's first layer reads, in order, by names that all networks share."""
    yield from (("observation", place) for place in network.places.tolist())
    yield from (("rules", place) for place in network.rule_places.tolist())


def _first_layer(
    weights: Mapping[str, Array], layer: str, seen: int, columns: list[int], fixed: list[int]
) -> dict[str, Array]:
    """A layer whose first columns, `seen` of them, are of what is seen, with other columns."""
    weight, bias = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
    nothing = np.zeros((len(weight), 1), np.float32)
    known = np.concatenate([weight[:, :seen], nothing], axis=1)
    return {
        f"{layer}.weight": np.concatenate([known[:, columns], weight[:, seen:]], axis=1),
        f"{layer}.bias": bias + weight[:, fixed].sum(axis=1),
    }


def _layouts_apart(settings: Settings, card: Card) -> list[str]:
    """How what a checkpoint is shown differs from what a training shows."""
    if card.layout == settings.layout:
        return []
    return [
        f"reads the layout {card.layout}, and this training {settings.layout}: give "
        f"layout={card.layout}"
    ]


def _networks_apart(network: NetworkCard, card: Card) -> list[str]:
    """How the network of a checkpoint differs from one that is to have its weights."""
    theirs, different = card.network, []
    if theirs.kind == "table":
        return ["is a table, whose numbers fit no network"]
    for name in ("hidden_sizes", "card_ranks"):
        there, here = (getattr(each, name) for each in (theirs, network))
        if there != here:
            if name == "hidden_sizes":
                there, here = list(there), list(here)
            different.append(
                f"has {name} {there}, and this training {here}: "
                f"give {shlex.join(format_overrides({name: there}))}"
            )
    return different


def _no_critic(settings: Settings, network: NetworkCard, card: Card) -> str:
    """Why the critic does not come along; nothing if it does."""
    if card.network.critic is None:
        return "its weights are not in the checkpoint"
    if card.network.critic != network.critic:
        return f"there it is {card.network.critic!r}, and here {network.critic!r}"
    paid = settings.reward, settings.card_horizon
    if (card.reward, card.horizon) != paid:
        return (
            f"there it was paid {card.reward!r} with the horizon {card.horizon!r}, and here "
            f"{paid[0]!r} with {paid[1]!r}"
        )
    scale, there = getattr(settings, "reward_scale", None), card.settings.get("reward_scale", 0.0)
    if scale is not None and scale != there:
        return f"there reward_scale was {there:g}, and here it is {scale:g}"
    return ""
