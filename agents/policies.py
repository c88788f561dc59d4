"""Policies of others as players: any function of observations and masks, and ONNX files.

A policy gets what the environments show, in its layout, and answers with logits of all
actions or with actions. Open endings are played exactly, unless the policy is to play them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.layout import LAYOUT_VERSION, OBSERVATION_SIZE, layout_number
from ..engine.rules import Match
from .base import Agent, Array, CannotPlay
from .endgame import EndgamePlayer
from .observing import Observed, observe

Policy = Callable[[Array, Array], Any]
"""`f(observations, masks)`, which answers with `(n, actions)` logits or `(n,)` actions."""

_GREEDY, _SAMPLE = "greedy", "sample"


class PolicyAgent(Agent):
    """Plays what a function of observations and masks answers.

    >>> agent = PolicyAgent("classic", policy, layout="trump-first", name="mine")
    """

    reads_tricks = False

    def __init__(
        self,
        rules: Any,
        policy: Policy,
        *,
        layout: str = "raw",
        sample: bool = False,
        exact: bool = True,
        name: str | None = None,
        match: Match | None = None,
    ) -> None:
        """`policy` may be a module of torch as well.

        With `sample` an action is drawn by its logits, otherwise the likeliest is played;
        without `exact` the policy plays endings too.
        """
        super().__init__(rules, match=match)
        layout_number(layout)
        self.policy: Policy = _of_arrays(policy)
        self.layout: str = layout
        self.sample: bool = sample
        self.name: str = name or getattr(policy, "__name__", type(policy).__name__)
        self._endgame = EndgamePlayer(self.rules) if exact else None

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view."""
        seen = observe(views, self.rules, layout=self.layout, match=self.match)
        actions = seen.real(self._chosen(seen, rng))
        if self._endgame is not None:
            self._endgame.improve(views, actions)
        return actions

    def _chosen(self, seen: Observed, rng: Array) -> Array:
        answer = self.policy(seen.observations, seen.masks)
        found = np.asarray(answer.detach().cpu() if hasattr(answer, "detach") else answer)
        if found.shape == (len(rng),):
            return found.astype(np.int64)
        if found.shape != seen.masks.shape:
            raise ValueError(
                f"{self.name} answered with {found.dtype} of shape {found.shape}: logits of shape "
                f"{seen.masks.shape} are needed, or an action for each of {len(rng)} views"
            )
        logits = np.where(seen.masks == 1, found.astype(np.float64), -np.inf)
        if self.sample:
            # The largest of logits with Gumbel noise is a draw by their probabilities.
            chances = np.array([np.random.default_rng(each).random(logits.shape[1])
                                for each in rng]).reshape(logits.shape)  # fmt: skip
            logits = logits - np.log(-np.log(np.maximum(chances, 1e-300)))
        return logits.argmax(1)


def _of_arrays(policy: Any) -> Policy:
    """A policy of arrays; a module of torch is given tensors of floats."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(policy, torch.nn.Module):
        return policy

    def asked(observations: Array, masks: Array) -> Any:
        device = next((each.device for each in policy.parameters()), "cpu")
        with torch.no_grad():
            return policy(
                torch.from_numpy(observations).float().to(device),
                torch.from_numpy(masks).bool().to(device),
            )

    return asked


def read_words(words: tuple[str, ...], kind: str, layout: str | None = None) -> dict[str, Any]:
    """The options that the words of a player's name give; the layout, where one may be given."""
    told: dict[str, Any] = {"sample": False, "exact": True}
    told |= {"layout": layout} if layout else {}
    for word in words:
        name, _, value = word.partition("=")
        if word in (_GREEDY, _SAMPLE):
            told["sample"] = word == _SAMPLE
        elif name == "endgame" and value in ("exact", "network"):
            told["exact"] = value == "exact"
        elif name == "layout" and value and layout:
            layout_number(value)
            told["layout"] = value
        else:
            known = ["greedy", "sample", "endgame=exact", "endgame=network"]
            known += ["layout=raw", "layout=trump-first"] if layout else []
            raise ValueError(
                f"{word!r} is no option of {kind}: there are {', '.join(known[:-1])} and "
                f"{known[-1]}"
            )
    return told


class OnnxAgent(PolicyAgent):
    """A graph that takes `observation` and `action_mask`, as `german-whist export` writes it."""

    def __init__(
        self, rules: Any = "classic", path: str = "", *words: str, match: Match | None = None
    ) -> None:
        """`words` as for a network, and the layout where the graph's metadata do not tell it."""
        try:
            import onnxruntime  # type: ignore[import-untyped]
        except ImportError:
            raise ValueError(
                "onnx files are played by onnxruntime, which is not installed: pip install "
                "'german-whist[onnx]'"
            ) from None
        if not Path(path).is_file():
            raise ValueError(f"{path!r} is no file: name a graph, as in onnx:player.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            graph = onnxruntime.InferenceSession(path, options)
        except Exception as error:
            raise ValueError(f"{path} can not be read as ONNX: {str(error)[:200]}") from None
        told = graph.get_modelmeta().custom_metadata_map
        _check_layout(path, told)
        found = read_words(words, f"onnx:{path}", told.get("layout", "raw"))
        inputs = [each.name for each in graph.get_inputs()]
        output = graph.get_outputs()[0].name
        kinds = {each.name: each.type for each in graph.get_inputs()}
        if not 1 <= len(inputs) <= 2:
            raise ValueError(
                f"{path} takes {', '.join(inputs)}: a policy takes observations, and masks if need "
                "be"
            )

        def policy(observations: Array, masks: Array) -> Any:
            fed = dict(zip(inputs, (observations, masks), strict=False))
            return graph.run([output], {
                name: array.astype(_DTYPES.get(kinds[name], np.float32))
                for name, array in fed.items()
            })[0]  # fmt: skip

        super().__init__(rules, policy, **found, name=f"onnx:{path}", match=match)
        played = told.get("rules")
        if played is not None and self.rules.name not in played.split(", "):
            raise CannotPlay(f"{path} plays {played}, and not {self.rules.name}")
        if not found["exact"] and told.get("horizon") == "foreplay":
            raise CannotPlay(f"{path} never saw an ending: leave endgame=network out")


_DTYPES = {
    "tensor(int8)": np.int8, "tensor(float)": np.float32, "tensor(bool)": np.bool_,
    "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(uint8)": np.uint8,
}  # fmt: skip


def _check_layout(path: str, told: dict[str, str]) -> None:
    version = told.get("layout_version", str(LAYOUT_VERSION))
    if version != str(LAYOUT_VERSION):
        raise CannotPlay(
            f"{path} reads observation layout {version}, and this version has {LAYOUT_VERSION} "
            f"with {OBSERVATION_SIZE} places: use the version that wrote it"
        )
