"""Settings of the trainers that learn with networks: ppo, mmd, nfsp, sb3."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from ...agents.checkpoints.schema import CardRanks, Critic
from ...common.settings import (
    Fraction,
    LayerSizes,
    Names,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    SettingsError,
    doc,
)
from ...engine.batch.config import Options
from ..settings import Settings

_BatchSize = Annotated[
    int,
    doc(
        "Minibatch size in decisions; advantages are normalised within it (not in `mmd`).",
        ge=2,
        le=10**12 - 1,
    ),
]
_ClipRange = Annotated[
    Positive, doc("Clipping range of the probability ratio (PPO's ε); not used by `mmd`.")
]
_Gamma = Annotated[float, doc("Discount factor, for each decision.", gt=0, le=1)]
_GAELambda = Annotated[Fraction, doc("λ of generalised advantage estimation (GAE).")]
_NEpochs = Annotated[PositiveInt, doc("Passes over the data of an iteration.")]
_MaxGradNorm = Annotated[
    Positive, doc("Maximum norm of the gradient; larger ones are scaled down.")
]
_RewardScale = Annotated[float, doc("Divisor of rewards.", ge=1e-6, le=1e6)]
_HiddenSizes = Annotated[LayerSizes, doc("Widths of the hidden layers.")]
_Network = Annotated[
    str,
    doc(
        "Custom network: a torch module, `package.module:Class` or `file.py:Class`; empty: "
        "an MLP with `hidden_sizes`."
    ),
]
_NetworkOptions = Annotated[
    dict[str, Any], doc("Keyword arguments of the class that `network` names.")
]
_LearningRate = Annotated[NonNegative, doc("Learning rate of Adam at the start.")]
_VfCoef = Annotated[NonNegative, doc("Coefficient of the value loss.")]
_EntCoef = Annotated[NonNegative, doc("Coefficient of the entropy bonus at the start.")]


class PPOSettings(Settings, frozen=True, kw_only=True):
    """Proximal policy optimisation by self-play; both seats learn."""

    fixed: ClassVar[tuple[str, ...]] = (
        *Settings.fixed,
        "network",
        "network_options",
        "card_ranks",
        "critic",
        "reward_scale",
    )

    several_rules: ClassVar[bool] = True

    trainer: str = "ppo"
    # Network.
    hidden_sizes: _HiddenSizes = (256, 256)
    network: _Network = ""
    network_options: _NetworkOptions = msgspec.field(default_factory=dict)
    card_ranks: Annotated[
        CardRanks,
        doc("Ranks in the network's input: `relative` to the cards in play, or `absolute`."),
    ] = "relative"
    critic: Annotated[
        Critic,
        doc("Critic: `oracle` sees all cards, `separate` the actor's input, `shared` its layers."),
    ] = "oracle"
    reward_scale: Annotated[
        float,
        doc(
            "Divisor of rewards; ent_coef, and step_size of mmd, are in units of the quotient. "
            "0: 0.4 of the largest reward of an episode, at least 1.",
            ge=0,
            le=1e6,
        ),
    ] = 0.0
    # Rollouts.
    n_envs: Annotated[PositiveInt, doc("Games played in lockstep.")] = 4096
    n_steps: Annotated[
        NonNegativeInt, doc("Decisions of each game in an iteration; 0: one whole episode.")
    ] = 0
    # Optimisation.
    n_epochs: _NEpochs = 1
    batch_size: _BatchSize = 4096
    learning_rate: _LearningRate = 1e-3
    learning_rate_end: Annotated[
        NonNegative, doc("Learning rate at the end; linear in between.")
    ] = 0.0
    clip_range: _ClipRange = 0.2
    gamma: _Gamma = 1.0
    gae_lambda: _GAELambda = 0.6
    ent_coef: _EntCoef = 0.05
    ent_coef_end: Annotated[NonNegative, doc("Coefficient of the entropy bonus at the end.")] = 0.05
    vf_coef: _VfCoef = 0.5
    max_grad_norm: _MaxGradNorm = 0.5
    critic_warmup: Annotated[
        float,
        doc(
            "Fraction of the budget, from the start, in which only the critic is trained.",
            ge=0,
            lt=1,
        ),
    ] = 0.0
    critic_lr_scale: Annotated[
        Positive,
        doc("Learning rate of a critic with its own layers, relative to the policy's."),
    ] = 1.0
    ema_decay: Annotated[
        float,
        doc("Decay of the EMA of weights, for each step; the EMA policy is the agent.", ge=0, lt=1),
    ] = 0.99
    kl_coef: Annotated[
        NonNegative,
        doc("Coefficient of KL(policy ‖ EMA policy) in the loss; not used by `mmd`."),
    ] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_network(self)
        if self.network and len(self.all_options) > 1:
            raise SettingsError(
                f"network is {self.network}: a custom network learns one rule set, and rules "
                f"lists {len(self.all_options)}"
            )
        if self.network and self.critic == "shared":
            raise SettingsError(
                f"critic is 'shared', and what {self.network} shares is its own affair: give "
                "critic=separate, or critic=oracle for hidden cards as a second input"
            )
        if not self.learning_rate and not self.learning_rate_end:
            raise SettingsError("learning_rate and learning_rate_end are 0: nothing is learnt")
        if self.n_envs < len(self.all_options):
            raise SettingsError(
                f"n_envs is {self.n_envs}: each of {len(self.all_options)} rule sets needs a game"
            )
        if self.iteration < 2:
            raise SettingsError(
                f"n_envs is {self.n_envs} and n_steps is {self.n_steps}: an iteration has a single "
                "decision, and nothing is learnt from it; raise one of them"
            )

    @property
    def iteration(self) -> int:
        """Maximum number of decisions in an iteration."""
        return self.n_envs * (self.n_steps or self.episode)

    @property
    def notes(self) -> tuple[str, ...]:
        return _notes_on_batch_size(self)

    @property
    def episode(self) -> int:
        """Decisions of the longest possible episode, both seats counted."""
        return max(_episode_length(options) for options in self.all_options)


class MMDSettings(PPOSettings, frozen=True, kw_only=True):
    """Magnetic mirror descent: PPO with KL penalties in place of the clipped ratio."""

    trainer: str = "mmd"
    step_size: Annotated[
        Positive,
        doc("Step size of mirror descent (η): larger moves the policy further."),
    ] = 5.0
    # The entropy bonus equals a KL penalty towards a uniform magnet; its weight is the temperature.
    ent_coef: _EntCoef = 0.05
    ent_coef_end: Annotated[NonNegative, doc("Coefficient of the entropy bonus at the end.")] = (
        0.005
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        default = PPOSettings()
        for name in ("clip_range", "kl_coef"):
            if getattr(self, name) != getattr(default, name):
                raise SettingsError(
                    f"{name} is {getattr(self, name)}: mmd uses step_size and ent_coef instead; "
                    "leave it out"
                )


class NFSPSettings(Settings, frozen=True, kw_only=True):
    """Neural fictitious self-play: Q-learning best response and average policy."""

    fixed: ClassVar[tuple[str, ...]] = (
        *(name for name in Settings.fixed if name != "n_steps"),
        "network",
        "network_options",
        "replay_size",
        "reservoir_size",
        "reward_scale",
    )

    trainer: str = "nfsp"
    hidden_sizes: _HiddenSizes = (256, 256)
    network: _Network = ""
    network_options: _NetworkOptions = msgspec.field(default_factory=dict)
    n_envs: Annotated[PositiveInt, doc("Games played in lockstep.")] = 256
    anticipatory: Annotated[
        Fraction,
        doc("Anticipatory parameter (η): probability that a seat plays its best response."),
    ] = 0.1
    epsilon: Annotated[
        Fraction, doc("Exploration rate of ε-greedy play at the start; 0 at the end.")
    ] = 0.06
    replay_size: Annotated[PositiveInt, doc("Capacity of the replay buffer, in transitions.")] = (
        50_000
    )
    reservoir_size: Annotated[
        PositiveInt, doc("Capacity of the reservoir buffer, in decisions.")
    ] = 200_000
    train_every: Annotated[
        PositiveInt, doc("Decisions between gradient steps of both networks.")
    ] = 64
    target_update_every: Annotated[
        PositiveInt, doc("Gradient steps between updates of the target network.")
    ] = 300
    batch_size: Annotated[PositiveInt, doc("Minibatch size.")] = 128
    learning_rate: Annotated[Positive, doc("Learning rate of Adam, for both networks.")] = 1e-3
    reward_scale: _RewardScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_network(self)
        if not self.anticipatory:
            raise SettingsError("anticipatory is 0: no best response plays, so nothing is learnt")
        for name in ("replay_size", "reservoir_size"):
            if self.batch_size > getattr(self, name):
                raise SettingsError(
                    f"batch_size is {self.batch_size:,}, and {name} {getattr(self, name):,}: give "
                    "a batch that the buffer can hold"
                )
        if self.precision != "float32":
            raise SettingsError(f"precision is {self.precision!r}: nfsp learns in float32 alone")


class SB3Settings(Settings, frozen=True, kw_only=True):
    """MaskablePPO of sb3-contrib against a pool of earlier policies and fixed opponents."""

    fixed: ClassVar[tuple[str, ...]] = (*Settings.fixed, "reward_scale")

    trainer: str = "sb3"
    hidden_sizes: _HiddenSizes = (256, 256)
    n_envs: Annotated[PositiveInt, doc("Games played in lockstep.")] = 256
    n_steps: Annotated[PositiveInt, doc("Decisions of each game in an iteration.")] = 52
    opponents: Annotated[Names, doc("Fixed opponents in the pool.")] = ("threshold", "random-exact")
    pool_size: Annotated[
        NonNegativeInt, doc("Maximum number of earlier policies in the opponent pool.")
    ] = 8
    pool_every: Annotated[
        PositiveInt, doc("Decisions between additions of the current policy to the pool.")
    ] = 500_000
    pool_sampling: Annotated[
        Literal["uniform", "latest", "pfsp"],
        doc("Draw of each episode's opponent: `pfsp` by the learner's win rate against it."),
    ] = "uniform"
    n_epochs: _NEpochs = 4
    batch_size: _BatchSize = 2048
    learning_rate: Annotated[
        NonNegative, doc("Learning rate of Adam at the start; falls linearly to 0.")
    ] = 5e-4
    clip_range: _ClipRange = 0.2
    gamma: _Gamma = 1.0
    gae_lambda: _GAELambda = 0.95
    ent_coef: Annotated[NonNegative, doc("Coefficient of the entropy bonus.")] = 0.02
    vf_coef: _VfCoef = 0.5
    max_grad_norm: _MaxGradNorm = 0.5
    reward_scale: _RewardScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_envs * self.n_steps < 2:
            raise SettingsError("n_envs and n_steps are 1: a single decision cannot be learnt from")
        if not self.learning_rate:
            raise SettingsError("learning_rate is 0: nothing would be learnt")
        if self.precision != "float32":
            raise SettingsError(f"precision is {self.precision!r}: SB3 learns in float32 alone")
        self._check_pool_grows()

    def _check_pool_grows(self) -> None:
        """Refuse an opponent pool that stays empty."""
        if self.opponents:
            return
        if not self.pool_size:
            raise SettingsError(
                "opponents is empty, and pool_size is 0: the pool is empty; name opponents"
            )
        if self.pool_every >= self.decisions:
            raise SettingsError(
                f"opponents is empty: a policy joins the pool every {self.pool_every:,} decisions, "
                f"and the budget is {self.decisions:,}; give a smaller pool_every, or opponents"
            )

    @property
    def iteration(self) -> int:
        """Decisions of an iteration."""
        return self.n_envs * self.n_steps

    @property
    def notes(self) -> tuple[str, ...]:
        return _notes_on_batch_size(self)


def _check_network(settings: PPOSettings | NFSPSettings) -> None:
    if settings.network_options and not settings.network:
        raise SettingsError("network_options are those of a custom network: name its class")
    try:
        stored = json.loads(json.dumps(settings.network_options, allow_nan=False))
    except (TypeError, ValueError):
        stored = None
    # As repr, since a tuple that is stored comes back as a list.
    if repr(stored) != repr(settings.network_options):
        raise SettingsError(
            f"network_options is {settings.network_options!r}: a checkpoint keeps them as JSON, so "
            "give texts, finite numbers, lists, and mappings with texts as keys"
        )
    if settings.network and settings.hidden_sizes != type(settings)().hidden_sizes:
        raise SettingsError(
            f"hidden_sizes is {list(settings.hidden_sizes)}, which is for the MLP: give the sizes "
            f"of {settings.network} as network_options"
        )


def _notes_on_batch_size(settings: PPOSettings | SB3Settings) -> tuple[str, ...]:
    if settings.batch_size <= settings.iteration:
        return ()
    return (
        f"batch_size is {settings.batch_size:,}, and an iteration has {settings.iteration:,} "
        "decisions at most: all of them are one minibatch",
    )


def _episode_length(options: Options) -> int:
    rules = options.rules
    foreplay = rules.foreplay_tricks * (3 if rules.choice else 2)
    exchange = 2 if rules.exchange else 0
    return foreplay if options.horizon == "foreplay" else exchange + foreplay + 2 * rules.hand
