"""Custom networks: torch modules by the name of their class, in training and in play.

A class is made by `Class(n_inputs, n_actions, n_hidden_inputs, **options)`. Its `forward` takes
observations and hidden cards, and returns logits and values (`docs/guide/network.md`).
"""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from ...common.plugins import error_location, error_text, import_object
from ...common.provenance import code_sha256
from ...common.settings import SettingsDoNotFit
from ...common.suggestions import type_phrase
from ...common.threads import one_torch_thread
from ...common.trust import UntrustedCode, check_trusted_class
from ...common.typing import Array
from ...engine.batch.cpu_backend import CpuBackend
from ...engine.observation.history import HISTORY_COLUMNS, history_rows
from ...engine.options import NetworkObservation
from ...engine.rules import Match, Rules
from ..base import CannotPlay
from ..checkpoints import Checkpoint, CheckpointError
from ..checkpoints.schema import HIDDEN_CARDS_SIZE, NetworkCard
from .network_inputs import match_of, network_inputs
from .relative_ranks import InputRows, gather_rows

_ILLEGAL_LOGIT = -1e9
_WITHOUT_SHAPE = (UninitializedParameter, UninitializedBuffer)
_ROWS = 4096
"""Views of one forward pass."""


class WrongAnswer(ValueError):
    """What a network returned is no answer; the sentence says it all."""


