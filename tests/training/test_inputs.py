"""What networks read of the observation: every group of it somewhere, or not for a reason."""

from __future__ import annotations

from itertools import product

from german_whist.engine.batch.config import options_from
from german_whist.engine.observation.layout import EXCHANGE_LAYOUT, LAYOUTS
from german_whist.engine.rules import named_rules
from german_whist.training.rollout.network_inputs import inputs_of

LEFT_OUT = {
    "stage": "whether the stock lasts is told by the draws that are left",
    "to_move": "a network is asked only when its player is to move",
    "match": "a network plays matches always or never",
}


def test_every_group_of_the_observation_is_read_somewhere_or_left_out_for_a_reason() -> None:
    read: set[int] = set()
    chosen = product(named_rules().values(), ("auto", "match"), LAYOUTS, (False, True))
    for rules, horizon, layout, closed in chosen:
        options = options_from(rules, horizon=horizon, layout=layout)
        read.update(inputs_of(options, closed).tolist())
    for group in EXCHANGE_LAYOUT.groups:
        seen = read.intersection(range(group.start, group.start + group.size))
        assert bool(seen) != (group.name in LEFT_OUT), (
            f"{group.name}: let training/rollout/network_inputs.py read it, or say here why not"
        )
