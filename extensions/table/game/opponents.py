# pyright: strict
"""The agents and rule sets that the table in the browser offers.

Only agents of this list are ever made: a name from the page loads no file and imports no module.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache

from msgspec import Struct

from german_whist.agents.base import Agent, CannotPlay
from german_whist.agents.checkpoints.bundled import CHAMPION
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.registry import agent_names, load_agent
from german_whist.agents.search.base import SearchAgent
from german_whist.engine.describe import Chapter, chapters
from german_whist.engine.rules import Match, Rules, named_rules

from ..rating import strengths
from ..text.labels import capital, label
from ..text.words import display_name, tell_apart, title_of

_OWN_PACKAGE = __name__.partition(".")[0] + "."
_ONLY_IF_NAMED = ("thinker", "champion-1", "champion-2", "random-exact")
"""Agents for research: `hard` plays as `thinker` does, and others have newer versions."""
_UNRATED = 10_000
"""Where agents without a rating stand among the others: last."""
_CACHE_SIZE = 32
"""Agents that are kept for further tables; some hold networks of megabytes."""
_USUAL = ("easy", "medium", "counting", "champion", "hard")
"""Agents for people to play against; the menu shows these, and those that are named, first."""
_USUAL_RULES = ("classic", "open-stock", "draft", "race-7", "no-trump")
"""Rule sets that the menu shows first; the others stand behind a button."""


class AgentInfo(Struct):
    """An agent in the menu; `plays` is None if it plays every rule set."""

    name: str
    title: str
    about: str
    plays: list[str] | None
    usual: bool
    """Whether it is there for people to play against, or named on the command line."""
    named: bool
    strength: int | None = None
    """Its Elo rating on the ladder of classic hands; None if it is not on it."""


class RulesInfo(Struct):
    """A rule set in the menu; `usual` ones stand first."""

    name: str
    title: str
    about: str
    usual: bool


class RulesText(Struct):
    """The rules as text."""

    title: str
    about: str
    text: list[Chapter]


@dataclass(frozen=True)
class Opponent:
    """An agent of the list; its properties are computed on demand."""

    name: str
    about: str
    bundled: bool
    """Whether it comes with the package; others may be slow, or play some rule sets only."""
    named: bool = False
    """Whether the command line names it."""

    @property
    def title(self) -> str:
        return display_name(self.name)

    @property
    def is_network(self) -> bool:
        return issubclass(self._class, NetworkAgent)

    @cached_property
    def _class(self) -> type[object]:
        """Its class, without making the agent where possible: some compile code for it."""
        entry = agent_names().get(self.name.partition(":")[0])
        if entry is not None and isinstance(entry.source, str):
            module, _, name = entry.source.partition(":")
            factory = getattr(importlib.import_module(module), name)
            if isinstance(factory, type):
                return factory
            if self.bundled:  # a function, which makes a search in most rule sets
                return SearchAgent
        reason = None
        for rules in named_rules().values():
            try:
                return type(load_agent(self.name, rules))
            except CannotPlay as error:
                reason = reason or error
        raise ValueError(
            f"{reason}, and the table in the browser offers the named rule sets alone: play it in "
            f"the terminal, german-whist play {self.name}"
        )

    @cached_property
    def quick(self) -> bool:
        """Whether it answers within the request, without a notice that it is thinking.

        An agent of others may search.
        """
        return self.is_network or (self.bundled and not issubclass(self._class, SearchAgent))

    @cached_property
    def plays(self) -> list[str] | None:
        """The named rule sets that it plays; None for all of them."""
        can_play = self._can_play
        if self.bundled:  # these declare their rule sets; others have to be tried
            can_play = getattr(self._class, "plays", None)
            if can_play is None:
                return None
        names = [name for name, rules in named_rules().items() if can_play(rules)]
        return None if len(names) == len(named_rules()) else names

    def _can_play(self, rules: Rules) -> bool:
        try:
            load_agent(self.name, rules)
        except CannotPlay:
            return False
        return True


class Opponents:
    """The agents of a table, made on demand and shared unless they keep state or transcripts."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        """`extra`: agents of the command line, by name with parameters, path or module:object."""
        self._opponents: dict[str, Opponent] = {}
        for name, entry in agent_names().items():
            if name not in ("human", *_ONLY_IF_NAMED) and not entry.needs_more:
                source = entry.source
                bundled = isinstance(source, str) and source.startswith(_OWN_PACKAGE)
                try:
                    about = entry.described().about
                except (ValueError, ImportError) as error:  # of an installed package that is broken
                    print(f"german-whist: {error}", file=sys.stderr)
                    continue
                self._opponents[name] = Opponent(name, capital(about), bundled)
        extra = tuple(extra)
        for name in extra:
            base = name.partition(":")[0]
            listed = self._opponents.get(base)
            bundled = base in _ONLY_IF_NAMED if listed is None else listed.bundled
            self._opponents[name] = Opponent(name, label("agents.named"), bundled, named=True)
        self._shared = lru_cache(_CACHE_SIZE)(load_agent)
        self._named = extra
        tell_apart(extra)
        for name in extra:
            _ = self._opponents[name].quick  # raises at the start, not on the page

    def __getitem__(self, name: str) -> Opponent:
        if name not in self._opponents:
            raise ValueError(
                f"{name!r} does not sit at this table; there are {', '.join(self._opponents)}. "
                "Others are named on the command line that opens it"
            )
        return self._opponents[name]

    def make(self, name: str, rules: Rules, match: Match | None) -> Agent:
        """The agent of this name for these rules; other names are refused."""
        shared = self._shared(self[name].name, rules, match=match)
        own = shared.keeps_state or shared.transcript is not None
        return load_agent(name, rules, match=match) if own else shared

    def policies(self, rules: Rules) -> dict[str, NetworkAgent]:
        """The checkpoints of the command line that play these rules, or else the champion."""
        named = [name for name in self._named if self[name].is_network]
        agents: dict[str, NetworkAgent] = {}
        for name in named or [CHAMPION]:
            with suppress(CannotPlay):
                agent = self._shared(name, rules, match=None)
                assert isinstance(agent, NetworkAgent)
                agents[display_name(name)] = agent
        return agents

    def menu(self) -> tuple[list[RulesInfo], list[AgentInfo]]:
        """Rule sets, and agents: those of the command line, then from weak to strong."""
        agents = [
            AgentInfo(
                name=opponent.name,
                title=opponent.title,
                about=opponent.about,
                plays=opponent.plays,
                usual=opponent.named or opponent.name in _USUAL,
                named=opponent.named,
                strength=_strength(opponent.name),
            )
            for opponent in self._opponents.values()
            if opponent.plays != []
        ]
        agents.sort(
            key=lambda agent: (
                (0, self._named.index(agent.name))
                if agent.named
                else (1, agent.strength or _UNRATED)
            )
        )
        usual = [rules_named(name) for name in _USUAL_RULES]
        others = [rules for rules in named_rules().values() if rules not in usual]
        return [
            RulesInfo(rules.name, title_of(rules.name), rules.about, rules in usual)
            for rules in (*usual, *others)
        ], agents


def _strength(name: str) -> int | None:
    return round(strengths()[name][0]) if name in strengths() else None


def rules_named(name: str) -> Rules:
    """A named rule set; no file is read."""
    if name not in named_rules():
        raise ValueError(
            f"{name!r} is not a rule set of this table; there are {', '.join(named_rules())}"
        )
    return named_rules()[name]


def rules_text(rules: Rules) -> RulesText:
    """The rules as text."""
    return RulesText(title_of(rules.name), rules.about, chapters(rules))
