"""The settings of the trainers that learn by PPO: our own, and Stable-Baselines3's."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ...agents.checkpoints.schema import Critic, Ranks
from ...common.typed_settings import (
    AboveNothing,
    AtLeastNothing,
    Count,
    Names,
    SettingsError,
    Share,
    Whole,
    Widths,
    says,
)
from ...engine.batch.config import Options
from ..settings import Settings

_Batch = Annotated[
    int,
    says("Decisions in a step; advantages are measured by their spread.", ge=2, le=10**12 - 1),
]
_Clip = Annotated[AboveNothing, says("How far one step moves a probability.")]
_Discount = Annotated[float, says("What a reward is worth a decision earlier.", gt=0, le=1)]
_Trace = Annotated[
    Share, says("How far credit reaches before the critic is believed: lambda of its advantages.")
]
_Epochs = Annotated[Count, says("How often each decision is learnt from.")]
_Gradient = Annotated[AboveNothing, says("Gradients are scaled down to this length.")]
_RewardScale = Annotated[
    float, says("Rewards are divided by it before they are learnt from.", ge=1e-6, le=1e6)
]
_Layers = Annotated[Widths, says("The widths of the network's hidden layers.")]
_PoolSize = Annotated[Whole, says("Earlier selves in the pool, at most.")]
_PoolEvery = Annotated[Count, says("Decisions between the selves that join the pool.")]
_Opponents = Annotated[Names, says("Players that stay in the pool.")]
_Rate = Annotated[AtLeastNothing, says("Adam's, at the beginning.")]
_ValueWeight = Annotated[AtLeastNothing, says("Of the critic's error in the loss.")]
_Entropy = Annotated[AtLeastNothing, says("The bonus for it, at the beginning.")]


class PPOSettings(Settings, frozen=True, kw_only=True):
    """The project's own trainer: self-play in which both seats learn."""

    fixed: ClassVar[tuple[str, ...]] = (
        *Settings.fixed,
        *("ranks", "critic", "reward_scale"),
    )

    several_rules: ClassVar[bool] = True

    trainer: str = "ppo"
    # The network.
    layers: _Layers = (256, 256)
    ranks: Annotated[
        Ranks,
        says("`closed` shows cards in play by their ranks among those left; or `real`."),
    ] = "closed"
    critic: Annotated[
        Critic,
        says("`oracle` sees all cards, `own` what the actor sees, `shared` has its layers."),
    ] = "oracle"
    reward_scale: Annotated[
        float,
        says(
            "Rewards are divided by it before they are learnt from, so that entropy, and of mmd "
            "the stride, are in units of the quotient; 0 for 0.4 of the most that an episode "
            "pays, and 1 at least.",
            ge=0,
            le=1e6,
        ),
    ] = 0.0
    # Playing.
    games: Annotated[Count, says("Games in lockstep.")] = 4096
    steps: Annotated[
        Whole, says("Decisions a game in each iteration; 0 for one whole episode.")
    ] = 0
    pool_games: Annotated[
        Share,
        says("The share of games in which one seat is played by another out of the pool."),
    ] = 0.0
    opponents: _Opponents = ()
    pool_size: _PoolSize = 12
    pool_every: _PoolEvery = 1_000_000
    # Learning.
    epochs: _Epochs = 1
    minibatch: _Batch = 4096
    learning_rate: _Rate = 1e-3
    learning_rate_end: Annotated[AtLeastNothing, says("At the end.")] = 0.0
    clip: _Clip = 0.2
    discount: _Discount = 1.0
    trace: _Trace = 0.6
    entropy: _Entropy = 0.05
    entropy_end: Annotated[AtLeastNothing, says("The bonus at the end.")] = 0.05
    value_weight: _ValueWeight = 0.5
    most_gradient: _Gradient = 0.5
    critic_first: Annotated[
        float,
        says(
            "The share of the decisions, the first ones, that the critic alone learns from.",
            ge=0, lt=1,
        ),
    ] = 0.0  # fmt: skip
    critic_rate: Annotated[
        AboveNothing, says("The learning rate of a critic with layers of its own, times the other.")
    ] = 1.0
    average: Annotated[
        float,
        says("What the averaged weights, the player, keep of themselves at each step.", ge=0, lt=1),
    ] = 0.99
    pull: Annotated[
        AtLeastNothing,
        says("How strongly the policy is pulled towards that of the averaged weights."),
    ] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.learning_rate and not self.learning_rate_end:
            raise SettingsError("learning_rate and learning_rate_end are 0: nothing is learnt")
        if self.games < len(self.all_options):
            raise SettingsError(
                f"games is {self.games}: of {len(self.all_options)} rule sets each needs one"
            )
        self._check_pool()

    @property
    def iteration(self) -> int:
        """The decisions of an iteration, at most."""
        return self.games * (self.steps or self.episode)

    @property
    def episode(self) -> int:
        """The decisions of the longest episode, both players'; of a race, the most there can be."""
        return max(_episode(each) for each in self.all_options)

    def _check_pool(self) -> None:
        if not self.pool_games:
            if self.opponents:
                raise SettingsError(
                    f"opponents are {', '.join(self.opponents)}, and pool_games is 0: give the "
                    "share of games that are played against others, as in pool_games=0.2"
                )
            return
        if int(self.pool_games * self.games) < 1:
            raise SettingsError(
                f"pool_games is {self.pool_games} and has no effect: of {self.games} games that "
                f"is none; give at least {1 / self.games:.2g}"
            )
        _check_somebody_joins(self, f"pool_games is {self.pool_games} and has no effect")


