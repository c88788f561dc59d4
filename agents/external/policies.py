"""Policies of others as players: any function of observations and masks, and ONNX files.

A policy gets what the environments show, in its layout, and answers with logits of all
actions or with actions. Open endings are played exactly, unless the policy is to play them.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from ...common.schema import convert, read_json
from ...engine.batch.config import OBSERVATIONS, checked_choice
from ...engine.observation.layout import LAYOUT_VERSION, OBSERVATION_SIZE, layout_number
from ...engine.rules import Match, rules_from_mapping
from ..base import Agent, Array, CannotPlay, ModelFile, checked_answer
from ..name_options import endgame_word, read_words
from ..networks.observe import Observed, observe
from ..perfect_endgame import EndgamePlayer

Policy = Callable[[Array, Array], Any]
"""`f(observations, masks)`, which answers with `(n, actions)` logits or `(n,)` actions."""


class PolicyAgent(Agent):
    """Plays what a function of observations and masks answers.

    >>> agent = PolicyAgent("classic", policy, layout="trump-first", name="mine")
    """

    endgame_switch: str
    checkpoints: tuple[ModelFile, ...]

    def __init__(
        self,
        rules: Any,
        policy: Policy,
        *,
        layout: str = "raw",
        observation: str = "vector",
        sample: bool = False,
        exact: bool = True,
        name: str | None = None,
        match: Match | None = None,
    ) -> None:
        """`policy` may be a module of torch as well; `layout` and `observation` as in training.

        With `sample` an action is drawn by its logits, otherwise the likeliest is played;
        without `exact` the policy plays endings too.
        """
        super().__init__(rules, match=match)
        layout_number(layout)
        self.policy: Policy = _of_arrays(policy)
        self.layout: str = layout
        self.observation: str = checked_choice("observation", observation, OBSERVATIONS)
        self.reads_tricks: bool = observation == "history"
        self.sample: bool = sample
        self.name: str = name or getattr(policy, "__name__", type(policy).__name__)
        self._endgame = EndgamePlayer(self.rules) if exact else None
        if EndgamePlayer.solves(self.rules):
            self.endgame_switch = f"exact={not exact}"

    def _plays_as(self, told: TrainedOn | None, path: str, exact: bool) -> None:
        """Take on what the file of a policy tells, and refuse games that it was not trained on."""
        self.endgame_switch = endgame_word(self.rules, exact)
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        self.checkpoints = (ModelFile(path, digest),)
        if told is None:
            return
        if told.layout_version != LAYOUT_VERSION:
            raise CannotPlay(
                f"{path} reads observation layout {told.layout_version}, and this version has "
                f"{LAYOUT_VERSION} with {OBSERVATION_SIZE} places: use the version that wrote it"
            )
        played = [rules_from_mapping(each, path) for each in told.rules]
        if played and not any(map(self.rules.same_game, played)):
            names = ", ".join(each.name for each in played)
            raise CannotPlay(f"{path} plays {names}, and not {self.rules.name}")
        if told.horizon == "foreplay" and EndgamePlayer.solves(self.rules):
            self.endgame_switch = ""
            if not exact:
                raise CannotPlay(f"{path} never saw an ending: leave endgame=network out")

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view."""
        shown = {"layout": self.layout, "observation": self.observation}
        seen = observe(views, self.rules, **shown, match=self.match)
        actions = seen.real(self._chosen(seen, rng))
        if self._endgame is not None:
            self._endgame.improve(views, actions)
        return actions

    def _chosen(self, seen: Observed, rng: Array) -> Array:
        answer = self.policy(seen.observations, seen.masks)
        found = np.asarray(answer.detach().cpu() if hasattr(answer, "detach") else answer)
        if found.shape == (len(rng),) and found.dtype.kind in "biuf":
            return self._whole(found)
        if found.shape != seen.masks.shape or found.dtype.kind not in "biuf":
            raise ValueError(
                f"{self.name} answered with {found.dtype} of shape {found.shape}: logits of shape "
                f"{seen.masks.shape} are needed, or an action for each of {len(rng)} views"
            )
        logits = np.where(seen.masks == 1, found.astype(np.float64), -np.inf)
        self._check_logits(found, logits, seen.masks)
        if self.sample:
            # The largest of logits with Gumbel noise is a draw by their probabilities.
            chances = np.array([np.random.default_rng(each).random(logits.shape[1])
                                for each in rng]).reshape(logits.shape)  # fmt: skip
            logits = logits - np.log(-np.log(np.maximum(chances, 1e-300)))
        return logits.argmax(1)

    def _whole(self, answer: Array) -> Array:
        """Actions as whole numbers; refused where one is none, as where it is NaN."""
        if answer.dtype.kind not in "iu":
            wrong = answer[~(np.isfinite(answer) & (answer == np.rint(answer)))]
            if len(wrong):
                raise ValueError(
                    f"{self.name} answered with the action {wrong[0]} in {len(wrong)} of "
                    f"{len(answer)} views: an action is a whole number"
                )
        return answer.astype(np.int64)

    def _check_logits(self, answer: Array, logits: Array, masks: Array) -> None:
        """Refuse logits that choose nothing; `logits` are minus infinity where not legal.

        Minus infinity means never. It may stand at any action, but not at all legal ones.
        """
        spoilt = np.isnan(answer).any(1) | (logits == np.inf).any(1)
        spoilt |= ~np.isfinite(logits).any(1) & masks.any(1)
        if spoilt.any():
            raise ValueError(
                f"{self.name} answered with NaN or infinite logits in {spoilt.sum()} of "
                f"{len(logits)} views: legal actions need finite logits, or minus infinity for "
                "some of them"
            )


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


