"""Settings that all trainers share: frozen, typed, checked once on construction.

Each field declares its type, bounds and description, from which the command line, `--show`, the
page of settings and all errors are made. A trainer adds fields in a subclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal

from ..agents.checkpoints import resolve_rules
from ..common.settings import (
    CheckedSettings,
    EvenCount,
    Names,
    NonNegativeInt,
    PositiveInt,
    Seed,
    SettingsError,
    doc,
)
from ..common.threads import MAX_THREADS
from ..engine.batch.config import AUTO, Options, options_from
from ..engine.options import Horizon, Reward, SuitOrder
from ..engine.rules import named_rules
from .given import Given

_MOST_MINUTES = 10 * 365 * 24 * 60


class Settings(CheckedSettings, frozen=True, kw_only=True):
    """Settings of every trainer: environment, budget, evaluation, machine."""

    fixed: ClassVar[tuple[str, ...]] = (
        "trainer",
        "rules",
        "reward",
        "horizon",
        "suit_order",
        "seed",
        "hidden_sizes",
        "n_envs",
        "n_steps",
        "init",
    )
    """Settings that a resumed run cannot change."""
    several_rules: ClassVar[bool] = False
    """Whether the trainer accepts a list of rule sets."""

    # Names of Stable-Baselines3 and its zoo, CleanRL, RLlib; errors suggest the name here.
    other_names: ClassVar[Mapping[str, str]] = {
        other: name
        for name, foreign_names in {
            "decisions": ("total_timesteps", "n_timesteps", "timesteps"),
            "n_envs": ("num_envs", "num_env_runners"),
            "n_steps": ("num_steps", "rollout_fragment_length", "train_batch_size"),
            "batch_size": ("batch", "minibatch_size", "num_minibatches", "sgd_minibatch_size"),
            "n_epochs": ("update_epochs", "epochs", "num_epochs", "num_sgd_iter"),
            "learning_rate": ("lr",),
            "learning_rate_end": ("learning_rate_schedule", "anneal_lr"),
            "gae_lambda": ("lambda", "lambda_", "lam"),
            "clip_range": ("clip_coef", "clip_param", "clip"),
            "ent_coef": ("entropy_coeff", "entropy_coef"),
            "vf_coef": ("vf_loss_coeff", "value_coef"),
            "max_grad_norm": ("grad_clip",),
            "kl_coef": ("kl_coeff",),
            "hidden_sizes": ("net_arch", "fcnet_hiddens", "layers", "policy_kwargs"),
            "gamma": ("discount",),
            "replay_size": ("buffer_size",),
            "epsilon": ("exploration_initial_eps",),
            "target_update_every": ("target_update_interval", "target_network_frequency"),
            "train_every": ("train_freq",),
            "eval_every": ("eval_freq", "evaluation_interval"),
            "eval_hands": ("n_eval_episodes",),
            "save_every": ("save_freq",),
            "rules": ("env", "env_id"),
            "trainer": ("algo",),
            "seed": ("random_seed",),
            "threads": ("torch_num_threads",),
            "reward_scale": ("reward_scaling",),
        }.items()
        for other in foreign_names
    }

    trainer: Annotated[
        str,
        doc("Training algorithm: the name of a trainer, or `package.module:object` for your own."),
    ]
    about: Annotated[str, doc("A one-line note that says what the training is for.")] = ""
    init: Annotated[
        str,
        doc(
            "Checkpoint to start the networks from: a path, a run's folder, or the name "
            "of a checkpoint that comes with the package: `champion` (the one for the "
            "current rules), `champion-1` or `champion-2`. Empty: start from random weights."
        ),
    ] = ""
    # Environment.
    rules: Annotated[
        Any,
        doc(
            "Rule set to train on: a name, a YAML file, a run's folder or a mapping. "
            "`ppo` and `mmd` also take a list and train one network on all of its "
            "rule sets."
        ),
    ] = "classic"
    reward: Annotated[
        Reward,
        doc(
            "What the reward measures: `win` pays +1 or −1, `margin` the difference "
            "in counting tricks, `tricks` +1 for each counting trick that is taken and −1 "
            "for each of the opponent's, and `points` what the rule set pays."
        ),
    ] = "win"
    horizon: Annotated[
        Horizon,
        doc(
            "When an episode ends. `foreplay` ends it when the stock is empty and "
            "pays the exact value of the endgame. `hand` plays the endgame too. "
            "`auto` is `foreplay` in rule sets whose endgames can be solved exactly, "
            "and `hand` in the others. `match` plays a match to 25 points, which "
            "counts as one hand."
        ),
    ] = "foreplay"
    suit_order: Annotated[
        SuitOrder,
        doc(
            "Order of suits in observations and actions: `trump-first` puts trumps "
            "first, `raw` keeps the order clubs, diamonds, hearts, spades."
        ),
    ] = "trump-first"
    # Budget and seed.
    decisions: Annotated[
        PositiveInt,
        doc(
            "Length of the training, counted in decisions of the learner. In "
            "self-play, the decisions of both seats count."
        ),
    ] = 18_000_000
    max_minutes: Annotated[
        float,
        doc(
            "Time limit in minutes. The run ends at this limit or after `decisions`, "
            "whichever comes first. 0: no time limit.",
            ge=0,
            le=_MOST_MINUTES,
        ),
    ] = 0.0
    patience: Annotated[
        NonNegativeInt,
        doc(
            "Stop the run after this many evaluations in a row without an "
            "improvement against the first of `eval_opponents`. 0: never stop early."
        ),
    ] = 0
    seed: Annotated[Seed, doc("Random seed.")] = 1
    # Evaluation and checkpoints.
    eval_every: Annotated[
        PositiveInt,
        doc("Number of decisions between two checkpoints. Every checkpoint is evaluated."),
    ] = 3_000_000
    save_every: Annotated[
        PositiveInt,
        doc(
            "Number of decisions between two saves of the training state, from which "
            "`--resume` continues."
        ),
    ] = 1_000_000
    eval_opponents: Annotated[
        Names,
        doc(
            "Agents that every checkpoint is evaluated against. It is also evaluated "
            "against earlier checkpoints of the run."
        ),
    ] = ("threshold",)
    final_eval_opponents: Annotated[
        Names,
        doc(
            "Agents that only the last checkpoint is evaluated against, in addition "
            "to `eval_opponents`."
        ),
    ] = ()
    eval_hands: Annotated[
        EvenCount, doc("Number of hands that an evaluation plays against each opponent.")
    ] = 2_000
    final_eval_hands: Annotated[
        EvenCount,
        doc(
            "Number of hands that the evaluation of the last checkpoint plays "
            "against each opponent."
        ),
    ] = 10_000
    eval_mode: Annotated[
        Literal["async", "sync"],
        doc(
            "`async` evaluates in a second process while the training goes on. "
            "`sync` pauses the training for each evaluation."
        ),
    ] = "async"
    callbacks: Annotated[
        Names,
        doc(
            "Callbacks to run during the training, each as `package.module:object` "
            "or as the name of an entry point."
        ),
    ] = ()
    # Machine.
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        doc(
            "Device that torch computes on. `ppo` and `mmd` also play their games on "
            "this device. `auto` uses a GPU if torch finds one; `ppo` and `mmd` also need "
            "numba-cuda for it. Otherwise `auto` uses the CPU."
        ),
    ] = "auto"
    threads: Annotated[
        int, doc("Number of threads that torch uses. 0: one thread per core.", ge=0, le=MAX_THREADS)
    ] = 0
    precision: Annotated[
        Literal["float32", "mixed"],
        doc(
            "Number format of matrix products. `mixed` uses bfloat16 if the "
            "processor has instructions for it, and float32 otherwise."
        ),
    ] = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience and not self.eval_opponents:
            raise SettingsError(
                "patience compares results against the first of eval_opponents, which is empty"
            )
        try:
            _ = self.all_options
        except ValueError as error:
            raise SettingsError(str(error)) from None

    @property
    def options(self) -> Options:
        """Environment options of the first rule set."""
        return self.all_options[0]

    @cached_property
    def all_options(self) -> tuple[Options, ...]:
        """Environment options of each rule set."""
        listed = _listed(self.rules)
        if not listed:
            raise SettingsError("rules is empty: name a rule set")
        if len(listed) > 1 and not self.several_rules:
            raise SettingsError(
                f"rules is {listed!r}: the trainer {self.trainer} takes one rule set"
            )
        all_options = [
            options_from(
                resolve_rules(rules),
                reward=self.reward,
                horizon=self.horizon,
                suit_order=self.suit_order,
            )
            for rules in listed
        ]
        for first, second in combinations([options.rules for options in all_options], 2):
            if first.name == second.name or first.same_game(second):
                raise SettingsError(
                    f"rules: {first.name} and {second.name} are the same game, or have the same "
                    "name: give each once, under a name of its own"
                )
        return tuple(all_options)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on settings that have no effect here, or another than usual, for a run's start."""
        return ()

    def warm_up(self) -> None:
        """Compile code that the trainer needs, before its packages are imported.

        A process of its own calls this meanwhile.
        """

    @property
    def given(self) -> Given:
        """What the learner is given, for benchmarks; what a trainer does not say is not stated."""
        return Given()

    @property
    def card_horizon(self) -> str:
        """Horizon for a checkpoint's card: `auto` if rule sets differ in it."""
        horizons = {options.horizon for options in self.all_options}
        return horizons.pop() if len(horizons) == 1 else AUTO

    def as_mapping(self) -> dict[str, Any]:
        """All settings as plain values, as a YAML file holds them."""
        rule_sets = [
            rules
            if isinstance(rules, str) and rules in named_rules()
            else options.rules.as_mapping()
            for rules, options in zip(_listed(self.rules), self.all_options, strict=True)
        ]
        return {**super().as_mapping(), "rules": rule_sets if len(rule_sets) > 1 else rule_sets[0]}


def _listed(rules: Any) -> list[Any]:
    return list(rules) if isinstance(rules, (list, tuple)) else [rules]
