# pyright: strict
"""A session: a hand or a match between a person and an agent, or between two agents.

It holds all cards; a seat's information is its `view`. A session can be saved as JSON and
restored at any point of a hand.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from german_whist.agents.base import Agent
from german_whist.agents.player import Player
from german_whist.agents.registry import load_agent
from german_whist.common.schema import convert
from german_whist.engine.cards import N_ACTIONS
from german_whist.engine.checks import IllegalAction
from german_whist.engine.endgame import NotOpenError, best_card_of, value_of
from german_whist.engine.game import Game
from german_whist.engine.records import GameRecord, MatchScore, record_of
from german_whist.engine.rules import Match, Rules, load_rules
from german_whist.engine.view import View

from ..rating import strengths
from ..review.replay import NOTE
from ..text.labels import YOU, label
from ..text.words import refusal_reason

HUMAN = "human"
PERSON, OPPONENT = 0, 1
"""The seats; of two agents, the first has the person's."""

STATE_VERSION = 6
_SEED_BITS = 63
AgentFactory = Callable[..., Agent]
"""`load_agent`, or a function that is called as it is: by name and rules, and `match=`."""


class SessionError(ValueError):
    """A saved session that cannot be restored."""


class ClaimRefused(IllegalAction):
    """A claim that perfect play does not keep: the hand goes on and is not rated."""


class HandResult(NamedTuple):
    """Counting tricks and payoffs of a hand, and whether fewer tricks won it."""

    tricks: tuple[int, ...]
    payoffs: tuple[int, ...]
    low: bool


def new_seed() -> int:
    """A seed that cannot be guessed: it determines every deal of a match."""
    return secrets.randbits(_SEED_BITS)


@dataclass(frozen=True)
class SessionSettings:
    """Rules, players, match and deals of a session."""

    rules: Rules = field(default_factory=lambda: load_rules("classic"))
    opponent: str = "medium"
    player: str = HUMAN
    """`human`, or the name of an agent that is watched in the person's seat."""
    match: Match | None = None
    """None for a single hand."""
    seed: int = field(default_factory=new_seed)
    number: int = 0
    """The number of the first deal of the seed."""
    seed_chosen: bool = False
    """Whether the person chose the seed, and so may know the cards."""
    deal: tuple[int, ...] = ()
    """The cards of a single hand in dealing order, when an earlier deal is played again."""
    dealer: Literal[0, 1] = 0
    """The dealer of `deal`."""
    replayed_from: tuple[str, int] | None = None
    """The session and number of the hand that is played again."""
    prior_actions: tuple[int, ...] = ()
    """The actions of that hand before the person takes a seat in it."""
    memory: bool = False
    """Whether the person sees only the own hand, the upcard and the trick under way."""
    lesson: int = 0
    """The number of the lesson that explains the hand as it goes, which does not count; or 0."""

    @property
    def rated(self) -> bool:
        """Whether hands count for the rating: the cards must be new to both players.

        Opponents' strengths are known for classic hands alone.
        """
        known = not (self.watched or self.deal or self.lesson or self.seed_chosen)
        return known and self.rules == load_rules("classic") and self.opponent in strengths()

    @property
    def watched(self) -> bool:
        return self.player != HUMAN

    @property
    def names(self) -> tuple[str, str]:
        return (self.player if self.watched else YOU), self.opponent


class SessionState(Struct):
    """A session as JSON: settings, the match's score before the current hand, and its actions.

    The rules are stored in full, so a hand continues under the rules that it was dealt by.
    """

    version: int
    settings: SessionSettings
    number: int
    dealer: Literal[0, 1]
    points: tuple[int, int]
    hands_won: tuple[int, int]
    results: list[HandResult]
    moves_before: int
    actions: list[int]
    helped: bool = False
    claim_refused: bool = False


def parse_state(data: Mapping[str, Any]) -> SessionState:
    """Validate the JSON of `Session.state`; raises `SessionError`."""
    version = data.get("version")
    if version != STATE_VERSION:
        raise SessionError(label("refused.kept", version=repr(version), current=STATE_VERSION))
    state = convert(dict(data), SessionState, label("refused.not_again"), error=SessionError)
    # Defaults are for new sessions: a session that lost a setting would continue as another one.
    if data["settings"].keys() != vars(state.settings).keys():
        raise SessionError(label("refused.not_again"))
    return state


def leading_seat(values: Sequence[int]) -> int | None:
    """The seat with the larger value; None for a tie."""
    return None if values[0] == values[1] else int(values[1] > values[0])


