"""Warm start: initialization of a training with the weights of a checkpoint (`init=PATH`).

Incompatible networks are refused with the settings that would make them compatible. Rule sets may
differ: weights are matched by the inputs and actions that they belong to, and inputs and actions
that the checkpoint lacks get zero weights. The critic is used where it has the same kind and
reward; otherwise it starts anew.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

import numpy as np

from ..agents.checkpoints import read_checkpoint, strip_critic
from ..agents.checkpoints.bundled import network_for
from ..agents.checkpoints.schema import CheckpointCard, NetworkCard, Origin
from ..common.settings import SettingsError, format_overrides
from ..common.typing import Array
from ..engine.observation.rule_features import rule_features
from ..engine.rules import Rules
from .settings import Settings


def load_warm_start(
    settings: Settings, network: NetworkCard
) -> tuple[dict[str, Array], Origin, str]:
    """Load the weights of `settings.init`, fitted to a network.

    Returns them, where they come from, and a sentence on those that were used or not.
    """
    try:
        checkpoint = read_checkpoint(network_for(settings.options.rules, settings.init))
    except ValueError as error:
        raise SettingsError(f"init: {error}") from None
    card = checkpoint.card
    if problems := [*_suit_order_problems(settings, card), *_network_problems(network, card)]:
        raise SettingsError(f"init: {settings.init} {'; '.join(problems)}")
    origin = Origin(settings.init, card.sha256, card.decisions, card.commands)
    no_critic = _reason_for_no_critic(settings, network, card)
    weights = strip_critic(checkpoint).weights if no_critic else checkpoint.weights
    note = f"begun with the weights of {settings.init}"
    rule_sets = [options.rules for options in settings.all_options]
    if not all(any(map(rules.same_game, checkpoint.rules)) for rules in rule_sets):
        note += f", which plays {', '.join(rules.name for rules in checkpoint.rules)}"
    if unused := len(np.setdiff1d(card.network.places, network.places)):
        note += f"; the weights of {unused} inputs that this network lacks are not used"
    actions = max(rules.actions for rules in rule_sets)
    is_module = network.kind == "module"
    critic = _critic_of_module(network, rule_sets[0], actions) if is_module and no_critic else []
    if is_module and no_critic and not critic:
        note += (
            f"; the weights of the critic, too, although {no_critic}: {network.module} has no "
            "critic_parameters(), which would tell them apart"
        )
    elif no_critic:
        note += f"; the critic begins anew: {no_critic}"
    if is_module:
        kept = {name: array for name, array in weights.items() if name not in critic}
        return kept, origin, note
    fitted = _match_weights(weights, card.network, network, rule_sets[0], actions)
    return fitted, origin, note


def _critic_of_module(network: NetworkCard, rules: Rules, actions: int) -> list[str]:
    """Names of the weights of a custom network's critic; none if the class does not tell them."""
    from ..agents.networks.custom_network import network_of_card

    return [*network_of_card(network, rules, actions).critic_weights()]


def _match_weights(
    weights: Mapping[str, Array],
    source: NetworkCard,
    target: NetworkCard,
    rules: Rules,
    actions: int,
) -> dict[str, Array]:
    """Weights of the source network by inputs and actions of the target.

    Rule features that only the source reads are constant in the target's rule sets, of which
    `rules` is one: their weights are added to the biases.
    """
    source_inputs = [*_input_names(source)]
    column_of = {name: column for column, name in enumerate(source_inputs)}
    columns = [column_of.get(name, -1) for name in _input_names(target)]
    features = rule_features(rules)
    constant = [
        column_of["rules", place]
        for place in source.rule_places.tolist()
        if place not in target.rule_places and features[place]
    ]
    matched = {name: values.astype(np.float32) for name, values in weights.items()}
    for layer in ("hidden.0", "critic.0"):
        weight, bias = matched.get(f"{layer}.weight"), matched.get(f"{layer}.bias")
        if weight is None or bias is None:
            continue
        # Column -1 is zero, for inputs that the source lacks. The critic may have more columns.
        zero = np.zeros((len(weight), 1), np.float32)
        inputs = np.concatenate([weight[:, : len(source_inputs)], zero], axis=1)
        extra = weight[:, len(source_inputs) :]
        matched[f"{layer}.weight"] = np.concatenate([inputs[:, columns], extra], axis=1)
        matched[f"{layer}.bias"] = bias + weight[:, constant].sum(axis=1)
    for name in ("policy.weight", "policy.bias"):
        rows = matched[name][:actions]
        padding = [(0, actions - len(rows)), *[(0, 0)] * (rows.ndim - 1)]
        matched[name] = np.pad(rows, padding)
    return matched


def _input_names(network: NetworkCard) -> Iterator[tuple[str, int]]:
    """Inputs of a network's first layer in order, by names that all networks share."""
    yield from (("observation", place) for place in network.places.tolist())
    yield from (("rules", place) for place in network.rule_places.tolist())


def _suit_order_problems(settings: Settings, card: CheckpointCard) -> list[str]:
    if card.suit_order == settings.suit_order:
        return []
    return [
        f"reads the suit order {card.suit_order}, and this training {settings.suit_order}: give "
        f"suit_order={card.suit_order}"
    ]


def _network_problems(network: NetworkCard, card: CheckpointCard) -> list[str]:
    if card.network.kind == "table":
        return ["is a table, whose numbers fit no network"]
    if "module" in (card.network.kind, network.kind):
        names = ("module", "options", "inputs", "card_ranks", "critic")
        unlike = [name for name in names if getattr(card.network, name) != getattr(network, name)]
        source = card.network.module or "the built-in MLP"
        if not unlike:
            return []
        return [f"has the network {source}: the same {' and '.join(unlike)} are needed here"]
    problems = []
    for name in ("hidden_sizes", "card_ranks"):
        source, target = getattr(card.network, name), getattr(network, name)
        if source != target:
            if name == "hidden_sizes":
                source, target = list(source), list(target)
            problems.append(
                f"has {name} {source}, and this training {target}: "
                f"give {shlex.join(format_overrides({name: source}))}"
            )
    return problems


def _reason_for_no_critic(settings: Settings, network: NetworkCard, card: CheckpointCard) -> str:
    """Why the checkpoint's critic cannot be used; empty if it can."""
    if card.network.critic is None:
        return "its weights are not in the checkpoint"
    if card.network.critic != network.critic:
        return f"there it is {card.network.critic!r}, and here {network.critic!r}"
    if (card.reward, card.horizon) != (settings.reward, settings.card_horizon):
        return (
            f"there it was paid {card.reward!r} with the horizon {card.horizon!r}, and here "
            f"{settings.reward!r} with {settings.card_horizon!r}"
        )
    scale, before = getattr(settings, "reward_scale", None), card.settings.get("reward_scale", 0.0)
    if scale is not None and scale != before:
        return f"there reward_scale was {before:g}, and here it is {scale:g}"
    return ""
