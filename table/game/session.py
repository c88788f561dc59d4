# pyright: strict
"""A session: one person and one agent, or two agents, and the hands of a match between them.

It knows everything and shows nothing: what a seat may see is its `view`. All of it
goes into JSON and comes back the same, in mid-hand too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace as changed

from ...agents.base import Agent
from ...agents.player import Player
from ...agents.registry import make_agent
from ...common.schema import converted
from ...engine.cards import ACTIONS_IN_ALL
from ...engine.endgame import NotOpenError, best_card_of, value_of
from ...engine.game import Game, IllegalAction
from ...engine.records import GameRecord, MatchScore, record_of
from ...engine.rules import Match, Rules, load_rules
from ...engine.view import View
from ..text.labels import say
from ..text.words import refusal_reason

HUMAN = "human"
PERSON, OPPONENT = 0, 1
"""The seats: the person's, or the first agent's, and the other one."""

LESSON = Rules(name="lesson", about=say("learn.small"), suits=4, ranks=5, hand=5, stock=10)
LESSON_SEED = 3
"""A deal with a strong upcard first, and a weak one soon."""

STATE_VERSION = 2
_SEED_BITS = 63
AgentFactory = Callable[[str, Rules, "Match | None"], Agent]


class SessionError(ValueError):
    """A session that cannot be taken up again."""


class HandResult(NamedTuple):
    """How a hand ended: what each seat took and is paid, and whether fewer tricks won it."""

    tricks: tuple[int, ...]
    pays: tuple[int, ...]
    low: bool


def new_seed() -> int:
    """A seed that nobody can guess: it tells every deal of a match beforehand."""
    return secrets.randbits(_SEED_BITS)


@dataclass(frozen=True)
class Settings:
    """What is played, and by whom."""

    rules: Rules = field(default_factory=lambda: load_rules("classic"))
    opponent: str = "medium"
    player: str = HUMAN
    """`human`, or the name of an agent that is watched in the person's seat."""
    match: Match | None = None
    """None for a single hand."""
    seed: int = field(default_factory=new_seed)
    name: str = "you"
    """What the person is called in records."""
    number: int = 0
    """The deal of the seed that the first hand has."""
    deal: tuple[int, ...] = ()
    """The cards of the only hand, in dealing order, where they come from another hand."""
    dealer: Literal[0, 1] = 0
    """Who deals those cards."""
    again: tuple[str, int] | None = None
    """The hand that is played again, by its session and number."""
    lesson: bool = False
    """Whether the hand is explained as it goes, and counts for nothing."""

    @property
    def rated(self) -> bool:
        """Whether the person's hands count for the rating: their cards are new to both."""
        return not (self.watched or self.deal or self.lesson)

    @property
    def watched(self) -> bool:
        """Whether both seats are agents."""
        return self.player != HUMAN

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        return (self.player if self.watched else self.name), self.opponent


class SessionState(Struct):
    """All of a session as a file holds it: its settings, the match's score before this hand, and
    what was played. Rules stand there in full, so a hand goes on under those it was dealt by."""

    version: int
    settings: Settings
    number: int
    dealer: Literal[0, 1]
    points: tuple[int, int]
    hands_won: tuple[int, int]
    results: list[HandResult]
    moves_before: int
    actions: list[int]
    helped: bool = False


def parse_state(told: Mapping[str, Any]) -> SessionState:
    """What `Session.state` told, checked; whatever does not fit raises `SessionError`."""
    version = told.get("version")
    if version != STATE_VERSION:
        raise SessionError(say("refused.kept", version=repr(version), here=STATE_VERSION))
    state = converted(dict(told), SessionState, say("refused.not_again"), error=SessionError)
    # Defaults are for new sessions: a session that lost a setting would go on as another one.
    if told["settings"].keys() != vars(state.settings).keys():
        raise SessionError(say("refused.not_again"))
    return state


def leading_seat(pays: Sequence[int]) -> int | None:
    """The seat that has more, if one has."""
    return None if pays[0] == pays[1] else int(pays[1] > pays[0])


def default_agent(name: str, rules: Rules, match: Match | None) -> Agent:
    """The agent of this name, as `make_agent` makes it."""
    return make_agent(name, rules, match=match)