class CallableAgent(Agent):
    """An agent out of a plain function `function(views, rng) -> actions`.

    It plays endings too, unless it is named with `endgame=exact`, as in
    `module:function:endgame=exact`.
    """

    def __init__(
        self,
        function: Callable[[Array, Array], Array],
        rules: Any,
        *words: str,
        match: Match | None = None,
    ) -> None:
        super().__init__(rules, match=match)
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        told = read_words(words, "a function", draws=False, exact=False)
        self._endgame = EndgamePlayer(self.rules) if told["exact"] else None
        self.endgame_switch = endgame_word(self.rules, told["exact"])

    def act(self, views: Array, rng: Array) -> Array:
        """The function's answer, and the best card in an open endgame if the solver plays it."""
        answer = self.function(views, rng)
        if self._endgame is None:
            return answer
        actions = checked_answer(self, answer, len(views)).copy()
        self._endgame.improve(views, actions)
        return actions


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
            raise ValueError(f"{path} cannot be read as ONNX: {str(error)[:200]}") from None
        told = trained_on_graph(path, graph.get_modelmeta().custom_metadata_map)
        found = words_for(words, f"onnx:{path}", told)
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
        self._plays_as(told, path, found["exact"])


_DTYPES = {
    "tensor(int8)": np.int8, "tensor(float)": np.float32, "tensor(bool)": np.bool_,
    "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(uint8)": np.uint8,
}  # fmt: skip


class TrainedOn(Struct, frozen=True):
    """The games that a policy was trained on, as the file of the policy stores them."""

    layout: str
    layout_version: int
    horizon: str = ""
    rules: tuple[dict[str, Any], ...] = ()
    """Empty where the file does not tell them."""


REMEDY = "write the file again, or leave its metadata out and name the layout"


def trained_on_graph(path: str, metadata: Mapping[str, str]) -> TrainedOn | None:
    """What a graph's metadata tell of its games; None where they tell no layout."""
    if "layout" not in metadata:
        return None
    told = {
        "layout": metadata["layout"],
        "layout_version": metadata.get("layout_version", str(LAYOUT_VERSION)),
        "horizon": metadata.get("horizon", ""),
        "rules": read_json(metadata.get("rule_sets", "[]").encode(), path, REMEDY),
    }
    if told["layout_version"].isdecimal():
        told["layout_version"] = int(told["layout_version"])
    return convert(told, TrainedOn, path, REMEDY)


def words_for(words: tuple[str, ...], kind: str, told: TrainedOn | None) -> dict[str, Any]:
    """The options of a policy from a file: its layout is what the file stores.

    Where the file stores none, a word has to name it: in the wrong layout a policy plays worse,
    and nothing else shows it.
    """
    found = read_words(words, kind, layout=True)
    if told is None:
        if found["layout"] is None:
            raise ValueError(
                f"{kind} does not tell how it was shown suits: name the layout of the environment "
                f"that it was trained in, {kind},layout=raw or {kind},layout=trump-first"
            )
        return found
    if found["layout"] not in (None, told.layout):
        raise ValueError(
            f"{kind}: layout is {found['layout']!r}, and its file says that it was trained in "
            f"{told.layout!r}: leave layout= out"
        )
    return {**found, "layout": told.layout}
