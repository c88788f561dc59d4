"""External policies as agents: functions of observations and masks, and ONNX files.

A policy gets observations as the environments encode them, and returns logits of all actions,
or actions. The solver plays open endings unless the policy is to play them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from ...common.schema import convert, read_json
from ...common.suggestions import not_installed
from ...common.typing import JsonObject
from ...engine.batch.config import OBSERVATIONS
from ...engine.checks import checked_choice
from ...engine.observation.spec import OBSERVATION_SIZE, OBSERVATION_VERSION
from ...engine.observation.suit_order import SUIT_ORDERS
from ...engine.options import NetworkObservation, SuitOrder
from ...engine.rules import Match, Rules, RulesLike, load_rules, name_beside, rules_from_mapping
from ..base import Agent, Array, CannotPlay, ModelFile, check_actions
from ..networks.network_inputs import Observations, network_inputs
from ..options import (
    EndgameOptions,
    NetworkOptions,
    Text,
    endgame_option,
    parse_options,
    trained_on_endgame,
)
from ..perfect_endgame import EndgamePlayer
from ..sampling import softmax_rows
from .signatures import name_of

Policy = Callable[[Array, Array], object]
"""`f(observations, masks)` returning `(n, actions)` logits or `(n,)` actions."""


class PolicyAgent(Agent):
    """An agent that plays by your own policy: a function of observations and masks.

    >>> def policy(observations, masks):
    ...     return masks.astype(float)  # the output of your network
    >>> agent = PolicyAgent("classic", policy, suit_order="trump-first", name="mine")

    - `rules`: the rule set.
    - `policy`: a function or a torch module. It is called with `(n, ...)` observations and
      `(n, actions)` masks, and returns `(n, actions)` logits or `(n,)` actions.
    - `suit_order`, `observation`: what the policy was trained with: `"raw"` (default) or
      `"trump-first"`; `"vector"` (default) or `"history"`.
    - `sample`: `False` (default): the action with the largest logit is played. `True`: an action is
      drawn from the softmax of the logits.
    - `exact`: `True` (default): the exact solver plays the endgame. `False`: the policy plays it.
    - `name`: the name in reports.
    - `match`: the match that is played. `None` (default): single hands.
    """

    endgame_switch: str
    checkpoints: tuple[ModelFile, ...]

    def __init__(
        self,
        rules: RulesLike,
        policy: Policy,
        *,
        suit_order: SuitOrder = "raw",
        observation: NetworkObservation = "vector",
        sample: bool = False,
        exact: bool = True,
        name: str | None = None,
        match: Match | None = None,
    ) -> None:
        super().__init__(rules, match=match)
        self.policy: Policy = _wrap_policy(policy)
        self.suit_order: SuitOrder = checked_choice("suit_order", suit_order, SUIT_ORDERS)
        self.observation: NetworkObservation = checked_choice(
            "observation", observation, OBSERVATIONS
        )
        self.reads_tricks: bool = observation == "history"
        self.sample: bool = sample
        self.greedy: bool = not sample
        self.name: str = name or getattr(policy, "__name__", type(policy).__name__)
        self._endgame = EndgamePlayer(self.rules) if exact else None
        if EndgamePlayer.solves(self.rules):
            self.endgame_switch = f"exact={not exact}"

    def _plays_as(self, trained_on: TrainedOn | None, path: str, exact: bool) -> None:
        self.endgame_switch = endgame_option(self.rules, exact)
        if trained_on is None:
            return
        if trained_on.observation_version != OBSERVATION_VERSION:
            raise CannotPlay(
                f"{path} reads observation version {trained_on.observation_version}, and this "
                f"package has {OBSERVATION_VERSION} with {OBSERVATION_SIZE} places: use the "
                "version of the package that wrote it"
            )
        listed = [rules_from_mapping(mapping, path) for mapping in trained_on.rules]
        if listed and not any(map(self.rules.same_game, listed)):
            names = ", ".join(name_beside(one, [self.rules]) for one in listed)
            raise CannotPlay(f"{path} plays {names}, and not {name_beside(self.rules, listed)}")
        if trained_on.horizon == "foreplay" and EndgamePlayer.solves(self.rules):
            self.endgame_switch = ""
            if not exact:
                raise CannotPlay(f"{path} never saw an ending: leave endgame=network out")

    def act(self, views: Array, rng: Array) -> Array:
        observed = self._observe(views)
        output = self._query(observed)
        if output.ndim == 1:
            chosen = output
        else:
            logits = _add_gumbel_noise(output, rng) if self.sample else output
            chosen = logits.argmax(1)
        actions = observed.real(chosen)
        if self._endgame is not None:
            self._endgame.improve(views, actions)
        return actions

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: the softmax of the policy's logits, exact endings included."""
        observed = self._observe(views)
        logits = self._query(observed)
        if logits.ndim == 1:
            raise ValueError(
                f"{self.name} answers with actions, which have no probabilities: use act, without "
                "sample"
            )
        shown = softmax_rows(logits)
        probs, rows = np.zeros_like(shown), np.arange(len(views))
        for action in range(shown.shape[1]):
            probs[rows, observed.real(np.full(len(views), action))] = shown[:, action]
        if self._endgame is not None:
            self._endgame.replace_probabilities(views, probs)
        return probs

    def _observe(self, views: Array) -> Observations:
        return network_inputs(
            views,
            self.rules,
            suit_order=self.suit_order,
            observation=self.observation,
            match=self.match,
        )

    def _query(self, observed: Observations) -> Array:
        """The policy's actions, or its logits with minus infinity for illegal actions."""
        answer: Any = self.policy(observed.observations, observed.masks)
        output = array_of(answer)
        if output.shape == (len(observed.masks),) and output.dtype.kind in "biuf":
            return self._whole(output)
        if output.shape != observed.masks.shape or output.dtype.kind not in "biuf":
            raise ValueError(
                f"{self.name} answered with {output.dtype} of shape {output.shape}: logits of "
                f"shape {observed.masks.shape} are needed, or an action for each of "
                f"{len(observed.masks)} views"
            )
        logits = np.where(observed.masks == 1, output.astype(np.float64), -np.inf)
        self._check_logits(output, logits, observed.masks)
        return logits

    def _whole(self, actions: Array) -> Array:
        if actions.dtype.kind not in "iu":
            fractional = actions[~(np.isfinite(actions) & (actions == np.rint(actions)))]
            if len(fractional):
                raise ValueError(
                    f"{self.name} answered with the action {fractional[0]} in {len(fractional)} of "
                    f"{len(actions)} views: an action is a whole number"
                )
        return actions.astype(np.int64)

    def _check_logits(self, output: Array, logits: Array, masks: Array) -> None:
        """Refuse NaN, plus infinity, and rows without a finite legal logit."""
        invalid = np.isnan(output).any(1) | (logits == np.inf).any(1)
        invalid |= ~np.isfinite(logits).any(1) & masks.any(1)
        if invalid.any():
            raise ValueError(
                f"{self.name} answered with NaN or infinite logits in {invalid.sum()} of "
                f"{len(logits)} views: legal actions need finite logits, or minus infinity for "
                "some of them"
            )