class Session:
    """Two players at a table, hand after hand until their match is over.

    >>> session = Session(Settings(opponent="threshold", seed=1))
    >>> while session.turn is not None:
    ...     if session.turn == PERSON:
    ...         session.play(session.view(PERSON).legal()[0])
    ...     else:
    ...         session.answer()
    >>> session.over, len(session.records)
    (True, 1)
    """

    def __init__(self, settings: Settings, make: AgentFactory = default_agent) -> None:
        """`make` makes the agents by name; several sessions may share what it returns."""
        self.settings = settings
        self.game = Game(settings.rules, settings.seed, settings.number, match=settings.match)
        self.game.number = 0  # hands are counted from the first of the match
        if settings.deal:
            self.game.deal_cards(settings.deal, settings.dealer)
        self.records: list[GameRecord] = []
        """The hands that were finished since this object was made."""
        self.results: list[HandResult] = []
        """How all hands so far ended."""
        self._moves_before = 0
        self.helped = False
        """Whether the person took back a card of this hand, or asked for a hint."""
        self._players = self._seated(make)

    def _seated(self, make: AgentFactory) -> tuple[Player | None, Player]:
        settings = self.settings

        def player(name: str) -> Player:
            agent = make(name, settings.rules, settings.match)
            return Player(agent, settings.rules, seed=settings.seed)

        first = player(settings.player) if settings.watched else None
        return first, player(settings.opponent)

    # -- looking

    def view(self, seat: int) -> View:
        """All that a seat may know."""
        return self.game.view(seat)

    @property
    def turn(self) -> int | None:
        """Who is to move; None when the hand is over."""
        return self.game.turn

    @property
    def agent_to_move(self) -> bool:
        """Whether `answer` is what comes next."""
        turn = self.turn
        return turn is not None and self._players[turn] is not None

    @property
    def moves(self) -> int:
        """Decisions made in all hands so far: the number of the one to be made."""
        return self._moves_before + len(self.game.actions)

    @property
    def hands_finished(self) -> int:
        """Hands of the match that are over."""
        return self.game.number + self.game.over

    @property
    def over(self) -> bool:
        """Whether nothing more comes: the match, or the single hand, is over."""
        return self.game.over and self.game.match_over

    # -- playing

    def play(self, action: int) -> None:
        """The person's action; what is not allowed raises a sentence and changes nothing."""
        if self.settings.watched:
            raise IllegalAction(say("refused.watched"))
        if self.turn == OPPONENT:
            raise IllegalAction(say("refused.not_your_turn", name=self.settings.opponent))
        if self.turn is None:
            raise IllegalAction(say("refused.hand_over"))
        if 0 <= action < ACTIONS_IN_ALL and action not in self.game.legal():
            raise IllegalAction(refusal_reason(self.view(PERSON), action))
        self._play(action)

    def decide(self) -> int:
        """What the agent to move would play; nothing is played, and the view tells it all."""
        player = self._player_to_move()
        return int(player.choose(self.view(self.turn or 0), self.game.number))

    def answer(self) -> int:
        """Let the agent to move decide and play one action."""
        action = self.decide()
        self._play(action)
        return action

    def play_decided(self, action: int) -> None:
        """Play what `decide` told for the agent to move."""
        self._player_to_move()
        self._play(action)

    def next_hand(self) -> None:
        """Deal the next hand of the match."""
        if not self.game.over:
            raise IllegalAction(say("refused.not_over"))
        if self.over:
            raise IllegalAction(say("refused.no_deal"))
        self._moves_before = self.moves
        self.helped = False
        self.game.deal_next()
        self._begin()

    def claim(self, tricks: int) -> list[int]:
        """Claim so many of the tricks that are left, of hands that lie open.

        The claim is checked exactly; where it holds, the rest is played as well as can be by
        both, and the actions are returned.
        """
        view = self.view(PERSON)
        if self.settings.watched or not view.to_move:
            raise IllegalAction(say("refused.no_claim"))
        try:
            sure = value_of(view)
        except NotOpenError:
            raise IllegalAction(say("refused.claim_unseen")) from None
        if (tricks < sure) if view.low else (tricks > sure):
            left, name = len(view.hand), self.settings.opponent
            raise IllegalAction(say("refused.claim", tricks=tricks, n=left, name=name))
        played: list[int] = []
        while self.turn is not None:
            played.append(int(best_card_of(self.view(self.turn))))
            self._play(played[-1])
        return played

    def take_back(self) -> None:
        """Go back to the person's last decision of this hand, which is then not rated."""
        if self.settings.watched or self.game.over:
            raise IllegalAction(say("refused.take_back"))
        game = self.game.clone()
        while game.actions:
            game.undo()
            if game.turn == PERSON:
                break
        else:
            raise IllegalAction(say("refused.no_card"))
        self._take_up(changed(self._state(), actions=list(map(int, game.actions)), helped=True))

    def _player_to_move(self) -> Player:
        player = self._players[self.turn] if self.turn is not None else None
        if player is None:
            raise IllegalAction(say("refused.no_agent"))
        return player

    def _play(self, action: int) -> None:
        self.game.play(action)
        if self.game.over:
            self.records.append(self._record())
            self._note_result()

    def _note_result(self) -> None:
        game = self.game
        self.results.append(HandResult(game.counting_tricks, game.pays, game.low))

    def _record(self) -> GameRecord:
        told: dict[str, Any] = {"players": list(self.settings.names)}
        if self.helped:
            told["helped"] = True
        record = record_of(self.game, told)
        # Card by card: the seed would tell the hands of the match that are still to come.
        deal = tuple(self.game.cards_dealt)
        return replace(record, seed=None, number=0, deal=deal)

    def _begin(self) -> None:
        for player in self._players:
            if player is not None and player.agent.keeps_state:
                player.begin()

    # -- keeping

    def state(self) -> dict[str, Any]:
        """All of it as JSON, a `SessionState`."""
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
        )

    def _score_before(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Points and hands won before this hand, which has paid already when it is over."""
        game = self.game
        if self.settings.match is None:
            return (0, 0), (0, 0)
        pays = game.pays if game.over else (0, 0)
        points = (game.points[0] - max(pays[0], 0), game.points[1] - max(pays[1], 0))
        return points, (game.hands_won[0] - (pays[0] > 0), game.hands_won[1] - (pays[1] > 0))

    @staticmethod
    def from_state(told: Mapping[str, Any], make: AgentFactory = default_agent) -> Session:
        """The session that `state` told; what does not fit together raises `SessionError`."""
        state = parse_state(told)
        try:
            session = Session(state.settings, make)
            session._take_up(state)
        except (LookupError, ValueError) as error:
            raise SessionError(f"{say('refused.not_again')}: {error}") from error
        return session

    def _take_up(self, state: SessionState) -> None:
        """Deal the hand under way again and play it as far as it was."""
        settings, before = self.settings, None
        if settings.match is not None:
            before = MatchScore.of(settings.match, state.points, state.hands_won, state.number)
        begun = GameRecord(
            rules=settings.rules,
            dealer=state.dealer,
            tricks=(),
            counting_tricks=(0, 0),
            pays=(0, 0),
            seed=None if settings.deal else settings.seed,
            number=state.number + settings.number,
            deal=settings.deal,
            match=before,
        )
        self.results = state.results
        self.game = begun.start()
        self.game.number = state.number
        self._moves_before = state.moves_before
        self.helped = state.helped
        self._begin()
        for action in state.actions:
            player = None if self.turn is None else self._players[self.turn]
            if player is not None and player.agent.keeps_state:
                self.decide()  # it remembers what it saw, so it is shown the hand again
            self.game.play(action)
        if self.game.over:
            self._note_result()


def winner_of(session: Session) -> int | None:
    """Who won the match, or the single hand; None while it lasts, or for a tie."""
    if not session.over:
        return None
    match, game = session.settings.match, session.game
    if match is None:
        return leading_seat(game.pays)
    return leading_seat(game.points if match.target else game.hands_won)


def score_of(session: Session) -> tuple[int, ...]:
    """How it stands: counting tricks of a single hand, or points or hands of a match."""
    match, game = session.settings.match, session.game
    if match is None:
        return game.counting_tricks
    return game.points if match.target else game.hands_won
