"""Models of Stable-Baselines3 as players, from the zips that `model.save` writes.

Such a zip holds pickles, which can run any code when they are loaded. So it is opened only
on the word of whoever trusts it: `sb3:model.zip,trusted`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...common.schema import convert
from ...engine.batch.config import TRAINED_ON
from ...engine.observation.layout import layout_of
from ...engine.rules import Match
from ..base import Array, CannotPlay
from .policies import PolicyAgent, TrainedOn, words_for

TRUSTED = "trusted"


class SB3Agent(PolicyAgent):
    """A model of Stable-Baselines3 or sb3-contrib that was trained on our environments."""

    def __init__(
        self, rules: Any = "classic", path: str = "", *words: str, match: Match | None = None
    ) -> None:
        """`words` are `trusted`, what there is for a network, the layout, and `algorithm=NAME`."""
        chosen = [word for word in words if word.startswith("algorithm=")]
        told = dict(word.split("=", 1) for word in chosen)
        rest = tuple(word for word in words if word not in (TRUSTED, *chosen))
        if not Path(path).is_file():
            raise ValueError(f"{path!r} is no file: name a zip, as in sb3:model.zip,trusted")
        if TRUSTED not in words:
            raise ValueError(
                f"{path} holds pickles, which can run any code of whoever wrote them when they are "
                f"loaded: if you trust it, say so, as in sb3:{path},{TRUSTED}"
            )
        model = _model(path, told.get("algorithm", "MaskablePPO"))
        _check_unchanged(path, model)
        trained = _trained_on(path, model)
        found = words_for(rest, f"sb3:{path},{TRUSTED}", trained)

        def policy(observations: Array, masks: Array) -> Any:
            return _logits(model, observations, masks)

        super().__init__(rules, policy, **found, name=f"sb3:{path}", match=match)
        self._plays_as(trained, path, found["exact"])
        shape = _observed(model).shape
        if shape != (layout_of(self.rules).size,):
            raise CannotPlay(
                f"{path} reads observations of the shape {shape}, and those of {self.rules.name} "
                f"have {layout_of(self.rules).size} places: train it on those"
            )


def _model(path: str, algorithm: str) -> Any:
    try:
        import sb3_contrib
        import stable_baselines3
    except ImportError as error:
        raise ValueError(
            f"{error.name} is not installed, which plays models of Stable-Baselines3: pip "
            "install 'german-whist[train]'"
        ) from None
    kind = getattr(sb3_contrib, algorithm, None) or getattr(stable_baselines3, algorithm, None)
    if kind is None:
        raise ValueError(f"{algorithm!r} is no algorithm of Stable-Baselines3 or sb3-contrib")
    try:
        return kind.load(path, device="cpu")
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded as {algorithm}: {error}") from error


def _observed(model: Any) -> Any:
    """The space of a model's observations, without the mask where it gets both."""
    space = model.observation_space
    return space["observation"] if _gets_masks(model) else space


def _gets_masks(model: Any) -> bool:
    """Whether the mask is a part of a model's observations."""
    return isinstance(getattr(model.observation_space, "spaces", None), dict)


def _check_unchanged(path: str, model: Any) -> None:
    """Refuse a model that was shown other numbers than the environments' zeros and ones.

    A wrapper such as VecNormalize keeps what it subtracts and divides by elsewhere, and the
    space of observations does not show it; the last ones, which a file holds, do.
    """
    last = getattr(model, "_last_obs", None)
    last = last["observation"] if isinstance(last, dict) else last
    if last is not None and not np.isin(last, (0, 1)).all():
        raise CannotPlay(
            f"{path} was trained on observations that a wrapper changed, as VecNormalize does, and "
            "does not tell how: train it without that wrapper, or play it from Python by a "
            "PolicyAgent whose function changes them alike"
        )


def _trained_on(path: str, model: Any) -> TrainedOn | None:
    """The games that a model was trained on, which the space of its observations carries."""
    told = getattr(_observed(model), TRAINED_ON, None)
    return None if told is None else convert(told, TrainedOn, path, "name its layout")


def _logits(model: Any, observations: Array, masks: Array) -> Any:
    """Of all actions, as the model's own distribution has them, or its values of them."""
    both = {"observation": observations, "action_mask": masks}
    seen, _ = model.policy.obs_to_tensor(both if _gets_masks(model) else observations)
    if hasattr(model, "q_net"):
        return model.q_net(seen)
    return model.policy.get_distribution(seen).distribution.logits