def _add_gumbel_noise(logits: Array, rng: Array) -> Array:
    """The largest of logits with Gumbel noise is a draw by their probabilities."""
    uniforms = np.array(
        [np.random.default_rng(stream).random(logits.shape[1]) for stream in rng]
    ).reshape(logits.shape)
    return logits - np.log(-np.log(np.maximum(uniforms, 1e-300)))


def _wrap_policy(policy: Any) -> Policy:
    torch = sys.modules.get("torch")
    is_module = torch is not None and isinstance(policy, torch.nn.Module)
    return function_of_module(policy) if is_module else policy


def array_of(answer: Any) -> Array:
    """What a policy answered, which may be a tensor of torch, as an array."""
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu()
        if answer.is_floating_point():
            answer = answer.double()  # NumPy knows no bfloat16
    return np.asarray(answer)


def function_of_module(module: Any) -> Callable[[Array, Array], Any]:
    """A torch module as a function of arrays; in evaluation mode while it is asked.

    In this mode, playing changes no statistics and drops nothing. Observations have the type of all
    of the module's weights, or float32 where these differ.
    """
    torch: Any = sys.modules["torch"]  # whose module this is

    def call_module(observations: Array, masks: Array) -> Any:
        params = [*module.parameters()] or [torch.zeros(0)]
        types = {param.dtype for param in params if param.dtype.is_floating_point}
        device, dtype = params[0].device, types.pop() if len(types) == 1 else torch.float32
        modes = [(part, part.training) for part in module.modules()]
        module.eval()
        try:
            with torch.no_grad():
                return module(
                    torch.from_numpy(observations).to(device, dtype),
                    torch.from_numpy(masks).bool().to(device),
                )
        finally:
            for part, mode in modes:
                part.training = mode

    return call_module


