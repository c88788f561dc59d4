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
    format_overrides,
)
from ...engine.batch.config import Options
from ...envs.self_play import warm_up_self_play
from ..given import BOTH_SEATS, HIDDEN_CARDS, NONE, OWN_SEAT, OWN_VIEW, Given, on_or_off
from ..settings import Settings

# Settings that several trainers have, those of extensions too.
BatchSize = Annotated[
    int,
    doc(
        "Number of decisions in a minibatch. Advantages are normalized within "
        "each minibatch, except in `mmd`.",
        ge=2,
        le=10**12 - 1,
    ),
]
ClipRange = Annotated[
    Positive, doc("Clipping range ε of the probability ratio in PPO. `mmd` does not use it.")
]
Gamma = Annotated[float, doc("Discount factor γ, applied once per decision.", gt=0, le=1)]
GAELambda = Annotated[Fraction, doc("λ of generalized advantage estimation (GAE).")]
NEpochs = Annotated[
    PositiveInt, doc("How many times each iteration's decisions are used for gradient steps.")
]
MaxGradNorm = Annotated[
    Positive, doc("Largest allowed norm of the gradient. A larger gradient is scaled down to it.")
]
RewardScale = Annotated[
    float, doc("Rewards are divided by this number before learning.", ge=1e-6, le=1e6)
]
MAX_AVERAGING = 5
"""Largest exponent of an iteration's weight: float32 holds those of 10 million iterations."""
HiddenSizes = Annotated[LayerSizes, doc("Number of units in each hidden layer.")]
CustomNetwork = Annotated[
    str,
    doc(
        "Class of your own network, a torch module: `package.module:Class` or "
        "`file.py:Class`. Empty: a multilayer perceptron (MLP) with "
        "`hidden_sizes`."
    ),
]
NetworkOptions = Annotated[
    dict[str, Any], doc("Keyword arguments for the class that `network` names.")
]
LearningRate = Annotated[NonNegative, doc("Learning rate of Adam at the start of the training.")]
VfCoef = Annotated[NonNegative, doc("Weight of the value loss in the total loss.")]
EntCoef = Annotated[NonNegative, doc("Weight of the entropy bonus at the start of the training.")]
RanksSeen = Annotated[
    CardRanks,
    doc(
        "How the network sees ranks. `relative` counts a card's rank among the "
        "cards still in play. `absolute` keeps the printed rank."
    ),
]
CriticSees = Annotated[
    Critic,
    doc(
        "What the critic sees. `oracle` also sees the hidden cards: the opponent's "
        "hand and the stock. `separate` sees what the actor sees, with layers of its "
        "own. `shared` sees the same and shares the actor's hidden layers."
    ),
]
LearningRateEnd = Annotated[
    NonNegative,
    doc(
        "Learning rate at the end of the training. The rate changes linearly from `learning_rate`."
    ),
]
EntCoefEnd = Annotated[
    NonNegative,
    doc(
        "Weight of the entropy bonus at the end of the training. The weight "
        "changes linearly from `ent_coef`."
    ),
]
NSteps = Annotated[
    NonNegativeInt,
    doc(
        "Number of decisions that an iteration collects from each game. 0: as "
        "many as the longest episode has."
    ),
]


