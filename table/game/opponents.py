# pyright: strict
"""What the table offers: the agents that may sit down, and the menu that tells of them.

The page names agents, but only those of this list are ever made: a name from outside
loads no file and imports no module.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from ...agents.base import Agent, CannotPlay
from ...agents.networks.policy import NetworkAgent
from ...agents.registry import agent_names, make_agent
from ...agents.search.base import SearchAgent
from ...common.plugins import Entry
from ...engine.describe import Chapter, chapters
from ...engine.rules import Match, Rules, named_rules
from ..strengths import strengths
from ..text.labels import say
from ..text.words import title_of

_OWN_ROOM = make_agent.__module__.rpartition(".")[0] + "."
_MOST_KEPT = 500


def offered_agents() -> dict[str, Entry]:
    """The registered agents that play by their names alone, but for the person at the terminal."""
    return {
        name: entry
        for name, entry in agent_names().items()
        if name != "human" and not entry.needs_more
    }


class NotAvailable(ValueError):
    """An agent or a rule set that this table does not offer."""


class AgentInfo(Struct):
    """An agent in the menu; `plays` is None where it plays every rule set."""

    name: str
    title: str
    about: str
    kind: str
    plays: list[str] | None
    strength: int | None
    """Its rating on the ladder of classic hands, where it is on it."""


class RulesInfo(Struct):
    """A rule set in the menu."""

    name: str
    title: str
    about: str


class RulesText(Struct):
    """A rule set in words."""

    title: str
    about: str
    text: list[Chapter]


@dataclass(frozen=True)
class Opponent:
    """An agent of the list, and what becomes known of it when it is asked for."""

    name: str
    about: str
    own: bool
    """Whether it comes with this program; others may be slow, and play what they like."""

    @property
    def title(self) -> str:
        """What it is called in the page."""
        return title_of(self.name) if "/" not in self.name else Path(self.name).name

    @cached_property
    def kind(self) -> str:
        """`rule`, `search` or `network`; of others it is not known, so they count as searches."""
        made_by = self._class
        if issubclass(made_by, NetworkAgent):
            return "network"
        return "search" if issubclass(made_by, SearchAgent) or not self.own else "rule"

    @cached_property
    def _class(self) -> type:
        """What it is, without making it where that can be known: some are compiled for it."""
        entry = agent_names().get(self.name.partition(":")[0])
        if entry is not None and isinstance(entry.source, str):
            module, _, name = entry.source.partition(":")
            found = getattr(importlib.import_module(module), name)
            if isinstance(found, type):
                return found
        reason = None
        for rules in named_rules().values():
            try:
                return type(make_agent(self.name, rules))
            except CannotPlay as error:
                reason = reason or error
        raise NotAvailable(
            f"{reason}, and the table in the browser offers the named rule sets alone: play it in "
            f"the terminal, german-whist play {self.name}"
        )

    @property
    def quick(self) -> bool:
        """Whether it answers so fast that nobody has to be told that it thinks."""
        return self.kind != "search"

    @cached_property
    def plays(self) -> list[str] | None:
        """The rule sets that it plays; None for all of them.

        What comes with the package plays all of them, or tells which (`plays`) without being
        made, since some are compiled for it; others have to be tried.
        """
        asked = self._can
        if self.own:
            asked = getattr(self._class, "plays", None)
            if asked is None:
                return None
        found = [name for name, rules in named_rules().items() if asked(rules)]
        return None if len(found) == len(named_rules()) else found

    def _can(self, rules: Rules) -> bool:
        try:
            make_agent(self.name, rules)
        except CannotPlay:
            return False
        return True


class Opponents:
    """The agents of a table, made when they are needed and shared where they can be."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        """`more` are agents of the command line: names with parameters, paths, module:object."""
        self._agents: dict[str, Opponent] = {}
        for entry in offered_agents().values():
            own = isinstance(entry.source, str) and entry.source.startswith(_OWN_ROOM)
            self._agents[entry.name] = Opponent(entry.name, entry.about, own)
        for name in more:
            known = name.partition(":")[0] in self._agents
            self._agents[name] = Opponent(name, say("agents.named"), known)
        self._made: dict[tuple[str, Rules, Match | None], Agent] = {}
        self._lock = threading.Lock()
        for name in more:
            _ = self._agents[name].kind  # what cannot be offered is told now, and not in the page

    def __getitem__(self, name: str) -> Opponent:
        if name not in self._agents:
            raise NotAvailable(
                f"{name!r} does not sit at this table; there are {', '.join(self._agents)}. Others "
                "are named on the command line that opens it"
            )
        return self._agents[name]

    def make(self, name: str, rules: Rules, match: Match | None) -> Agent:
        """The agent of this name for these rules; nothing that is not on the list is loaded."""
        offered = self[name]
        key = (name, rules, match)
        with self._lock:
            if key in self._made:
                return self._made[key]
        agent = make_agent(offered.name, rules, match=match)
        if not agent.keeps_state:
            with self._lock:
                while len(self._made) >= _MOST_KEPT:
                    self._made.pop(next(iter(self._made)))
                self._made[key] = agent
        return agent

    def menu(self) -> tuple[list[RulesInfo], list[AgentInfo]]:
        """Rule sets and agents, as the page lists them."""
        agents = [
            AgentInfo(
                each.name, each.title, each.about, each.kind, each.plays, _strength(each.name)
            )
            for each in self._agents.values()
            if each.plays != []
        ]
        rules = [
            RulesInfo(name, title_of(name), rules.about) for name, rules in named_rules().items()
        ]
        return rules, agents


def _strength(name: str) -> int | None:
    rated = strengths().get(name)
    return None if rated is None else round(rated[0])


def rules_named(name: object) -> Rules:
    """A named rule set, and nothing else: no file is read."""
    if not isinstance(name, str) or name not in named_rules():
        raise NotAvailable(
            f"{name!r} is not a rule set of this table; there are {', '.join(named_rules())}"
        )
    return named_rules()[name]


def rules_text(rules: Rules) -> RulesText:
    """A rule set in words."""
    return RulesText(title_of(rules.name), rules.about, chapters(rules))