class CallableAgent(Agent):
    """Agent of a plain function `function(views, rng) -> actions`.

    The function also plays endings, unless the name has `endgame=exact`, as in
    `module:function:endgame=exact`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        rules: RulesLike,
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        super().__init__(rules, match=match)
        self.function = function
        self.name = name_of(function)
        exact = parse_options(option_words, EndgameOptions, "a function").exact(own=True)
        self._endgame = EndgamePlayer(self.rules) if exact else None
        self.endgame_switch = endgame_option(self.rules, exact)

    def act(self, views: Array, rng: Array) -> Array:
        answer = self.function(views, rng)
        if self._endgame is None:
            return answer
        actions = check_actions(self, answer, len(views)).copy()
        self._endgame.improve(views, actions)
        return actions


class OnnxAgent(PolicyAgent):
    """ONNX graph of `observation` and `action_mask`, as `german-whist export` writes it."""

    def __init__(
        self,
        rules: RulesLike = "classic",
        path: str = "",
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        """`option_words` as for a network, and the suit order if the graph's metadata lack it."""
        try:
            import onnx
            import onnxruntime  # type: ignore[import-untyped]
        except ImportError as error:
            raise ValueError(not_installed("an ONNX agent", error.name or "onnx", "onnx")) from None
        if not os.path.isfile(path):
            raise ValueError(f"{path!r} is no file: name a graph, as in onnx:agent.onnx")
        try:
            model = onnx.load(path, format="protobuf", load_external_data=False)
        except Exception as error:
            raise ValueError(f"{path} cannot be read as ONNX: {error}") from None
        repeating = sorted(_REPEATING & {*_operators([model.graph, *model.functions])})
        if repeating:
            raise ValueError(
                f"{path} has the operator {repeating[0]}, which may run for ever: export the "
                "policy without loops"
            )
        session_options = onnxruntime.SessionOptions()
        session_options.intra_op_num_threads = 1
        try:
            graph = onnxruntime.InferenceSession(path, session_options)
        except Exception as error:
            raise ValueError(f"{path} cannot be read as ONNX: {str(error)[:200]}") from None
        trained_on = read_graph_metadata(path, graph.get_modelmeta().custom_metadata_map)
        name = f"onnx:{path}"
        options = with_suit_order(
            parse_options(option_words, FileOptions, name), name, trained_on, load_rules(rules)
        )
        inputs = [tensor.name for tensor in graph.get_inputs()]
        output = graph.get_outputs()[0].name
        dtypes = {tensor.name: tensor.type for tensor in graph.get_inputs()}
        if not 1 <= len(inputs) <= 2:
            raise ValueError(
                f"{path} takes {', '.join(inputs)}: a policy takes observations, and masks if need "
                "be"
            )

        def policy(observations: Array, masks: Array) -> Array:
            feeds = dict(zip(inputs, (observations, masks), strict=False))
            outputs: Sequence[Any] = graph.run(
                [output],
                {
                    name: array.astype(_DTYPES.get(dtypes[name], np.float32))
                    for name, array in feeds.items()
                },
            )
            return outputs[0]

        super().__init__(rules, policy, **options, name=name, match=match)
        self._plays_as(trained_on, path, options["exact"])
        self.checkpoints = (file_of(path),)


