"""The game for OpenSpiel: any rule set with enumerable deals, as a Python game.

    from german_whist.envs.open_spiel import open_spiel_game
    game = open_spiel_game({"suits": 2, "ranks": 4, "hand": 2})

`pyspiel.load_game("python_german_whist", {"rules": ...})` finds it once this module is
imported. One chance node draws the deal and the dealer; an information state is the player's
view. Needs the extra `open-spiel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache

import numpy as np
import yaml

from ..common.suggestions import not_installed
from ..common.typing import Array
from ..engine.cards import CARDS, CHOICES, action_word
from ..engine.dtypes import SEATS
from ..engine.enumerate_deals import all_deals
from ..engine.game import Game
from ..engine.rules import Rules, RulesLike, load_rules
from ..engine.sampling.determinizations import sample_determinizations
from ..engine.text.position import position_text
from ..engine.view import View

try:
    import pyspiel
except ModuleNotFoundError as error:
    sentence = not_installed("the game in OpenSpiel", error.name, "open-spiel")
    raise ModuleNotFoundError(sentence, name=error.name) from error

_SMALLEST = "{suits: 2, ranks: 4, hand: 2}"
_TYPE = pyspiel.GameType(
    short_name="python_german_whist",
    long_name="German Whist",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=SEATS,
    min_num_players=SEATS,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=False,
    provides_observation_tensor=False,
    provides_factored_observation_string=False,
    parameter_specification={"rules": _SMALLEST},
)


@lru_cache(maxsize=1 << 16)
def _position_text(view: View) -> str:
    # Algorithms ask for the same states again and again.
    return position_text(view)


@cache
def _load(text: str) -> tuple[Rules, Array]:
    rules = load_rules(yaml.safe_load(text))
    return rules, all_deals(rules)


class OpenSpielGame(pyspiel.Game):
    """One rule set; every deal by either dealer is a chance outcome."""

    def __init__(self, params: Mapping[str, object] | None = None) -> None:
        """The parameter `rules` is a name, the path of a YAML file, or a mapping as YAML text."""
        text = str((params or {}).get("rules", _SMALLEST))
        rules, deals = _load(text)
        payoff = float(rules.max_payoff)
        super().__init__(
            _TYPE,
            pyspiel.GameInfo(
                num_distinct_actions=rules.actions,
                max_chance_outcomes=SEATS * len(deals),
                num_players=SEATS,
                min_utility=-payoff,
                max_utility=payoff,
                utility_sum=0.0,
                max_game_length=rules.max_decisions,
            ),
            {"rules": text},
        )

    def make_py_observer(
        self, iig_obs_type: object = None, params: Mapping[str, object] | None = None
    ) -> Observer:
        """An observer of information states as strings, without tensors."""
        return Observer()

    def new_initial_state(self) -> OpenSpielState:
        return OpenSpielState(self)


class Observer:
    """Information states for OpenSpiel's compiled algorithms."""

    def __init__(self) -> None:
        self.tensor = np.zeros(0, np.float32)
        self.dict: dict[str, Array] = {}

    def set_from(self, state: OpenSpielState, player: int) -> None:
        """Do nothing: there is no tensor."""

    def string_from(self, state: OpenSpielState, player: int) -> str:
        return state.information_state_string(player)


class OpenSpielState(pyspiel.State):
    """A game before or after the deal."""

    def __init__(self, game: OpenSpielGame) -> None:
        super().__init__(game)
        # OpenSpiel may return the game as another object: only its parameter persists.
        self._rules, self._deals = _load(game.get_parameters()["rules"])
        self._game_type = game
        self.game: Game | None = None
        """None before the deal."""

    def current_player(self) -> int:
        if self.game is None:
            return pyspiel.PlayerId.CHANCE
        turn = self.game.turn
        return pyspiel.PlayerId.TERMINAL if turn is None else turn

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """All deals with equal probability; seat 1 deals the second half of them."""
        count = SEATS * len(self._deals)
        return [(number, 1.0 / count) for number in range(count)]

    def _legal_actions(self, player: int) -> list[int]:
        return [] if self.game is None or self.game.over else sorted(self.game.legal())

    def _apply_action(self, action: int) -> None:
        if self.game is not None:
            self.game.play(action)
            return
        self.game = Game(self._rules)
        dealer, number = divmod(action, len(self._deals))
        self.game.deal_cards([int(card) for card in self._deals[number]], dealer)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"deal {action}"
        return CHOICES.get(action) or str(CARDS[action])

    def is_terminal(self) -> bool:
        return self.game is not None and self.game.over

    def returns(self) -> list[float]:
        if self.game is None or not self.game.over:
            return [0.0] * SEATS
        return [float(payoff) for payoff in self.game.payoffs]

    def information_state_string(self, player: int | None = None) -> str:
        """The player's view in words, as language models read it."""
        if self.game is None:
            return ""
        seat = self.game.turn if player is None else player
        return "" if seat is None else _position_text(self.game.view(seat))

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> OpenSpielState:
        """A state that the player to move cannot tell from this one, each deal as likely.

        `sampler` draws numbers from 0 to 1, as OpenSpiel's bots pass it.
        """
        assert self.game is not None
        if player != self.game.turn:
            raise ValueError(f"player {player} is not to move: player {self.game.turn} is")
        seed = int(sampler() * (1 << 53))
        other = self.clone()
        record = sample_determinizations(self.game.view(player), 1, seed, "voids")
        other.game = Game.of_array(self._rules, record)
        return other

    def clone(self) -> OpenSpielState:
        other = OpenSpielState(self._game_type)
        other.game = None if self.game is None else self.game.clone()
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> OpenSpielState:
        return self.clone()

    def __str__(self) -> str:
        if self.game is None:
            return "before the deal"
        return " ".join(map(action_word, self.game.actions))


def open_spiel_game(rules: RulesLike) -> OpenSpielGame:
    """A rule set as a game of OpenSpiel; `ValueError` if it has too many deals."""
    return OpenSpielGame({"rules": yaml.safe_dump(load_rules(rules).as_mapping())})


pyspiel.register_game(_TYPE, OpenSpielGame)
