"""Types that the environments share."""

from __future__ import annotations

from typing import Any, Literal

from ..engine.batch.config import TEXT, Options

Info = dict[str, Any]
"""What `reset` and `step` return beside observation and reward; the environments list its keys."""
LearnerObservation = Any
"""What a learner observes: an array; a dictionary of it and its mask with `mask_in_observation`; a
text with the observation `text`."""
LearnerSeat = Literal["random"] | int
"""The seat of a learner: drawn for each deal, or a number."""

OF_SINGLE_ENVIRONMENTS = {
    "costs": "single environments alone have it; here, ask german_whist.agents.CostModel of views",
    "retries": "single environments alone have it, since they alone read answers in words",
}
"""Options that environments of several games lack, and what to do instead."""


def check_no_text(options: Options) -> None:
    """Refuse the observation `text` in environments of several games."""
    if options.observation == TEXT:
        raise ValueError(
            "observation is 'text', which single environments have: make several of them, as "
            'by gymnasium.make_vec("german_whist/GermanWhistText-v0", n)'
        )
