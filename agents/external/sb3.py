"""Stable-Baselines3 models as agents, from the zip files of `model.save`.

These files contain pickles, which can run any code when loaded. They are opened only with the
word `trusted`: `sb3:model.zip,trusted`.
"""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.schema import convert
from ...common.suggestions import not_installed
from ...common.threads import one_torch_thread
from ...common.trust import check_trusted
from ...engine.observation.spec import spec_of
from ...engine.rules import Match, RulesLike, load_rules
from ..base import Array, CannotPlay, ModelFile
from ..options import parse_options
from .policies import FileOptions, PolicyAgent, TrainedOn, file_of, with_suit_order

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy
    from torch import Tensor

TRUSTED = "trusted"


class SB3Options(FileOptions, frozen=True):
    """Options of models."""

    trusted: bool = False
    algorithm: str = "MaskablePPO"


class SB3Agent(PolicyAgent):
    """Plays a Stable-Baselines3 or sb3-contrib model that was trained on these environments.

    - `rules`: the rule set, `"classic"` by default.
    - `source`: the model, of whose policy a copy plays; or its file, with the word `trusted` in
      `option_words`, because such a file can run any code.
    - `option_words`: the options of a network and the suit order, as in the agent's name; of a file
      also `algorithm=NAME`.
    - `match`: the match that is played; `None` (default): single hands.
    """

    def __init__(
        self,
        rules: RulesLike = "classic",
        source: str | BaseAlgorithm = "",
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        kind = f"sb3:{source},{TRUSTED}" if isinstance(source, str) else "a model"
        named = parse_options(option_words, SB3Options, kind)
        if isinstance(source, str):
            model = _model(source, named.algorithm, named.trusted)
            origin, name, network = source, f"sb3:{source}", model.policy
            self.checkpoints: tuple[ModelFile, ...] = (file_of(source),)
        else:
            model, origin = source, f"the model of {type(source).__name__}"
            name, network = type(source).__name__, _copy_of(model.policy)
        stored = getattr(_observation_space(model), "trained_on", None)
        trained_on = stored and convert(stored, TrainedOn, origin, "name its suit order")
        options = with_suit_order(named, kind, trained_on, load_rules(rules))

        def policy(observations: Array, masks: Array) -> Tensor:
            return _logits(network, observations, masks)

        super().__init__(rules, policy, **options, name=name, match=match)
        self._plays_as(trained_on, origin, options["exact"])
        shape = _observation_space(network).shape
        if trained_on and trained_on.observation == "history":
            raise CannotPlay(
                f"{origin} reads histories, and only models of vectors are played by name: play it "
                "from Python by a function of views"
            )
        if shape != (spec_of(self.rules).size,):
            raise CannotPlay(
                f"{origin} reads observations of the shape {shape}, and those of {self.rules.name} "
                f"have {spec_of(self.rules).size} places: train it on those"
            )
        _check_unnormalized(origin, model)
        self._has_q_values = hasattr(network, "q_net")
        if options["sample"] and self._has_q_values:
            raise CannotPlay(f"{origin} has Q values and no probabilities: leave out sample")
        for name, weights in network.state_dict().items():
            if not weights.isfinite().all():
                raise CannotPlay(f"{origin} has weights in {name} that are not finite: train anew")
        try:
            policy(np.zeros((1, *shape), np.int8), np.ones((1, network.action_space.n), np.int8))
        except Exception as error:
            raise CannotPlay(
                f"{origin} has no logits or Q values for an observation alone, as MaskablePPO, PPO "
                f"and DQN have: {error}; play it from Python by a function of views"
            ) from error

    def probabilities(self, views: Array) -> Array:
        if self._has_q_values:
            raise ValueError(f"{self.name} has Q values and no probabilities: use act")
        return super().probabilities(views)


def _model(path: str, algorithm: str, trusted: bool) -> Any:
    if not os.path.isfile(path):
        raise ValueError(f"{path!r} is no file: name a zip, as in sb3:model.zip,trusted")
    if not trusted:
        raise ValueError(
            f"{path} holds pickles, which can run any code when they are loaded: "
            f"if you trust it, say so, as in sb3:{path},{TRUSTED}"
        )
    check_trusted(f"sb3:{path}")
    try:
        import sb3_contrib
        import stable_baselines3
    except ImportError as error:
        purpose = "a model of Stable-Baselines3"
        raise ValueError(not_installed(purpose, error.name, "train")) from None
    kind = getattr(sb3_contrib, algorithm, None) or getattr(stable_baselines3, algorithm, None)
    if kind is None:
        raise ValueError(f"{algorithm!r} is no algorithm of Stable-Baselines3 or sb3-contrib")
    try:
        return kind.load(path, device="cpu")
    except Exception as error:
        raise ValueError(
            f"{path} cannot be loaded as {algorithm}: {error}; name the algorithm that wrote it, "
            f"as in sb3:{path},{TRUSTED},algorithm=PPO"
        ) from error


def _observation_space(policy: Any) -> Any:
    space = policy.observation_space
    return space["observation"] if _gets_masks(policy) else space


def _gets_masks(policy: BaseAlgorithm | BasePolicy) -> bool:
    return isinstance(getattr(policy.observation_space, "spaces", None), dict)


def _check_unnormalized(path: str, model: BaseAlgorithm) -> None:
    """Refuse a model whose last observations are not the environments' zeros and ones.

    A wrapper such as VecNormalize stores its statistics elsewhere, and the observation space does
    not show it; the last observations in the file do.
    """
    last = getattr(model, "_last_obs", None)
    last = last["observation"] if isinstance(last, dict) else last
    if last is not None and not np.isin(last, (0, 1)).all():
        raise CannotPlay(
            f"{path} was trained on observations that a wrapper changed, as VecNormalize does, and "
            "does not store how: train it without that wrapper, or play it from Python by a "
            "PolicyAgent whose function changes them alike"
        )


def _copy_of(policy: BasePolicy) -> Any:
    """A copy of a policy that goes on learning, without its optimizer and last distribution."""
    distribution = getattr(getattr(policy, "action_dist", None), "distribution", None)
    copied = copy.deepcopy(policy, {id(part): None for part in (policy.optimizer, distribution)})
    copied.set_training_mode(False)
    return copied


def _logits(policy: Any, observations: Array, masks: Array) -> Tensor:
    """Logits of the policy's action distribution, or its Q values."""
    import torch

    observation = {"observation": observations, "action_mask": masks}
    tensors, _ = policy.obs_to_tensor(observation if _gets_masks(policy) else observations)
    # Wherever it plays: exploitability, analysis and scripts ask for few views at a time.
    with one_torch_thread(), torch.no_grad():
        if hasattr(policy, "q_net"):
            return policy.q_net(tensors)
        return policy.get_distribution(tensors).distribution.logits
