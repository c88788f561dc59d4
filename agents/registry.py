"""Agents by name: `random`, `value:13`, `flat-mc:64,voids`, or `package.module:object`.

What follows the first colon are parameters, parted by commas. Other packages add
names through the entry-point group `german_whist.agents`.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ..engine.rules import Match, Rules, load_rules
from .base import Agent, CallableAgent, CannotPlay
from .checkpoint import is_checkpoint

Factory = Callable[..., Agent]
ENTRY_POINTS = "german_whist.agents"


@dataclass(frozen=True)
class Entry:
    """A name that agents are made by."""

    name: str
    source: str | Factory
    """A factory `factory(rules, *parameters, match=None)`, or where to import one from."""
    about: str
    usage: str
    """The name with its parameters, as people write it."""


_entries: dict[str, Entry] = {}


def register_agent(
    name: str, source: str | Factory, about: str = "", usage: str | None = None
) -> None:
    """Make `name` a name of agents; a name that is taken is refused."""
    if name in _entries:
        raise ValueError(f"the agent name {name!r} is taken")
    _entries[name] = Entry(name, source, about, usage or name)


def _own(name: str, module: str, factory: str, about: str, usage: str | None = None) -> None:
    register_agent(name, f"{__package__}.{module}:{factory}", about, usage)


_own("random", "random", "RandomAgent", "any legal card, all hand long")
_own("random-exact", "random", "RandomExactAgent", "random foreplay, perfect endgame")
_own("threshold", "threshold", "ThresholdAgent", "the classic rules of thumb, perfect endgame")
_own("value", "value", "ValueAgent", "weighs the upcard against the cost of it", "value:13")
_own("counting", "counting", "CountingAgent", "counts cards, voids and known cards")
_own(
    *("flat-mc", "flat_mc", "FlatMcAgent"),
    "tries each card in sampled worlds",
    "flat-mc:64[,voids] or flat-mc:5ms",
)
_own(
    *("ismcts", "ismcts", "IsmctsAgent"),
    "searches a tree of what both may know",
    "ismcts:2000 or ismcts:5ms",
)
_own("easy", "levels", "Easy", "rules of thumb and a short memory")
_own("medium", "levels", "Medium", "a careful player who forgets")
_own("hard", "levels", "Hard", "search and a perfect memory")
_own("human", "human", "HumanAgent", "you, at the terminal")
_own(
    *("network", "network", "NetworkAgent", "a trained checkpoint, by its path alone as well"),
    usage="network:PATH[,sample][,endgame=network]",
)


def agent_names() -> dict[str, Entry]:
    """Every name, those of other packages included."""
    found = dict(_entries)
    for each in entry_points(group=ENTRY_POINTS):
        found.setdefault(each.name, Entry(each.name, each.value, f"from {each.value}", each.name))
    return found


def make_agent(
    text: str,
    rules: str | Path | Rules | Mapping[str, Any] = "classic",
    *,
    match: Match | None = None,
) -> Agent:
    """The agent with this name and these parameters, ready to play these rules."""
    rules = load_rules(rules)
    name, _, rest = text.partition(":")
    known = agent_names()
    if name not in known and is_checkpoint(text.split(",")[0]):
        name, rest = "network", text
    if name in known:
        factory = _load(known[name].source)
    elif (":" in text and "." in name) or _is_module(name, rest):
        target, _, rest = rest.partition(":")
        factory = _load(f"{name}:{target}")
    else:
        raise ValueError(_unknown(text, name, list(known)))
    parameters = [part.strip() for part in rest.split(",")] if rest else []
    agent = _made(factory, text, rules, parameters, match)
    agent.name = text
    return agent


def _is_module(name: str, rest: str) -> bool:
    if not rest or not name.isidentifier():
        return False
    return importlib.util.find_spec(name) is not None


def _load(source: str | Factory) -> Factory:
    if not isinstance(source, str):
        return source
    module, _, name = source.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ValueError(f"{source}: there is no module {error.name}") from None
    except AttributeError:
        raise ValueError(f"{source}: {module} has no {name!r}") from None
    if not callable(found) and not isinstance(found, Agent):
        raise ValueError(f"{source} is a {type(found).__name__}, which is not an agent")
    return found


def _made(
    factory: Factory, text: str, rules: Rules, parameters: list[str], match: Match | None
) -> Agent:
    if isinstance(factory, type) and issubclass(factory, Agent):
        made: object = _called(factory, text, rules, parameters, match)
    elif isinstance(factory, Agent):
        made = factory
    elif getattr(factory, "__code__", None) is not None and _takes_views(factory):
        made = CallableAgent(factory, rules, match=match)
    else:
        made = _called(factory, text, rules, parameters, match)
    if not isinstance(made, Agent):
        raise ValueError(f"{text} makes a {type(made).__name__}, which is not an Agent")
    if made.rules != rules:
        raise CannotPlay(f"{text} plays {made.rules.name} and not {rules.name}")
    return made


def _takes_views(function: Factory) -> bool:
    code = function.__code__  # type: ignore[attr-defined]
    return code.co_varnames[: code.co_argcount] == ("views", "rng")


def _called(
    factory: Factory, text: str, rules: Rules, parameters: list[str], match: Match | None
) -> Agent:
    try:
        return factory(rules, *parameters, match=match)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise ValueError(f"{text}: the parameters do not fit this agent ({error})") from error


def _unknown(text: str, name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if close:
        near = "did you mean " + " or ".join(repr(each) for each in close) + "?"
    else:
        near = "there are " + ", ".join(sorted(known))
    return f"{text!r} is not an agent; {near} Agents of your own are named as module:object"