def network_class(name: str) -> type[nn.Module]:
    """The class that a name stands for, if the command or program trusts it."""
    check_trusted_class(name)
    found = import_object(name)
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise ValueError(f"{name} is {type_phrase(found)}: a network is a class of torch.nn.Module")
    return found


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the class has no arguments for, before anything is trained.

    Whether it can be made with their values shows when it is made.
    """
    try:
        # A decorator may give an argument itself.
        signature = inspect.signature(network_class(name), follow_wrapped=False)
    except ValueError:  # of a class in C
        return
    try:
        signature.bind(0, 0, 0, **options)
    except TypeError as error:
        raise SettingsDoNotFit(
            f"network_options is {dict(options)}, which {name} does not take: {error}"
        ) from None


def observation_of(name: str) -> NetworkObservation:
    """What a class asks for: `vector`, or `history` if it has `observation = "history"`."""
    asked = getattr(network_class(name), "observation", "vector")
    if asked not in ("vector", "history"):
        raise ValueError(
            f"{name}.observation is {asked!r}: a network reads the 'vector' or the 'history'"
        )
    return asked


def source_digest(name: str) -> str:
    """SHA-256 of the file that defines a class; empty where there is none."""
    return _source_digest(network_class(name))


def code_of_class(name: str) -> str:
    """SHA-256 of the code of a class, with all files of its package; empty where there is none."""
    return code_sha256(network_class(name).__module__)


@cache  # the file can be edited while the class is in use
def _source_digest(network: type) -> str:
    try:
        file = inspect.getsourcefile(network)
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    except (TypeError, OSError):  # from an interpreter, `python -c` or standard input
        return ""


class CustomNetwork(nn.Module):
    """A module of the user's class, whose answers have the right shapes.

    It is always in evaluation mode: what collected a rollout and what learns from it have to be
    the same policy, which dropout or batch statistics would change.
    """

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any],
        *,
        n_inputs: int,
        n_actions: int,
        n_hidden_inputs: int,
        rows: int = 0,
        seed: int = 0,
    ) -> None:
        """`rows` are those of a history, which then replaces the vector."""
        super().__init__()
        self.name, self.n_actions, self.rows = name, n_actions, rows
        self.n_hidden_inputs = n_hidden_inputs
        self.width = rows * HISTORY_COLUMNS or n_inputs
        make = network_class(name)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            try:
                self.module = make(n_inputs, n_actions, n_hidden_inputs, **options)
            except Exception as error:
                trace = error.__traceback__
                # Arguments that do not fit are refused here, and not in a line of the class.
                where = f" ({error_location(error)})" if trace and trace.tb_next else ""
                raise SettingsDoNotFit(
                    f"{name} cannot be made with {n_inputs} inputs, {n_actions} actions, "
                    f"{n_hidden_inputs} hidden inputs and the options {dict(options)}: "
                    f"{error_text(error)}{where}"
                ) from error
        self._check_parts()
        self.eval()
        for part in self.modules():
            if isinstance(part, nn.RNNBase):
                # cuDNN refuses their gradients in evaluation mode, in which only dropout differs.
                part.dropout = 0.0
                part.training = True

    def _check_parts(self) -> None:
        """Refuse parts that no checkpoint could hold, or that no optimizer could train."""
        params = dict(self.module.named_parameters())
        if not params:
            raise ValueError(f"{self.name} has no parameters, so that there is nothing to train")
        for name, value in self.module.state_dict().items():
            if not isinstance(value, Tensor) or isinstance(value, _WITHOUT_SHAPE):
                raise ValueError(
                    f"{self.name} has {name}, {type_phrase(value)}: a checkpoint holds tensors "
                    "whose shapes are known when the class is made"
                )
            if value.dtype in (torch.bfloat16, torch.complex64, torch.complex128):
                raise ValueError(
                    f"{self.name} has {name} as {value.dtype}: keep weights in float32; "
                    "precision=mixed multiplies in bfloat16"
                )
            if not value.isfinite().all():
                raise ValueError(
                    f"{self.name} has {name} with NaN or infinity, which no checkpoint holds: "
                    "register such a buffer with persistent=False, or make it in forward"
                )
        known = {id(param) for param in params.values()}
        try:
            of_critic = self.critic_parameters()
        except Exception as error:
            raise ValueError(
                f"{self.name}.critic_parameters() gives no parameters: {error_text(error)} "
                f"({error_location(error)}): make it a method that returns them, as "
                "self.value.parameters() does"
            ) from error
        if not all(id(param) in known for param in of_critic):
            raise ValueError(
                f"{self.name}.critic_parameters() returns what is no parameter of the network"
            )

    def forward(self, x: Tensor, hidden_cards: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits of all actions, and values; without hidden cards the logits alone count."""
        if self.rows:
            x = x.reshape(-1, self.rows, HISTORY_COLUMNS).long()
        answer = self.module(x, hidden_cards)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise WrongAnswer(
                f"{self.name} returned {type_phrase(answer)}: a pair is needed, logits and values"
            )
        logits, values = answer
        for given, what in ((logits, "logits"), (values, "values")):
            if not isinstance(given, Tensor) and (given is not None or what == "logits"):
                raise WrongAnswer(
                    f"{self.name} returned {type_phrase(given)} as {what}: a torch tensor is needed"
                )
        if logits.shape != (len(x), self.n_actions):
            raise WrongAnswer(
                f"{self.name} returned logits of shape {tuple(logits.shape)}: "
                f"({len(x)}, {self.n_actions}) is needed"
            )
        if hidden_cards is None:
            return logits.float(), logits.new_zeros(len(x))
        if values is None or values.numel() != len(x):
            given = None if values is None else tuple(values.shape)
            raise WrongAnswer(
                f"{self.name} returned values of shape {given}: one value for each of {len(x)} "
                "observations is needed"
            )
        return logits.float(), values.float().reshape(len(x))

    def critic_parameters(self) -> list[nn.Parameter]:
        """Parameters of the critic alone; none if the class does not say which they are."""
        listed = getattr(self.module, "critic_parameters", None)
        return [] if listed is None else [*listed()]

    def critic_weights(self) -> dict[str, Array]:
        """Those of `critic_parameters`, under their names in `weights`."""
        of_critic = {id(param) for param in self.critic_parameters()}
        params = self.module.named_parameters(remove_duplicate=False)
        names = [name for name, param in params if id(param) in of_critic]
        weights = self.weights() if names else {}
        return {name: weights[name] for name in names}

    def weights(self) -> dict[str, Array]:
        """Parameters and buffers, as checkpoints hold them."""
        return {
            name: tensor.detach().cpu().numpy().copy()
            for name, tensor in self.module.state_dict().items()
        }

    def load_weights(self, weights: Mapping[str, Array]) -> None:
        """Load weights by their names; raises `CheckpointError` if they do not fit."""
        tensors = {name: torch.tensor(array) for name, array in weights.items()}
        try:
            self.module.load_state_dict(tensors)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise CheckpointError(
                f"its weights do not fit {self.name} as its source is now, with these rules: "
                f"{error}"
            ) from None


def network_of_card(
    card: NetworkCard, rules: Rules, n_actions: int, seed: int = 0
) -> CustomNetwork:
    """A new network of a card's class, for observations by these rules."""
    rows = history_rows(rules) if card.observation == "history" else 0
    return CustomNetwork(
        card.module,
        card.options,
        n_inputs=rows or len(card.places),
        n_actions=n_actions,
        n_hidden_inputs=HIDDEN_CARDS_SIZE if card.critic == "oracle" else 0,
        rows=rows,
        seed=seed,
    )


