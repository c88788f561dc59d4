"""Settings of a training: frozen, typed, documented where they are declared, and checked at once.

Every field says in its type what it takes and what it does; the command line, `--show`,
the page of settings and all errors are made from that. What every trainer is told stands
here; a trainer adds its own fields in a structure of its own.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from ..agents.checkpoints.checkpoint import rules_wanted
from ..common.typed_settings import (
    Checked,
    Count,
    Hands,
    Names,
    Seed,
    SettingsError,
    Whole,
    says,
)
from ..engine.batch.config import AUTO, Options, options_from
from ..engine.rules import named_rules

_MOST_MINUTES = 10 * 365 * 24 * 60


class Settings(Checked, frozen=True, kw_only=True):
    """What every trainer is told: what is played, for how long, and where it runs."""

    fixed: ClassVar[tuple[str, ...]] = (
        *("trainer", "rules", "horizon", "layout", "seed", "layers", "games", "steps", "init"),
    )
    """What can not change in a run under way."""
    several_rules: ClassVar[bool] = False
    """Whether the trainer knows what to do with more than one rule set."""

    trainer: Annotated[str, says("Who trains: by name, or as `package.module:object`.")]
    about: Annotated[str, says("What the training is for, in a line.")] = ""
    init: Annotated[
        str,
        says(
            "A checkpoint whose weights it begins with: its path, a run's, or by name one of the "
            "package's: `champion` (of these rules), `champion-1`."
        ),
    ] = ""
    # What is played and paid.
    rules: Annotated[
        Any,
        says("A rule set: name, YAML file, run or mapping; of our own trainer a list of them."),
    ] = "classic"
    reward: Annotated[
        str,
        says("What an episode pays: `win` (±1), `margin`, `tricks`, or the rules' own `points`."),
    ] = "win"
    horizon: Annotated[
        str,
        says(
            "`foreplay` pays an ending's exact value as it begins; `hand` plays it out; `auto` is "
            "`foreplay` where endings are exact; `match` plays matches to 25 points, and counts "
            "each as a hand."
        ),
    ] = "foreplay"
    layout: Annotated[str, says("How suits are shown: `trump-first`, or `raw`.")] = "trump-first"
    # How long, and from which seed.
    decisions: Annotated[
        Count,
        says("The budget: decisions of the learner, in self-play those of both players."),
    ] = 18_000_000
    minutes: Annotated[
        float, says("A time limit beside the budget; 0 for none.", ge=0, le=_MOST_MINUTES)
    ] = 0.0
    patience: Annotated[
        Whole,
        says("Measurements in a row that may be no better before the run ends; 0 for any number."),
    ] = 0
    seed: Annotated[Seed, says("Of everything that is drawn.")] = 1
    # Measuring and keeping.
    measure_every: Annotated[Count, says("Decisions between measurements and checkpoints.")] = (
        3_000_000
    )
    save_every: Annotated[
        Count, says("Decisions between saved states, from which a run goes on.")
    ] = 1_000_000
    yardsticks: Annotated[Names, says("Who a run is measured against, as is its own past.")] = (
        "threshold",
    )
    final_yardsticks: Annotated[
        Names, says("Who the last checkpoint is measured against as well.")
    ] = ()
    measure_hands: Annotated[Hands, says("Hands against each on the way.")] = 2_000
    final_hands: Annotated[Hands, says("Hands against each at the end.")] = 10_000
    measuring: Annotated[
        Literal["beside", "here"],
        says("Who measures on the way: a process `beside` the training, or it waits `here`."),
    ] = "beside"
    callbacks: Annotated[
        Names,
        says("Who is told of the run: `mlflow`, `wandb`, or `package.module:object`."),
    ] = ()
    # The machine.
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        says("Where torch computes; `ppo` plays its games there too."),
    ] = "auto"
    threads: Annotated[Whole, says("Threads of torch; 0 for one a core.")] = 0
    precision: Annotated[
        Literal["float32", "mixed"],
        says("`mixed` multiplies in bfloat16: twice as fast or more where the device has it."),
    ] = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience and not self.yardsticks:
            raise SettingsError("patience waits for the first yardstick, and yardsticks is empty")
        try:
            _ = self.all_options
        except ValueError as error:
            raise SettingsError(str(error)) from None

    @property
    def options(self) -> Options:
        """The same for environments: rules, reward, horizon, layout; those of the first rules."""
        return self.all_options[0]

    @cached_property
    def all_options(self) -> tuple[Options, ...]:
        """The same for each rule set."""
        listed = _listed(self.rules)
        if not listed:
            raise SettingsError("rules is empty: name a rule set")
        if len(listed) > 1 and not self.several_rules:
            raise SettingsError(
                f"rules is {listed!r}: the trainer {self.trainer} takes one rule set"
            )
        found = [
            options_from(
                rules_wanted(each), reward=self.reward, horizon=self.horizon, layout=self.layout
            )
            for each in listed
        ]
        for k, one in enumerate(found):
            for other in found[:k]:
                if one.rules.name == other.rules.name or one.rules.same_game(other.rules):
                    raise SettingsError(
                        f"rules: {other.rules.name} and {one.rules.name} are the same game, or are "
                        "called the same: give each once, under a name of its own"
                    )
        return tuple(found)

    @property
    def told_horizon(self) -> str:
        """The horizon as a card tells it: `auto` where the rule sets have different ones."""
        found = {each.horizon for each in self.all_options}
        return found.pop() if len(found) == 1 else AUTO

    def as_mapping(self) -> dict[str, Any]:
        """Every setting, as a YAML file gives it."""
        told = [
            each if isinstance(each, str) and each in named_rules() else options.rules.as_mapping()
            for each, options in zip(_listed(self.rules), self.all_options, strict=True)
        ]
        return {**super().as_mapping(), "rules": told if len(told) > 1 else told[0]}


def _listed(rules: Any) -> list[Any]:
    return list(rules) if isinstance(rules, (list, tuple)) else [rules]
