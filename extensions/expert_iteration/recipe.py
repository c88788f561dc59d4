"""Recipes of expert iteration: which networks are trained, on how many hands, by which search.

Anthony, Tian and Barber 2017, "Thinking fast and slow with deep learning and tree search",
arXiv:1705.08439. A policy, trained first if asked for, plays hands; a value network and a belief
network are fitted to them; then a search plays hands as the expert, and the policy is fitted to its
targets, in one or more rounds. Finished stages are stored and an interrupted one is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from german_whist.agents.checkpoints.bundled import CHAMPION
from german_whist.common.settings import (
    CheckedSettings,
    Fraction,
    LayerSizes,
    NonNegativeInt,
    Positive,
    PositiveInt,
    PresetFiles,
    SettingsError,
    build_settings,
    build_with_overrides,
    command_line,
    doc,
    parse_overrides,
)

RECIPES = PresetFiles(Path(__file__).parent / "configs" / "recipe", "a recipe")
"""Bundled recipes."""

_PATHS = ("train", "policy", "value_init", "belief_init")

_Epochs = Annotated[Positive, doc("How many times each hand is used for training.")]
_Rate = Annotated[
    Positive,
    doc(
        "Highest learning rate. The rate rises for 200 steps and then falls to 0 "
        "along half a cosine."
    ),
]
_Layers = Annotated[LayerSizes, doc("Number of units in each hidden layer.")]


class Recipe(CheckedSettings, frozen=True, kw_only=True):
    """A recipe says which networks are trained, on how many hands, and with which search."""

    about: Annotated[str, doc("A one-line note that says what the recipe is for.")] = ""
    rules: Annotated[str, doc("Rule set: a name, or a YAML file.")] = "classic"
    train: Annotated[
        str,
        doc(
            "Training of the first policy: a preset of `german-whist train`, or a YAML file. "
            "Empty: no training. The recipe starts from `policy`."
        ),
    ] = ""
    policy: Annotated[
        str,
        doc(
            "Checkpoint of the first policy, if `train` is empty: a path, a run's "
            "folder, or a bundled checkpoint. Bundled are `champion` (the champion of the "
            "rule set), `champion-1` and `champion-2`."
        ),
    ] = CHAMPION
    seed: Annotated[int, doc("Random seed.", ge=0, le=2**62)] = 1
    hands: Annotated[
        NonNegativeInt,
        doc(
            "Number of self-play hands from which the value and belief networks learn. 0: "
            "both networks learn from the hands of the first round instead. They then start from "
            "the bundled networks, unless you name others."
        ),
    ] = 4_000_000
    epsilon: Annotated[
        float,
        doc("Probability that a card is drawn at random among the legal cards.", ge=0, lt=1),
    ] = 0.06
    determinizations: Annotated[
        NonNegativeInt,
        doc(
            "Number of determinizations in each decision of the search. A determinization is "
            "a sampled deal that agrees with what the player knows. The search is then the "
            "agent `thinker` with these networks. 0: the search looks one trick ahead in "
            "the true deal, with both hands open."
        ),
    ] = 0
    value_init: Annotated[
        str, doc("Path of the value network to start from. Empty: a new network.")
    ] = ""
    belief_init: Annotated[
        str, doc("Path of the belief network to start from. Empty: a new network.")
    ] = ""
    value_hidden_sizes: _Layers = (256, 64)
    value_epochs: _Epochs = 2.0
    value_learning_rate: _Rate = 0.001
    td_lambda: Annotated[
        Fraction,
        doc(
            "λ of the value targets. They are λ-returns, which mix the result of the hand with "
            "the network's own predictions for later positions."
        ),
    ] = 0.8
    belief_hidden_sizes: _Layers = (256, 128)
    belief_epochs: _Epochs = 0.4
    belief_learning_rate: _Rate = 0.002
    target_hands: Annotated[
        tuple[PositiveInt, ...],
        doc(
            "Number of hands in which a search gives values to the cards, one number per "
            "round. The policy learns from these values, and plays the hands of the next round.",
            min_length=1,
        ),
    ] = (1_000_000,)
    policy_epochs: _Epochs = 2.0
    policy_learning_rate: _Rate = 0.0003
    kl_coef: Annotated[
        Positive,
        doc(
            "Weight of the penalty KL(policy ‖ previous policy), in units of the reward. The "
            "penalty keeps the policy close to the previous one."
        ),
    ] = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train and self.policy != CHAMPION:
            raise SettingsError(
                f"train is {self.train!r}, and policy {self.policy!r}: a recipe starts with a "
                f"training or with a policy; give policy={CHAMPION} for the training, or "
                "train=\"''\" for none"
            )


def load_recipe(name: str, words: Iterable[str] = ()) -> Recipe:
    """Load a recipe by name or from a file, with `key=value` words over it."""
    values, source = RECIPES.values(name)
    return build_with_overrides(_recipe_from, values, parse_overrides(words), source)


def command_of(recipe: Recipe) -> str:
    """The shortest command with these settings: a bundled recipe and the settings that differ."""
    bases = {name: load_recipe(name).as_mapping() for name in RECIPES.names()}
    settings = recipe.as_mapping()
    commands = [command_line(["expert-iteration", n], settings, base) for n, base in bases.items()]
    return min(commands, key=len)


def _recipe_from(values: Mapping[str, object], source: str) -> Recipe:
    # Words of the command line are split at commas, which may be part of a path.
    values = {
        name: ",".join(map(str, value)) if name in _PATHS and isinstance(value, list) else value
        for name, value in values.items()
    }
    return build_settings(Recipe, values, source, "a setting of a recipe")