def load_network(checkpoint: Checkpoint) -> CustomNetwork:
    """The network of a checkpoint, with its weights; says if its source has changed since."""
    card, path = checkpoint.card.network, checkpoint.path
    try:
        # The seed of the run: a class may draw what is not among its weights.
        seed = checkpoint.card.settings.get("seed", 0)
        network = network_of_card(card, checkpoint.rules[0], checkpoint.card.actions, seed)
    except UntrustedCode as error:
        raise UntrustedCode(f"{path}: {error}") from None
    except ValueError as error:
        raise CannotPlay(f"{path}: its network is {card.module}: {error}") from error
    if card.source_sha256 and source_digest(card.module) != card.source_sha256:
        warnings.warn(
            f"{path}: the source of {card.module} has changed since the training: it plays as the "
            "source is now",
            stacklevel=2,
        )
    try:
        network.load_weights(checkpoint.weights)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None
    return network


class ModulePolicy:
    """Policy, and critic where there is one, of a checkpoint with a custom network."""

    def __init__(self, checkpoint: Checkpoint, match: Match | None = None) -> None:
        """`match` is the one that is played, whose score only a training with it has seen."""
        self.card, self.network = checkpoint.card, load_network(checkpoint)
        self.trumps_first = self.card.suit_order == "trump-first"
        (self._rules,) = checkpoint.rules
        trained = match_of(checkpoint)
        self._match = trained and (match or trained)

    def probabilities(self, rules_array: Array, views: Array) -> Array:
        """`(n, actions)`: the probability of each real action."""
        probs = np.zeros((len(views), self.card.actions))
        for start in range(0, len(views), _ROWS):
            part = views[start : start + _ROWS]
            rows, orders = self._inputs(part)
            # Wherever it plays: opponents of environments are asked for few views at a time.
            with one_torch_thread(), torch.no_grad():
                logits = self.network(torch.from_numpy(rows.network_inputs.astype(np.float32)))[0]
            legal = torch.from_numpy(rows.network_masks) != 0
            if not logits[legal].isfinite().all():
                raise ValueError(
                    f"{self.network.name} returned logits that are not finite: train it anew"
                )
            shown = logits.masked_fill(~legal, _ILLEGAL_LOGIT).double().softmax(1).numpy()
            index, place = np.nonzero(rows.network_masks)
            probs[start + index, _real(rows.env_actions[index, place], orders[index])] = shown[
                index, place
            ]
        return probs

    def values(self, views: Array) -> Array:
        """`(n,)`: what the critic expects, in the units of the training."""
        rows, _ = self._inputs(views)
        x = torch.from_numpy(rows.network_inputs.astype(np.float32))
        with one_torch_thread(), torch.no_grad():
            return self.network(x, x.new_zeros((len(views), 0)))[1].double().numpy()

    def _inputs(self, views: Array) -> tuple[InputRows, Array]:
        network = self.card.network
        seen = network_inputs(
            views,
            self._rules,
            suit_order=self.card.suit_order,
            observation=network.observation,
            match=self._match,
        )
        actions = seen.masks.shape[1]
        if network.observation == "history":
            history = seen.observations.reshape(len(views), -1)
            every = np.tile(np.arange(actions), (len(views), 1))
            return InputRows(
                seen.observations, seen.masks, network.places, False, history, seen.masks, every
            ), seen.orders
        rows = InputRows(
            observations=seen.observations,
            masks=seen.masks,
            inputs=network.places,
            relative_ranks=network.card_ranks == "relative",
            network_inputs=np.zeros((len(views), len(network.places)), np.int8),
            network_masks=np.zeros((len(views), actions), np.int8),
            env_actions=np.zeros((len(views), actions), np.int64),
        )
        CpuBackend().run_rows(len(views), gather_rows, rows)
        return rows, seen.orders


def _real(actions: Array, orders: Array) -> Array:
    """Real actions: cards with their real suit, and other choices as they are."""
    suits = np.minimum(actions // 13, 3)
    cards = 13 * orders[np.arange(len(actions)), suits].astype(np.int64) + actions % 13
    return np.where(actions < 52, cards, actions)