class MMDSettings(PPOSettings, frozen=True, kw_only=True):
    """Magnetic mirror descent: PPO held by divergences instead of a clip."""

    trainer: str = "mmd"
    stride: Annotated[
        AboveNothing,
        says("How far an iteration moves the policy: eta, the step of mirror descent."),
    ] = 5.0
    # A bonus for entropy is the pull of a uniform magnet, and its weight the temperature.
    entropy: _Entropy = 0.05
    entropy_end: Annotated[AtLeastNothing, says("The bonus at the end.")] = 0.005

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = PPOSettings()
        for name in ("clip", "pull"):
            if getattr(self, name) != getattr(usual, name):
                raise SettingsError(
                    f"{name} is {getattr(self, name)}: mmd is held by stride and entropy; leave it "
                    "out"
                )


class NFSPSettings(Settings, frozen=True, kw_only=True):
    """Neural fictitious self-play: a best response by deep Q-learning, and its average."""

    fixed: ClassVar[tuple[str, ...]] = (
        *(each for each in Settings.fixed if each != "steps"),
        *("memory", "reservoir", "reward_scale"),
    )

    trainer: str = "nfsp"
    layers: _Layers = (256, 256)
    games: Annotated[Count, says("Games in lockstep.")] = 256
    anticipation: Annotated[
        Share, says("How often a seat is played by its best response: eta.")
    ] = 0.1
    exploration: Annotated[
        Share, says("How often a best response plays anything, at the beginning; 0 at the end.")
    ] = 0.06
    memory: Annotated[Count, says("Steps that action values are learnt from, the latest.")] = 50_000
    reservoir: Annotated[Count, says("Decisions of best responses that are imitated.")] = 200_000
    update_every: Annotated[Count, says("Decisions between steps of both networks.")] = 64
    target_every: Annotated[Count, says("Steps between copies of the target network.")] = 300
    minibatch: Annotated[Count, says("Rows in a step.")] = 128
    learning_rate: Annotated[AboveNothing, says("Adam's, of both networks.")] = 1e-3
    reward_scale: _RewardScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.anticipation:
            raise SettingsError("anticipation is 0: no best response plays, so nothing is learnt")
        if self.precision != "float32":
            raise SettingsError(f"precision is {self.precision!r}: nfsp learns in float32 alone")


class SB3Settings(Settings, frozen=True, kw_only=True):
    """MaskablePPO of sb3-contrib against a growing pool of earlier selves and rule players."""

    fixed: ClassVar[tuple[str, ...]] = (*Settings.fixed, "reward_scale")

    trainer: str = "sb3"
    layers: _Layers = (256, 256)
    games: Annotated[Count, says("Games in lockstep.")] = 256
    steps: Annotated[Count, says("Decisions a game in each iteration.")] = 52
    opponents: _Opponents = ("threshold", "random-exact")
    pool_size: _PoolSize = 8
    pool_every: _PoolEvery = 500_000
    swap_every: Annotated[Count, says("Decisions between changes of the opponent.")] = 100_000
    epochs: _Epochs = 4
    minibatch: _Batch = 2048
    learning_rate: _Rate = 5e-4
    clip: _Clip = 0.2
    discount: _Discount = 1.0
    trace: _Trace = 0.95
    entropy: _Entropy = 0.02
    value_weight: _ValueWeight = 0.5
    most_gradient: _Gradient = 0.5
    reward_scale: _RewardScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.games * self.steps < 2:
            raise SettingsError("games and steps are 1: one decision alone can not be learnt from")
        if not self.learning_rate:
            raise SettingsError("learning_rate is 0: nothing would be learnt")
        if self.precision != "float32":
            raise SettingsError(f"precision is {self.precision!r}: SB3 learns in float32 alone")
        _check_somebody_joins(self, "opponents is empty")

    @property
    def iteration(self) -> int:
        """The decisions of an iteration."""
        return self.games * self.steps


def _episode(options: Options) -> int:
    rules = options.rules
    foreplay = rules.foreplay_tricks * (3 if rules.choice else 2)
    exchange = 2 if rules.exchange else 0
    return foreplay if options.horizon == "foreplay" else exchange + foreplay + 2 * rules.hand


def _check_somebody_joins(settings: PPOSettings | SB3Settings, what: str) -> None:
    """Refuse a pool that nobody is in and nobody will join."""
    if settings.opponents:
        return
    if not settings.pool_size:
        raise SettingsError(f"{what}, and pool_size is 0: name opponents, or nobody is there")
    if settings.pool_every >= settings.decisions:
        raise SettingsError(
            f"{what}: earlier selves join the pool every {settings.pool_every:,} decisions, and "
            f"{settings.decisions:,} is all there are; give a smaller pool_every, or opponents"
        )