class PPOSettings(Settings, frozen=True, kw_only=True):
    """Proximal policy optimization (PPO) by self-play, from the decisions of both seats."""

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
    hidden_sizes: HiddenSizes = (256, 256)
    network: CustomNetwork = ""
    network_options: NetworkOptions = msgspec.field(default_factory=dict)
    card_ranks: RanksSeen = "relative"
    critic: CriticSees = "oracle"
    reward_scale: Annotated[
        float,
        doc(
            "Rewards are divided by this number before learning, so `ent_coef` and "
            "the `step_size` of `mmd` apply to the divided rewards. 0: use 0.4 times "
            "the largest possible reward of an episode, and at least 1.",
            ge=0,
            le=1e6,
        ),
    ] = 0.0
    # Rollouts.
    n_envs: Annotated[PositiveInt, doc("Number of games played side by side.")] = 4096
    n_steps: NSteps = 0
    # Optimization.
    n_epochs: NEpochs = 1
    batch_size: BatchSize = 4096
    learning_rate: LearningRate = 1e-3
    learning_rate_end: LearningRateEnd = 0.0
    clip_range: ClipRange = 0.2
    gamma: Gamma = 1.0
    gae_lambda: GAELambda = 0.6
    ent_coef: EntCoef = 0.05
    ent_coef_end: EntCoefEnd = 0.05
    vf_coef: VfCoef = 0.5
    max_grad_norm: MaxGradNorm = 0.5
    critic_warmup: Annotated[
        float,
        doc(
            "Part of the budget, at the start, that trains only the critic: 0.1 "
            "means the first tenth.",
            ge=0,
            lt=1,
        ),
    ] = 0.0
    critic_lr_scale: Annotated[
        Positive,
        doc(
            "Learning rate of the critic, as a multiple of the policy's. It needs a "
            "critic with its own layers."
        ),
    ] = 1.0
    ema_decay: Annotated[
        float,
        doc(
            "Decay of the exponential moving average (EMA) of the weights, applied "
            "at each gradient step. Checkpoints hold the averaged policy.",
            ge=0,
            lt=1,
        ),
    ] = 0.99
    kl_coef: Annotated[
        NonNegative,
        doc(
            "Weight of the penalty KL(policy ‖ averaged policy) in the loss. `mmd` does not use it."
        ),
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
                f"critic is 'shared', and the class {self.network} itself decides what its policy "
                "and its critic share: give critic=separate, or critic=oracle for hidden cards as "
                "a second input"
            )
        if not self.learning_rate and not self.learning_rate_end:
            raise SettingsError("learning_rate and learning_rate_end are 0: nothing is learned")
        if self.n_envs < len(self.all_options):
            raise SettingsError(
                f"n_envs is {self.n_envs}: each of {len(self.all_options)} rule sets needs a game"
            )
        if self.iteration < 2:
            raise SettingsError(
                f"n_envs is {self.n_envs} and n_steps is {self.n_steps}: an iteration has a single "
                "decision, and nothing is learned from it; raise one of them"
            )

    @property
    def iteration(self) -> int:
        """Maximum number of decisions in an iteration."""
        return self.n_envs * (self.n_steps or self.episode)

    @property
    def notes(self) -> tuple[str, ...]:
        return _notes_on_batch_size(self)

    def warm_up(self) -> None:
        if not self.network and self.device != "cuda":
            warm_up_self_play("vector")

    @property
    def given(self) -> Given:
        return Given(
            critic=HIDDEN_CARDS if self.critic == "oracle" else OWN_VIEW,
            observation=_observation(self.network, f"{self.card_ranks} ranks"),
            precision=self.precision,
            ema=on_or_off(self.ema_decay),
            decisions=BOTH_SEATS,
        )

    @property
    def episode(self) -> int:
        """Decisions of the longest possible episode, both seats counted."""
        return max(_episode_length(options) for options in self.all_options)


class MMDSettings(PPOSettings, frozen=True, kw_only=True):
    """Magnetic mirror descent (MMD): PPO with KL penalties instead of the clipped ratio."""

    trainer: str = "mmd"
    step_size: Annotated[
        Positive,
        doc(
            "Step size η of mirror descent. A larger step moves the policy further "
            "in each iteration."
        ),
    ] = 5.0
    # The entropy bonus equals a KL penalty towards a uniform magnet; its weight is the temperature.
    ent_coef: EntCoef = 0.05
    ent_coef_end: EntCoefEnd = 0.005

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
    """Neural fictitious self-play (NFSP): a best response by Q-learning, and an average policy."""

    fixed: ClassVar[tuple[str, ...]] = (
        *(name for name in Settings.fixed if name != "n_steps"),
        "network",
        "network_options",
        "replay_size",
        "reservoir_size",
        "reward_scale",
        "averaging",
    )

    trainer: str = "nfsp"
    hidden_sizes: HiddenSizes = (256, 256)
    network: CustomNetwork = ""
    network_options: NetworkOptions = msgspec.field(default_factory=dict)
    n_envs: Annotated[PositiveInt, doc("Number of games played side by side.")] = 256
    anticipatory: Annotated[
        Fraction,
        doc(
            "Anticipatory parameter η: the probability that a seat plays its best "
            "response in an episode instead of its average policy."
        ),
    ] = 0.1
    epsilon: Annotated[
        Fraction,
        doc(
            "Probability ε of a random card in ε-greedy play at the start. It falls "
            "to 0 at the end of the training."
        ),
    ] = 0.06
    replay_size: Annotated[
        PositiveInt, doc("Number of transitions that the replay buffer holds.")
    ] = 50_000
    reservoir_size: Annotated[
        PositiveInt, doc("Number of decisions that the reservoir buffer holds.")
    ] = 200_000
    train_every: Annotated[
        PositiveInt,
        doc("Number of decisions between two gradient steps. Each step updates both networks."),
    ] = 64
    target_update_every: Annotated[
        PositiveInt, doc("Number of gradient steps between two updates of the target network.")
    ] = 300
    batch_size: Annotated[PositiveInt, doc("Number of samples in a minibatch.")] = 128
    learning_rate: Annotated[Positive, doc("Learning rate of Adam for both networks.")] = 1e-3
    anneal_learning_rate: Annotated[
        bool,
        doc("Whether the learning rate falls linearly to 0. Otherwise it stays the same."),
    ] = False
    averaging: Annotated[
        float,
        doc(
            "Exponent of the weights in the average policy: a decision of iteration t has the "
            "weight t to the power of this number. With 0, all decisions of best responses have "
            "the same weight. With a larger number, early ones count less.",
            ge=0,
            le=MAX_AVERAGING,
        ),
    ] = 0.0
    reward_scale: RewardScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_network(self)
        if self.init:
            raise SettingsError(
                f"init is {self.init!r}: nfsp begins without Q-values, which no checkpoint holds; "
                "leave it out"
            )
        if not self.anticipatory:
            raise SettingsError("anticipatory is 0: no best response plays, so nothing is learned")
        check_batch_fits(
            self.batch_size, replay_size=self.replay_size, reservoir_size=self.reservoir_size
        )
        if self.precision != "float32":
            raise SettingsError(f"precision is {self.precision!r}: nfsp learns in float32 alone")

    def warm_up(self) -> None:
        if not self.network:
            warm_up_self_play("vector")

    @property
    def given(self) -> Given:
        return Given(
            critic=NONE,
            observation=_observation(self.network, "relative ranks"),
            precision=self.precision,
            ema=on_or_off(0),
            decisions=BOTH_SEATS,
        )