_REPEATING = {"Loop", "Scan"}
"""Operators of ONNX that run a graph again and again."""


def _operators(graphs: Iterable[Any]) -> Iterator[str]:
    """Names of all operators of graphs or functions, those of graphs in their nodes included."""
    for graph in graphs:
        for node in graph.node:
            yield node.op_type
            for attribute in node.attribute:
                yield from _operators([attribute.g, *attribute.graphs])


_DTYPES = {
    "tensor(int8)": np.int8,
    "tensor(float)": np.float32,
    "tensor(bool)": np.bool_,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(uint8)": np.uint8,
}


def file_of(path: str) -> ModelFile:
    return ModelFile(path, hashlib.sha256(Path(path).read_bytes()).hexdigest())


class TrainedOn(Struct, frozen=True):
    """Games that a policy was trained on, according to its file."""

    suit_order: SuitOrder
    observation_version: int
    horizon: str = ""
    observation: NetworkObservation = "vector"
    rules: tuple[JsonObject, ...] = ()
    """Empty if the file has none."""


REMEDY = "write the file again, or leave its metadata out and name the suit order"


def read_graph_metadata(path: str, metadata: Mapping[str, str]) -> TrainedOn | None:
    """The games of a graph's metadata; None if they name no suit order."""
    if "suit_order" not in metadata:
        return None
    fields = {
        "suit_order": metadata["suit_order"],
        "observation_version": metadata.get("observation_version", str(OBSERVATION_VERSION)),
        "horizon": metadata.get("horizon", ""),
        "observation": metadata.get("observation", "vector"),
        "rules": read_json(metadata.get("rule_sets", "[]").encode(), path, REMEDY),
    }
    if fields["observation_version"].isdecimal():
        fields["observation_version"] = int(fields["observation_version"])
    return convert(fields, TrainedOn, path, REMEDY)


class FileOptions(NetworkOptions, frozen=True):
    """Options of policies in files of other libraries."""

    suit_order: Text = ""
    takes = (
        "there are greedy, sample, endgame=exact, endgame=network, suit_order=raw and "
        "suit_order=trump-first"
    )


def with_suit_order(
    options: FileOptions, subject: str, trained_on: TrainedOn | None, rules: Rules
) -> dict[str, Any]:
    """Arguments of `PolicyAgent` for these options, with the suit order that the file stores.

    If the file stores none, an option has to name it: in the wrong suit order a policy plays worse
    without any other sign. By default it plays endgames itself if the file says that it was trained
    on them.
    """
    suit_order = options.suit_order
    if suit_order:
        checked_choice("suit_order", suit_order, SUIT_ORDERS)
    elif trained_on is None:
        raise ValueError(
            f"{subject} does not store its suit order: name the suit order of the environment "
            f"that it was trained in, {subject},suit_order=raw or {subject},suit_order=trump-first"
        )
    if trained_on is not None and suit_order not in ("", trained_on.suit_order):
        raise ValueError(
            f"{subject}: suit_order is {suit_order!r}, and its file says that it was trained in "
            f"{trained_on.suit_order!r}: leave suit_order= out"
        )
    stored = suit_order if trained_on is None else trained_on.suit_order
    own = trained_on is not None and trained_on_endgame(trained_on.horizon, rules)
    return {
        "suit_order": stored,
        "observation": "vector" if trained_on is None else trained_on.observation,
        "sample": options.sample,
        "exact": options.exact(own),
    }
