"""Models of Stable-Baselines3 as players, from the zips that `model.save` writes.

Such a zip holds pickles, which can run any code when they are loaded. So it is opened only
on the word of whoever trusts it: `sb3:model.zip,trusted`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..engine.rules import Match
from .base import Array
from .policies import PolicyAgent, read_words

TRUSTED = "trusted"


class SB3Agent(PolicyAgent):
    """A model of Stable-Baselines3 or sb3-contrib that was trained on our environments."""

    def __init__(
        self, rules: Any = "classic", path: str = "", *words: str, match: Match | None = None
    ) -> None:
        """`words` are `trusted`, what there is for a network, the layout, and `algorithm=NAME`."""
        told = dict(word.split("=", 1) for word in words if word.startswith("algorithm="))
        rest = tuple(word for word in words if word != TRUSTED and not word.startswith("algorithm"))
        found = read_words(rest, f"sb3:{path}", "raw")
        if not Path(path).is_file():
            raise ValueError(f"{path!r} is no file: name a zip, as in sb3:model.zip,trusted")
        if TRUSTED not in words:
            raise ValueError(
                f"{path} holds pickles, which can run any code of whoever wrote them when they are "
                f"loaded: if you trust it, say so, as in sb3:{path},{TRUSTED}"
            )
        model = _model(path, told.get("algorithm", "MaskablePPO"))

        def policy(observations: Array, _: Array) -> Any:
            return _logits(model, observations)

        super().__init__(rules, policy, **found, name=f"sb3:{path}", match=match)


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
        raise ValueError(f"{path} can not be loaded as {algorithm}: {error}") from error


def _logits(model: Any, observations: Array) -> Any:
    """Of all actions, as the model's own distribution has them, or its values of them."""
    seen, _ = model.policy.obs_to_tensor(observations)
    if hasattr(model, "q_net"):
        return model.q_net(seen)
    return model.policy.get_distribution(seen).distribution.logits