class Session:
    """Two players at a table, hand after hand until their match is over.

    >>> session = Session(SessionSettings(opponent="threshold", seed=1))
    >>> while session.turn is not None:
    ...     if session.turn == PERSON:
    ...         session.play(session.view(PERSON).legal()[0])
    ...     else:
    ...         _ = session.answer()
    >>> session.over, len(session.records)
    (True, 1)
    """

    def __init__(self, settings: SessionSettings, make: AgentFactory = load_agent) -> None:
        """`make` makes agents by name; sessions may share the agents."""
        self.settings = settings
        self.game = Game(settings.rules, settings.seed, settings.number, match=settings.match)
        self.game.number = 0  # hands are counted from the first of the match
        if settings.deal:
            self.game.deal_cards(settings.deal, settings.dealer)
        self.records: list[GameRecord] = []
        """Hands finished since the session was created or restored."""
        self.results: list[HandResult] = []
        """Results of all finished hands."""
        self._moves_before = 0
        self._texts: dict[int, dict[str, Any]] = {}
        """Prompts and answers of agents that play by texts, by the number of the action."""
        self.helped = False
        """Whether a card of this hand was taken back, a hint given, or a claim refused."""
        self.claim_refused = False
        """Whether a claim was refused in this hand: another would tell how many tricks are sure."""

        def player(name: str) -> Player:
            agent = make(name, settings.rules, match=settings.match)
            return Player(agent, settings.rules, seed=settings.seed)

        first = player(settings.player) if settings.watched else None
        self._players = first, player(settings.opponent)
        for name, seated in zip(settings.names, self._players, strict=True):
            if settings.prior_actions and seated and seated.agent.keeps_state:
                raise SessionError(label("refused.prior_actions", name=name))
        self._repeat(settings.prior_actions)

    def view(self, seat: int) -> View:
        return self.game.view(seat)

    @property
    def turn(self) -> int | None:
        """The seat to move; None when the hand is over."""
        return self.game.turn

    @property
    def agent_to_move(self) -> bool:
        turn = self.turn
        return turn is not None and self._players[turn] is not None

    @property
    def moves(self) -> int:
        """Decisions in all hands so far: the number of the next one."""
        return self._moves_before + len(self.game.actions)

    @property
    def hands_finished(self) -> int:
        return self.game.number + self.game.over

    @property
    def over(self) -> bool:
        """Whether the match, or the single hand, is over."""
        return self.game.over and self.game.match_over

    # -- playing

    def play(self, action: int) -> None:
        """Play the person's action; raises `IllegalAction` without any change."""
        if self.settings.watched:
            raise IllegalAction(label("refused.watched"))
        if self.turn == OPPONENT:
            raise IllegalAction(label("refused.not_your_turn", name=self.settings.opponent))
        if self.turn is None:
            raise IllegalAction(label("refused.hand_over"))
        if 0 <= action < N_ACTIONS and action not in self.game.legal():
            raise IllegalAction(refusal_reason(self.view(PERSON), action))
        self._play(action)

    def decide(self) -> int:
        """The action of the agent to move, without playing it."""
        player = self._player_to_move()
        action = int(player.choose(self.view(self.turn or 0), self.game.number))
        for texts in filter(None, player.agent.transcript or []):
            self._texts[len(self.game.actions)] = texts
        return action

    def answer(self) -> int:
        """Let the agent to move decide and play one action."""
        action = self.decide()
        self._play(action)
        return action

    def play_decided(self, action: int) -> None:
        self._player_to_move()
        self._play(action)

    def next_hand(self) -> None:
        if not self.game.over:
            raise IllegalAction(label("refused.not_over"))
        if self.over:
            raise IllegalAction(label("refused.no_deal"))
        self._moves_before = self.moves
        self.helped = self.claim_refused = False
        self._texts.clear()
        self.game.deal_next()
        self._reset_agents()

    def claim(self, tricks: int) -> list[int]:
        """Claim a number of the remaining tricks of an open endgame.

        The claim is verified exactly; if it holds, perfect play of both players finishes the
        hand, and the actions are returned. Otherwise it is the last one of this hand, which is
        not rated.
        """
        view = self.view(PERSON)
        if self.settings.watched or not view.to_move:
            raise IllegalAction(label("refused.no_claim"))
        if self.settings.memory:
            raise IllegalAction(label("refused.memory"))
        if self.claim_refused:
            raise IllegalAction(label("refused.claim_again"))
        try:
            value = value_of(view)
        except NotOpenError:
            raise IllegalAction(label("refused.claim_unseen")) from None
        if (tricks < value) if view.low else (tricks > value):
            left, name = len(view.hand), self.settings.opponent
            self.helped = self.claim_refused = True
            raise ClaimRefused(label("refused.claim", tricks=tricks, n=left, name=name))
        actions: list[int] = []
        while self.turn is not None:
            actions.append(int(best_card_of(self.view(self.turn))))
            self._play(actions[-1])
        return actions

    def take_back(self) -> None:
        """Undo to the person's last decision of this hand, which then is not rated."""
        if self.settings.watched or self.game.over:
            raise IllegalAction(label("refused.take_back"))
        game = self.game.clone()
        while len(game.actions) > len(self.settings.prior_actions):
            game.undo()
            if game.turn == PERSON:
                break
        else:
            raise IllegalAction(label("refused.no_card"))
        actions = list(map(int, game.actions))
        self._restore(msgspec.structs.replace(self._state(), actions=actions, helped=True))
        self._texts = {n: texts for n, texts in self._texts.items() if n < len(actions)}

    def _player_to_move(self) -> Player:
        player = self._players[self.turn] if self.turn is not None else None
        if player is None:
            raise IllegalAction(label("refused.no_agent"))
        return player

    def _play(self, action: int) -> None:
        self.game.play(action)
        if self.game.over:
            self.records.append(self._record())
            self._add_result()

    def _add_result(self) -> None:
        game = self.game
        self.results.append(HandResult(game.counting_tricks, game.payoffs, game.low))

    def _record(self) -> GameRecord:
        meta: dict[str, object] = {"players": list(self.settings.names)}
        if self.helped:
            meta["helped"] = True
        if self.settings.prior_actions:
            meta[NOTE] = label("replay.prior_actions", n=len(self.settings.prior_actions))
        if self._texts:
            meta["texts"] = [self._texts[n] for n in sorted(self._texts)]
        # Card by card: the seed would reveal the next hands of the match.
        deal = tuple(self.game.cards_dealt)
        return replace(record_of(self.game, meta), seed=None, number=0, deal=deal)

    def _reset_agents(self) -> None:
        for player in self._players:
            if player is not None and player.agent.keeps_state:
                player.begin()

    # -- saving

    def state(self) -> dict[str, Any]:
        return msgspec.json.decode(msgspec.json.encode(self._state()))

    def _state(self) -> SessionState:
        game, (points, hands_won) = self.game, self._score_before()
        return SessionState(
            version=STATE_VERSION,
            settings=self.settings,
            number=game.number,
            dealer=1 if game.dealer else 0,
            points=points,
            hands_won=hands_won,
            results=self.results[: game.number],
            moves_before=self._moves_before,
            actions=list(map(int, game.actions)),
            helped=self.helped,
            claim_refused=self.claim_refused,
        )

    def _score_before(self) -> tuple[tuple[int, int], tuple[int, int]]:
        game = self.game
        if self.settings.match is None:
            return (0, 0), (0, 0)
        payoffs = game.payoffs if game.over else (0, 0)
        points = (game.points[0] - max(payoffs[0], 0), game.points[1] - max(payoffs[1], 0))
        return points, (game.hands_won[0] - (payoffs[0] > 0), game.hands_won[1] - (payoffs[1] > 0))

    @staticmethod
    def from_state(data: Mapping[str, Any], make: AgentFactory = load_agent) -> Session:
        """Restore the session of a `state`; raises `SessionError`."""
        state = parse_state(data)
        try:
            session = Session(state.settings, make)
            session._restore(state)
        except (LookupError, ValueError) as error:
            raise SessionError(f"{label('refused.not_again')}: {error}") from error
        return session

    def _restore(self, state: SessionState) -> None:
        """Deal the current hand again, and replay its actions."""
        settings, score = self.settings, None
        if settings.match is not None:
            score = MatchScore(
                target=settings.match.target,
                best_of=settings.match.best_of,
                points=state.points,
                hands_won=state.hands_won,
                hands=state.number,
            )
        record = GameRecord(
            rules=settings.rules,
            dealer=state.dealer,
            tricks=(),
            counting_tricks=(0, 0),
            payoffs=(0, 0),
            seed=None if settings.deal else settings.seed,
            number=state.number + settings.number,
            deal=settings.deal,
            match=score,
        )
        self.results = state.results
        self.game = record.start()
        self.game.number = state.number
        self._moves_before = state.moves_before
        self.helped, self.claim_refused = state.helped, state.claim_refused
        self._reset_agents()
        self._repeat(state.actions)
        if self.game.over:
            self._add_result()

    def _repeat(self, actions: Sequence[int]) -> None:
        for action in actions:
            player = None if self.turn is None else self._players[self.turn]
            if player is not None and player.agent.keeps_state:
                self.decide()  # rebuilds the agent's internal state
            self.game.play(action)


def winner_of(session: Session) -> int | None:
    """The winner of the match, or of the single hand; None before its end, or for a tie."""
    if not session.over:
        return None
    match, game = session.settings.match, session.game
    if match is None:
        return leading_seat(game.payoffs)
    return leading_seat(game.points if match.target else game.hands_won)


def score_of(session: Session) -> tuple[int, ...]:
    """Counting tricks of a single hand, or points or hands won of a match."""
    match, game = session.settings.match, session.game
    if match is None:
        return game.counting_tricks
    return game.points if match.target else game.hands_won
