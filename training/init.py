"""Beginning a training with the weights of a checkpoint: `init=PATH`, or `init=champion`.

What the weights have to fit is compared first, and every difference is told with
the setting that would take it away. A critic comes along where its weights are
there and it was paid in the same way; otherwise it begins anew.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ..agents.card import Card, NetworkCard, Origin
from ..agents.champion import NAME as CHAMPION
from ..agents.champion import WEIGHTS as CHAMPIONS_WEIGHTS
from ..agents.checkpoint import Checkpoint, policy_alone, read_checkpoint
from .presets import words_of
from .settings import Settings, SettingsError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Beginning:
    """The weights that a training begins with."""

    weights: dict[str, Array]
    origin: Origin
    about: str
    """What was taken and what was not, in a sentence."""


def beginning_of(settings: Settings, network: NetworkCard) -> Beginning:
    """The weights that `init` names, checked against a training's settings and its network."""
    path = CHAMPIONS_WEIGHTS if settings.init == CHAMPION else settings.init
    try:
        found = read_checkpoint(path)
    except ValueError as error:
        raise SettingsError(f"init: {error}") from None
    different = [*_games_apart(settings, found), *_networks_apart(network, found.card)]
    if different:
        raise SettingsError(f"init: {settings.init} {'; '.join(different)}")
    card = found.card
    assert card.weights is not None
    origin = Origin(settings.init, card.weights.sha256, card.decisions, card.commands)
    missing = _no_critic(settings, network, card)
    weights = policy_alone(found).weights if missing else found.weights
    about = f"begun with the weights of {settings.init}"
    if missing:
        about += f"; the critic begins anew: {missing}"
    return Beginning({name: each.astype(np.float32) for name, each in weights.items()}, origin,
                     about)  # fmt: skip


def _games_apart(settings: Settings, found: Checkpoint) -> list[str]:
    """How the games of a checkpoint differ from those of a training."""
    different = []
    mine = [each.rules for each in settings.all_options]
    if not all(any(map(each.same_game, found.rules)) for each in mine):
        theirs, wanted = (", ".join(each.name for each in some) for some in (found.rules, mine))
        different.append(f"plays {theirs}, and this training {wanted}: give the same rules")
    if found.card.layout != settings.layout:
        different.append(
            f"reads the layout {found.card.layout}, and this training {settings.layout}: give "
            f"layout={found.card.layout}"
        )
    return different


def _networks_apart(network: NetworkCard, card: Card) -> list[str]:
    """How the network of a checkpoint differs from one that is to have its weights."""
    theirs, different = card.network, []
    for name, setting in (("kind", "network"), ("layers", "layers"), ("ranks", "ranks")):
        there, here = (getattr(each, name) for each in (theirs, network))
        if there != here:
            if name == "layers":
                there, here = list(there), list(here)
            different.append(
                f"has {setting} {there}, and this training {here}: "
                f"give {shlex.join(words_of({setting: there}))}"
            )
    if theirs.kind == network.kind and theirs.attention != network.attention:
        size = msgspec.to_builtins(theirs.attention)
        size.pop("history_version")
        words = " ".join(f"attention_{name}={value}" for name, value in size.items())
        different.append(f"has a transformer of another size: give {words}")
    if not different and theirs.rule_features != network.rule_features:
        different.append("was told other rule sets apart: give the same rules")
    if not different and theirs.inputs != network.inputs:
        different.append(
            f"reads {len(theirs.inputs)} places of the observation that are not the "
            f"{len(network.inputs)} of this training: give horizon={card.horizon}"
        )
    return different


def _no_critic(settings: Settings, network: NetworkCard, card: Card) -> str:
    """Why the critic does not come along; nothing if it does."""
    if card.network.critic is None:
        return "its weights are not in the checkpoint"
    if card.network.critic != network.critic:
        return f"there it is {card.network.critic!r}, and here {network.critic!r}"
    if (card.reward, card.horizon) != (settings.reward, settings.horizon):
        return (
            f"there it was paid {card.reward!r} with the horizon {card.horizon!r}, and here "
            f"{settings.reward!r} with {settings.horizon!r}"
        )
    return ""