class SB3Settings(Settings, frozen=True, kw_only=True):
    """MaskablePPO of sb3-contrib against fixed agents and earlier policies of the run."""

    fixed: ClassVar[tuple[str, ...]] = (
        *Settings.fixed,
        *("reward_scale", "card_ranks", "opponents", "pool_size"),
    )

    trainer: str = "sb3"
    hidden_sizes: HiddenSizes = (256, 256)
    card_ranks: Annotated[
        CardRanks,
        doc(
            "How the network sees ranks. `absolute` keeps the printed rank, as the "
            "environments do. `relative` counts a card's rank among the cards still in "
            "play. The checkpoints then have no `.zip` of SB3, because its model could "
            "not read what the environments show."
        ),
    ] = "absolute"
    n_envs: Annotated[PositiveInt, doc("Number of games played side by side.")] = 256
    n_steps: Annotated[
        PositiveInt, doc("Number of decisions that an iteration collects from each game.")
    ] = 52
    opponents: Annotated[
        Names, doc("Agents that stay in the opponent pool for the whole training.")
    ] = ("threshold", "random-exact")
    pool_size: Annotated[
        NonNegativeInt,
        doc("Largest number of earlier policies of the learner in the opponent pool."),
    ] = 8
    pool_every: Annotated[
        PositiveInt,
        doc("Number of decisions after which the current policy joins the opponent pool."),
    ] = 500_000
    pool_sampling: Annotated[
        Literal["uniform", "latest", "pfsp"],
        doc(
            "How each episode's opponent is drawn. `uniform` draws every member of "
            "the pool equally often. `latest` always takes the newest policy. `pfsp` "
            "prefers the opponents that beat the learner most often."
        ),
    ] = "uniform"
    n_epochs: NEpochs = 4
    batch_size: BatchSize = 2048
    learning_rate: Annotated[
        NonNegative, doc("Learning rate of Adam at the start. It falls linearly to 0.")
    ] = 5e-4
    clip_range: ClipRange = 0.2
    gamma: Gamma = 1.0
    gae_lambda: GAELambda = 0.95
    ent_coef: Annotated[NonNegative, doc("Weight of the entropy bonus.")] = 0.02
    anneal_ent_coef: Annotated[
        bool,
        doc("Whether the weight of the entropy bonus falls linearly to 0. Otherwise it stays."),
    ] = False
    vf_coef: VfCoef = 0.5
    max_grad_norm: MaxGradNorm = 0.5
    reward_scale: RewardScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_envs * self.n_steps < 2:
            raise SettingsError(
                "n_envs and n_steps are 1: a single decision cannot be learned from"
            )
        if not self.learning_rate:
            raise SettingsError("learning_rate is 0: nothing would be learned")
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

    @property
    def given(self) -> Given:
        return Given(
            critic=OWN_VIEW,
            observation=f"{self.card_ranks} ranks",
            precision=self.precision,
            ema=on_or_off(0),
            decisions=OWN_SEAT,
        )


def _observation(network: str, of_the_vector: str) -> str:
    """What a policy reads: a custom network may read the history."""
    if not network:
        return of_the_vector
    from ...agents.networks.custom_network import observation_of

    return "history" if observation_of(network) == "history" else of_the_vector


def check_batch_fits(batch_size: int, **sizes: int) -> None:
    """Refuse a minibatch that a buffer cannot hold; `sizes` are those of buffers by setting."""
    for name, size in sizes.items():
        if batch_size > size:
            raise SettingsError(
                f"batch_size is {batch_size:,}, and {name} {size:,}: give a batch that the buffer "
                "can hold"
            )


def _check_network(settings: PPOSettings | NFSPSettings) -> None:
    if settings.network_options and not settings.network:
        raise SettingsError("network_options are those of a custom network: name its class")
    for name, value in settings.network_options.items():
        if ":" in name and value is None:
            raise SettingsError(
                f"network_options: {name!r} is a name without a value in YAML: write a space after "
                "the colon"
            )
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
    if settings.network and settings.hidden_sizes != (default := type(settings)().hidden_sizes):
        raise SettingsError(
            f"hidden_sizes is {list(settings.hidden_sizes)}, which is for the MLP: leave it "
            "out, or undo that of a preset by "
            f"{' '.join(format_overrides({'hidden_sizes': default}))}, and give the sizes of "
            f"{settings.network} as network_options"
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
