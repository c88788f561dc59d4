"""Schema of checkpoint cards: what weights are, which rules they play, how they were trained."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ...common.typing import Array, JsonObject
from ...engine.cards import N_CARDS
from ...engine.observation.rule_features import RULE_SPEC
from ...engine.observation.spec import OBSERVATION_VERSION
from ...engine.options import Horizon, NetworkObservation, Reward, SuitOrder
from .input_names import input_places

FORMAT = 4
# What an oracle critic sees beyond the player: four sets of cards.
HIDDEN_CARDS_SIZE = 4 * N_CARDS

Kind = Literal["mlp", "table", "module"]
CardRanks = Literal["relative", "absolute"]
Critic = Literal["shared", "separate", "oracle"]
SearchNetworkKind = Literal["value", "belief"]

Count = Annotated[int, Meta(ge=0)]
Size = Annotated[int, Meta(ge=1, le=1 << 20)]
Fraction = Annotated[float, Meta(ge=0, le=1)]


class NetworkCard(Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """Inputs and size of a network, the size of a table, or the class of a custom network."""

    kind: Kind
    inputs: tuple[str, ...]
    """Observation groups, or parts of them such as `draws_left[0:13]`."""
    hidden_sizes: tuple[Size, ...]
    card_ranks: CardRanks = "absolute"
    """Card ranks in the input: relative to the cards in play, or absolute."""
    rule_features: tuple[str, ...] = ()
    """Groups of `RULE_SPEC` that follow the observation in the input."""
    critic: Critic | None = None
    """Kind of the critic whose weights are stored, for further training and reviews of hands."""
    cells: Count = 0
    module: str = ""
    """Class of a torch module: `package.module:Class` or `file.py:Class`."""
    options: JsonObject = {}
    """Keyword arguments of the class."""
    source_sha256: str = ""
    """Digest of the file that defines the class."""
    observation: NetworkObservation = "vector"
    """What the module reads: these inputs of the vector, or the rows of the history."""

    def __post_init__(self) -> None:
        _ = self.places, self.rule_places
        if (self.kind == "module") != bool(self.module):
            raise ValueError(
                f"the network is of the kind {self.kind!r} and its class is {self.module!r}: a "
                "module has one, and nothing else has"
            )
        if (self.kind == "table") != (self.cells > 0):
            raise ValueError(
                f"the network is of the kind {self.kind!r} and has {self.cells:,} cells: a table "
                "has some, and nothing else has"
            )

    @property
    def places(self) -> Array:
        """Indices of the inputs in an observation, in order."""
        return input_places(self.inputs)

    @property
    def rule_places(self) -> Array:
        """Indices of the inputs in the rule features, in order."""
        return input_places(self.rule_features, RULE_SPEC)


class Measurement(Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """Result of a match against an opponent."""

    opponent: str
    win_rate: Fraction
    margin_of_error: Fraction
    margin: float
    hands: Count
    rules: str = ""
    """Rule set of the match; empty if the card lists one."""

    @property
    def title(self) -> str:
        return f"{self.opponent} ({self.rules})" if self.rules else self.opponent


class Origin(Struct, forbid_unknown_fields=True, frozen=True):
    """The checkpoint from which training started."""

    checkpoint: str
    sha256: str
    decisions: Count
    commands: tuple[str, ...] = ()


class Solution(Struct, forbid_unknown_fields=True, frozen=True):
    """How near to an equilibrium a solved strategy is."""

    iterations: Count
    exploitability: float
    """Mean win of best responses per hand, before rounding to bytes."""
    value: float
    """Approximate payoff of the first leader in equilibrium."""


class Card(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is known of all weights; `kind` says what they are, and which other fields there are."""

    format: int = FORMAT
    kind: str
    sha256: str = ""
    """Digest of the weights as a safetensors file without this card."""
    rules: Annotated[tuple[JsonObject, ...], Meta(min_length=1)]
    settings: JsonObject = {}
    commands: tuple[str, ...] = ()


class CheckpointCard(Card, frozen=True, kw_only=True):
    """Card of a policy."""

    kind: Literal["policy"] = "policy"
    network: NetworkCard
    actions: Size
    suit_order: SuitOrder
    observation_version: int = OBSERVATION_VERSION
    horizon: Horizon
    reward: Reward = "points"
    decisions: Count = 0
    hands: Count = 0
    minutes: Annotated[float, Meta(ge=0)] = 0.0
    """Time of the training, with that of the policy that it was fitted on from, if any."""
    machine: str = ""
    """Processor and cores of the training's last machine."""
    evaluations: tuple[Measurement, ...] = ()
    init: Origin | None = None
    revision: str | None = None
    solution: Solution | None = None
    """Of a table that `german-whist solve` made."""

    def __post_init__(self) -> None:
        if self.network.kind == "table" and len(self.rules) > 1:
            raise ValueError(
                f"a table plays one rule set, and {len(self.rules)} are listed: one of the two is "
                "wrong"
            )


class SearchNetworkCard(Card, frozen=True, kw_only=True):
    """Card of a value or belief network, which searches query."""

    kind: SearchNetworkKind
    inputs: Size
    hidden_sizes: tuple[Size, ...]
    outputs: Size
    hands: Count = 0
