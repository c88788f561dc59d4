"""What a checkpoint's critic expects at the decisions of a hand, without torch."""

from __future__ import annotations

import numpy as np

from ...agents.checkpoints import Checkpoint
from ...agents.checkpoints.schema import HIDDEN_CARDS_SIZE, NetworkCard
from ...agents.networks.network_inputs import network_inputs
from ...agents.networks.relative_ranks import identity_action_map, to_relative_ranks
from ...common.typing import Array
from ...engine.batch.config import options_from
from ...engine.batch.cpu_backend import CpuBackend
from ...engine.cards import N_ACTIONS
from ...engine.observation.rule_features import rule_features
from ...engine.observation.spec import MAX_OBSERVATION_SIZE
from ...engine.options import SuitOrder
from ...engine.rules import Rules
from .kernels import HiddenCards, write_hidden_cards


def critic_values(checkpoint: Checkpoint, rules: Rules, view: Array, games: Array) -> Array:
    """`(n,)`: the return that the critic expects for the player of a view, in each of `n` games.

    The games agree with the view; only an oracle critic tells them apart. Returns are in the units
    of the training's reward, from this decision to the end of its horizon.
    """
    card = checkpoint.card
    inputs = _critic_inputs(card.network, card.suit_order, rules, view, games)
    weights = {name: array.astype(np.float32) for name, array in checkpoint.weights.items()}
    prefix = "hidden" if card.network.critic == "shared" else "critic"
    for layer in range(len(card.network.hidden_sizes)):
        weight, bias = (weights[f"{prefix}.{layer}.{part}"] for part in ("weight", "bias"))
        inputs = np.maximum(inputs @ weight.T + bias, 0)
    values = inputs @ weights["value.weight"][0] + weights["value.bias"][0]
    options = options_from(rules, reward=card.reward, horizon=card.horizon)
    return values * (card.settings.get("reward_scale") or max(1.0, 0.4 * options.max_loss))


def _critic_inputs(
    network: NetworkCard, suit_order: SuitOrder, rules: Rules, view: Array, games: Array
) -> Array:
    observed, count = network_inputs(view, rules, suit_order=suit_order), len(games)
    observation = np.zeros(MAX_OBSERVATION_SIZE, np.int8)
    observation[: observed.observations.shape[1]] = observed.observations[0]
    action_map = np.zeros(N_ACTIONS, np.int64)
    if network.card_ranks == "relative":
        to_relative_ranks(observation, action_map)
    else:
        identity_action_map(action_map)
    seen = [observation[network.places], rule_features(rules)[network.rule_places]]
    rows = np.tile(np.concatenate(seen), (count, 1))
    if network.critic == "oracle":
        cards = HiddenCards(
            rules=rules.array(),
            records=games,
            seats=view["seat"].repeat(count),
            orders=observed.orders.repeat(count, axis=0),
            env_actions=np.tile(action_map, (count, 1)),
            out=np.zeros((count, HIDDEN_CARDS_SIZE), np.int8),
        )
        CpuBackend().run_rows(count, write_hidden_cards, cards)
        rows = np.concatenate([rows, cards.out], axis=1)
    return rows.astype(np.float32)
