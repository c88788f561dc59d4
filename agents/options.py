"""Options in agents' names: flags such as `sample`, and `key=value`, in one structure an agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from ..engine.batch.config import AUTO, exact_horizon
from ..engine.rules import Rules
from .perfect_endgame import EndgamePlayer

Text = Annotated[str, Meta(min_length=1)]


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of an agent; those of type `bool` are flags, written without a value."""

    takes: ClassVar[str]
    """The end of the sentence that refuses a word."""


class EndgameOptions(Options, frozen=True):
    """Who plays open endings: the exact solver, or the policy."""

    endgame: Literal["exact", "network"] | None = None
    takes = "there are endgame=exact and endgame=network"

    def exact(self, own: bool) -> bool:
        """Whether the solver plays them; `own` is whether the policy does by default."""
        return not own if self.endgame is None else self.endgame == "exact"


class NetworkOptions(EndgameOptions, frozen=True):
    """How actions are chosen as well."""

    greedy: bool = False
    sample: bool = False
    takes = "there are greedy, sample, endgame=exact and endgame=network"


AnyOptions = TypeVar("AnyOptions", bound=Options)


def parse_options(option_words: Iterable[str], kind: type[AnyOptions], subject: str) -> AnyOptions:
    """Read the option words of a name; `subject` is what the error calls the agent."""
    options: dict[str, str | bool] = {}
    for word in option_words:
        name, mark, value = word.partition("=")
        option = {name: value if mark else True}
        try:
            msgspec.convert(option, kind)
        except msgspec.ValidationError:
            raise ValueError(f"{word!r} is no option of {subject}: {kind.takes}") from None
        options |= option
    return msgspec.convert(options, kind)


def endgame_option(rules: Rules, exact: bool) -> str:
    """Option that swaps policy and solver in endings; empty if no solver plays these rules."""
    if not EndgamePlayer.solves(rules):
        return ""
    return "endgame=network" if exact else "endgame=exact"


def trained_on_endgame(horizon: str, rules: Rules) -> bool:
    """Whether a policy that was trained with this horizon has played endgames of these rules."""
    if horizon == AUTO:
        horizon = exact_horizon(rules)
    return horizon in ("hand", "match")
