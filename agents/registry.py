"""Registry of agents: `random`, `upcard-value:9`, `flat-mc:64,voids`, or `package.module:object`.

Parameters follow the first colon, separated by commas. A name of one's own stands before a `=`:
`mine=runs/quick-1`. Other packages add agents through the entry-point group
`german_whist.agents`.
"""

from __future__ import annotations

import copy
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..common.plugins import Entry, Registry, error_location, error_text
from ..common.provenance import code_sha256
from ..common.suggestions import type_phrase
from ..common.trust import check_trusted
from ..engine.rules import Match, Rules, RulesLike, as_match, load_rules, name_beside
from .base import EXACT_SOLVER, OWN_POLICY, Agent, CannotPlay, LoadedAgent
from .checkpoints import (
    WEIGHTS,
    is_checkpoint,
    join_rule_names,
    resolve_rules,
)
from .checkpoints.schema import CheckpointCard
from .external.signatures import check_takes_views, takes_text, takes_views
from .unknown_agent import unknown_agent

Factory = Callable[..., Agent]
ENTRY_POINTS = "german_whist.agents"
_MODULE_AND_OBJECT = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)(?::(.*))?", re.DOTALL)

_NAME_AND_AGENT = re.compile(r"([^=:,/\\]+)=(.+)", re.DOTALL)
_LONGEST_NAME = 40


AGENTS = Registry(ENTRY_POINTS, "agent")


def register_agent(
    name: str, source: str | Factory, about: str = "", usage: str | None = None, endgame: str = ""
) -> None:
    """Register an agent under a name of its own, so that every command takes the name.

    - `name`: the name, which must not be taken.
    - `source`: a class or function `factory(rules, *parameters, match=None)`, or its import path.
    - `about`: a line for lists of agents.
    - `usage`: how its parameters are written, such as `name:N`. `None` (default): the name alone.
    - `endgame`: who plays open endgames, for lists of agents: `exact solver` or `own policy`.
    """
    AGENTS.add(name, source, about, usage, endgame)


_SWITCHED = (
    f"{OWN_POLICY} if it was trained on endgames, else {EXACT_SOLVER}; endgame=exact and "
    "endgame=network choose"
)


def _built_in(
    name: str, source: str, *, about: str, usage: str | None = None, endgame: str = EXACT_SOLVER
) -> None:
    register_agent(name, f"{__package__}.{source}", about, usage, endgame)


_built_in(
    "random",
    "heuristic.random:RandomAgent",
    about="any legal card, all hand long",
    endgame=OWN_POLICY,
)
_built_in(
    "random-exact",
    "heuristic.random:RandomExactAgent",
    about="random foreplay, perfect endgame",
)
_built_in(
    "threshold",
    "heuristic.threshold:ThresholdAgent",
    about="the classic rules of thumb, perfect endgame",
)
_built_in(
    "upcard-value",
    "heuristic.upcard_value:UpcardValueAgent",
    about="weighs the upcard against the cost of it",
    usage="upcard-value[:BONUS]",
)
_built_in(
    "counting",
    "heuristic.counting:CountingAgent",
    about="counts cards, voids and known cards",
)
_built_in(
    "flat-mc",
    "search.flat_mc:FlatMcAgent",
    about="tries each card in determinizations",
    usage="flat-mc:64[,voids][,playout=counting] or flat-mc:5ms",
)
_built_in(
    "ismcts",
    "search.ismcts:IsmctsAgent",
    about="information-set Monte Carlo tree search",
    usage="ismcts:1000[,voids][,playout=threshold][,exploration=NUMBER][,endgame=search] or "
    "ismcts:5ms",
)
_built_in(
    "champion",
    "search.champion:Champion",
    about="the trained network that comes with the package",
    usage="champion[:sample]",
)
_built_in(
    "champion-1",
    "search.champion:FirstChampion",
    about="the first champion, to measure against",
)
_built_in(
    "champion-2",
    "search.champion:SecondChampion",
    about="the second champion, to measure against",
    usage="champion-2[:sample]",
)
_built_in(
    "thinker",
    "search.thinker:ThinkerAgent",
    about="search in determinizations, guided by the champion's networks",
    usage="thinker:64[,last=TRICKS][,ahead=TRICKS][,prior=WEIGHT][,policy=PATH][,value=PATH]"
    "[,belief=PATH] or thinker:5ms",
)
_built_in(
    "responder",
    "search.responder:ResponderAgent",
    about="approximate best response to one agent, by search",
    usage="responder:64,against=AGENT[,by=AGENT][,value=PATH][,ahead=TRICKS]",
)
_built_in(
    "nash",
    "tabular.nash:NashAgent",
    about="the equilibrium of a small deck, such as 2x4-h2",
    usage="nash[:PATH]",
)
_built_in(
    "network",
    "networks.policy:NetworkAgent",
    about="a trained checkpoint, by its path alone as well",
    usage="network:PATH[,sample][,endgame=exact]",
    endgame=_SWITCHED,
)
_built_in(
    "onnx",
    "external.policies:OnnxAgent",
    about="a policy as an ONNX graph",
    usage="onnx:PATH[,sample][,suit_order=trump-first][,endgame=exact]",
    endgame=_SWITCHED,
)
_built_in(
    "sb3",
    "external.sb3:SB3Agent",
    about="a model of Stable-Baselines3, a pickle that you trust",
    usage="sb3:PATH,trusted[,sample][,suit_order=trump-first][,algorithm=PPO][,endgame=exact]",
    endgame=_SWITCHED,
)


def agent_names() -> dict[str, Entry]:
    """All registered agents by name, those of other packages included."""
    return AGENTS.entries()


def parse_agent_name(text: str) -> tuple[str, str]:
    """Display name and agent of `NAME=AGENT`; both are the text if there is no name."""
    match = _NAME_AND_AGENT.fullmatch(text)
    path = text.split(",")[0]
    if match is None or os.path.exists(path) or os.path.exists(path + WEIGHTS):
        return text, text  # a file may be called like that too
    name, agent = match.groups()
    if not name.isprintable() or name != name.strip() or len(name) > _LONGEST_NAME:
        raise ValueError(
            f"{name!r} is no name for an agent: give one of at most {_LONGEST_NAME} characters "
            "that can be printed, without blanks around it"
        )
    if name in agent_names():
        raise ValueError(f"{text}: {name} is another agent's name: choose one of your own")
    return name, agent


def _named_agent(
    text: str,
    rules: RulesLike = "classic",
    *,
    match: Match | int | None = None,
) -> Agent:
    """Make an agent by its name with parameters."""
    rules, match = load_rules(rules), as_match(match)
    found = _find(text)
    agent: Agent
    if isinstance(found.factory, Agent):
        _check_made_for(found.factory, found.text, rules, match)
        agent = _copy(found.factory, found.text)
    elif found.is_policy:
        agent = _function_agent(found.factory, rules, found.parameters, match)
    else:
        agent = _call_factory(found, rules, match)
        _check_plays(agent, found.text, rules)
    agent.name = found.title
    return agent


def _check_plays(agent: Agent, text: str, rules: Rules) -> None:
    """Refuse an agent that was made for other rules than it was asked for."""
    if getattr(agent, "rules", None) is None:
        raise CannotPlay(
            f"{text} has no rules: call super().__init__(rules, match=match) in its __init__"
        )
    if agent.rules != rules:
        raise CannotPlay(
            f"{text} plays {name_beside(agent.rules, [rules])} and not "
            f"{name_beside(rules, [agent.rules])}"
        )


@dataclass(frozen=True)
class _Found:
    """What a name stands for: an agent, or what makes one with these parameters."""

    title: str
    text: str
    """The name without a title."""
    factory: Any
    parameters: list[str]
    usage: str | None
    """How it is named, if it is registered."""

    @property
    def is_policy(self) -> bool:
        return not isinstance(self.factory, type) and _is_policy(self.factory)


def _find(text: str) -> _Found:
    title, text = parse_agent_name(text)
    entry, parameter_text = _registered(text)
    name = text.partition(":")[0]
    if entry is not None:
        factory, usage = _load(entry), entry.usage
    elif source := _code_in(text):
        parameter_text = text[len(source) + 1 :]
        check_trusted(source)
        factory, usage = _load(Entry(text, source, "", text)), None
    else:
        raise ValueError(unknown_agent(text, name, list(agent_names())))
    return _Found(title, text, factory, _split(parameter_text), usage)


def code_of_agents(agents: Iterable[Agent], modules: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the code of agents that are not of this package, by module; beside `modules`.

    Also of the classes of networks that checkpoints name, by class.
    """
    agents = [*agents]
    makers = [getattr(agent, "function", type(agent)) for agent in agents]
    named = {*modules, *(getattr(maker, "__module__", "") for maker in makers)}
    own = __name__.partition(".")[0]
    foreign = {name for name in named if name.partition(".")[0] != own}
    digests = {name: code_sha256(name) for name in sorted(foreign)}
    cards = [getattr(agent, "card", None) for agent in agents]
    networks = [card.network.module for card in cards if isinstance(card, CheckpointCard)]
    for name in sorted({*networks} - {""}):
        from .networks.custom_network import code_of_class  # loads torch

        digests[name] = code_of_class(name)
    return {name: digest for name, digest in digests.items() if digest}


def named_code(text: str) -> str:
    """The `module:object` that an agent's name stands for; empty if it is registered, or a file."""
    return _code_in(parse_agent_name(text)[1])


def _code_in(text: str) -> str:
    found = _MODULE_AND_OBJECT.fullmatch(text)
    if found is None or _registered(text)[0] is not None or text.partition(":")[0].endswith(".py"):
        return ""
    return f"{found[1]}:{found[2]}"


def _registered(text: str) -> tuple[Entry | None, str]:
    """The registered agent that a text names, and its parameters: a path names a network."""
    name, _, parameters = text.partition(":")
    entry = AGENTS.get(name)
    if entry is None and is_checkpoint(text.split(",")[0]):
        return AGENTS.get("network"), text
    return entry, parameters


def _split(parameters: str) -> list[str]:
    return [part.strip() for part in parameters.split(",")] if parameters else []


def check_agents(agents: Iterable[object], rules: Rules) -> None:
    """Refuse names of no agents, and agents that do not play the rules, before any is made.

    An agent compiles code when it is made, for nothing if another of the list is refused.
    """
    named = [str(agent) for agent in agents if isinstance(agent, (str, Path))]
    check_agent_names(named)
    for name in named:
        found, listed = _find(name), rules_of_agent(name)
        plays = getattr(found.factory, "plays", None) if found.usage is not None else None
        unlisted = listed is not None and not any(map(rules.same_game, listed))
        if unlisted or (plays is not None and not plays(rules)):
            _named_agent(name, rules)  # its error says why


def is_own_code(name: str) -> bool:
    """Whether an agent is made by code of this package alone, without that of its parameters."""
    found = _find(name)
    module = str(getattr(found.factory, "__module__", ""))
    own = module.startswith(__name__.partition(".")[0] + ".")
    foreign = ":" in "".join(found.parameters)
    return own and not module.startswith(f"{__package__}.external.") and not foreign


def check_agent_names(names: Iterable[str]) -> None:
    """Refuse names of no agents; nothing is compiled for those of others."""
    for name in names:
        _find(name)


def as_agent(
    source: object,
    rules: RulesLike = "classic",
    *,
    match: Match | int | None = None,
) -> Agent:
    """Make an agent that plays some rules, for evaluations and environments.

    - `source`: a name, the path of a checkpoint, an `Agent`, its class, or a function.
    - `rules`: the rule set, `"classic"` by default.
    - `match`: the match that is played; `None` (default): single hands.

    A function is one of views and streams, `f(views, rng) -> actions`, or of texts,
    `f(prompt) -> answer`. Further parameters need defaults.

    Of a model of Stable-Baselines3 a copy of the policy plays, which samples its actions, or takes
    those of the largest Q values.
    """
    rules, match = load_rules(rules), as_match(match)
    if isinstance(source, (str, Path)):
        return _named_agent(str(source), rules, match=match)
    if isinstance(source, type) and issubclass(source, Agent):
        agent = source(rules, match=match)
        _check_plays(agent, source.__name__, rules)
        return agent
    if isinstance(source, Agent):
        _check_made_for(source, source.name, rules, match)
        return source
    if callable(source):
        return _function_agent(source, rules, [], match)
    sb3 = sys.modules.get("stable_baselines3.common.base_class")
    if sb3 is not None and isinstance(source, sb3.BaseAlgorithm):
        from .external.sb3 import SB3Agent

        option_words = () if hasattr(getattr(source, "policy", None), "q_net") else ("sample",)
        model: Any = source
        return SB3Agent(rules, model, *option_words, match=match)
    raise TypeError(
        f"{source!r} is {type_phrase(source)}: an agent is given by name, as an Agent, as a "
        "function of views and random streams, or as a model of Stable-Baselines3"
    )


def _check_made_for(agent: Agent, name: str, rules: Rules, match: Match | None) -> None:
    """Refuse an agent object that was made for other rules, or for another match."""
    if agent.rules != rules:
        raise CannotPlay(
            f"{name} was made for the rules {name_beside(agent.rules, [rules])}, and "
            f"{name_beside(rules, [agent.rules])} are played here: make it anew for these"
        )
    if agent.match != match:
        made, played = (
            "single hands" if each is None else f"a match ({each})" for each in (agent.match, match)
        )
        raise CannotPlay(
            f"{name} was made for {made}, and {played} is played here: make it anew, with "
            f"match={match!r}"
        )


def _load(entry: Entry) -> Any:
    factory = entry.load()
    if not callable(factory) and not isinstance(factory, Agent):
        raise ValueError(f"{entry.source} is {type_phrase(factory)}, which is not an agent")
    return factory


def _function_agent(
    function: Callable[..., Any], rules: Rules, option_words: list[str], match: Match | None
) -> Agent:
    # These load what most agents do without.
    from .external.policies import CallableAgent
    from .external.text import TextAgent

    if takes_text(function):
        return TextAgent(function, rules, *option_words, match=match)
    check_takes_views(function)
    return CallableAgent(function, rules, *option_words, match=match)


def _copy(agent: Agent, text: str) -> Agent:
    """Copy of an agent that a module holds, for a name and a memory of its own."""
    if not agent.keeps_state:
        return copy.copy(agent)
    try:
        return copy.deepcopy(agent)
    except Exception as error:
        raise ValueError(
            f"{text} keeps state and cannot be copied ({error_text(error)}): name its class, or a "
            "function that makes it"
        ) from error


def _is_policy(function: Factory) -> bool:
    """Whether it is a function of views and streams, or of a text, and makes no agent."""
    return takes_views(function) or takes_text(function)


def _call_factory(found: _Found, rules: Rules, match: Match | None) -> Agent:
    """Make an agent, with a sentence for parameters that do not fit and for other objects."""
    make: partial[Agent] = partial(found.factory, rules, match=match)
    parameters, text, usage = found.parameters, found.text, found.usage
    if not _fits(make, parameters):
        raise ValueError(_misfit(make, parameters, text, usage))
    try:
        agent: object = make(*parameters)
    except ValueError:
        raise
    except (Exception, SystemExit) as error:
        if usage is not None:
            raise
        where = error_location(error)
        raise ValueError(f"{text} is no agent: {error_text(error)} ({where})") from error
    if not isinstance(agent, Agent):
        raise ValueError(
            f"{text} makes {type_phrase(agent)}, which is not an Agent: make its class a "
            "subclass of german_whist.agents.Agent"
        )
    return agent


def _fits(make: partial[Agent], parameters: list[str]) -> bool:
    try:
        inspect.signature(make.func).bind(*make.args, *parameters, **make.keywords)
    except ValueError:  # something compiled, which tells only when it is called
        return True
    except TypeError:
        return False
    return True


def _misfit(make: partial[Agent], parameters: list[str], text: str, usage: str | None) -> str:
    fits_bare = _fits(make, [])
    if not parameters or (usage is None and not fits_bare):
        remedy = (
            "it has to take the rules, its parameters, and match=None, or be a function of views "
            "and rng, by these names"
        )
        return f"{text} is no agent that can be made: {remedy}"
    given = ",".join(parameters)
    if fits_bare and not _fits(make, [""]):
        name = text[: -len(given) - 1] if usage is None else usage
        return f"the parameters {given!r} do not fit {text}: {name} takes none"
    named = f"it is named as {usage}" if usage is not None else "give fewer, or other ones"
    return f"the parameters {given!r} do not fit {text}: {named}"


# -- agents with their rules

_DEFAULT_RULES = "classic"


def rules_of_agent(agent: object) -> tuple[Rules, ...] | None:
    """Rule sets that an agent is limited to; None if it plays any, or if this is unknown."""
    if isinstance(agent, Agent):
        return (agent.rules,)
    if not isinstance(agent, (str, Path)):
        return None
    entry, parameters = _registered(parse_agent_name(str(agent))[1])
    rules_played = None if entry is None else getattr(_load(entry), "rules_played", None)
    return None if rules_played is None else rules_played(*_split(parameters))


def common_rules(agents: Iterable[object], rules: RulesLike | None = None) -> Rules:
    """The given rules, or else the first rule set that all agents play, classic preferred."""
    if rules is not None:
        return resolve_rules(rules)
    bound = [(_agent_name(agent), listed) for agent in agents if (listed := rules_of_agent(agent))]
    first_listed = bound[0][1] if bound else ()
    for candidate in (load_rules(_DEFAULT_RULES), *first_listed):
        if all(any(map(candidate.same_game, listed)) for _, listed in bound):
            return candidate
    every_set = [rules for _, listed in bound for rules in listed]
    played = "; ".join(
        dict.fromkeys(
            f"{title} plays {join_rule_names(listed, every_set)}" for title, listed in bound
        )
    )
    raise CannotPlay(f"there are no rules that all of these play: {played}")


def load_agent(
    source: object, rules: RulesLike | None = None, *, match: Match | int | None = None
) -> LoadedAgent:
    """Load an agent, to play with it in a program of your own.

    Returns an `Agent` with `act(view)`, which chooses an action. Some agents also have
    `probabilities(view)` and `value(view)`. Each of these methods takes one `View`, a list of
    views, or an array of views. With an array, `act` also needs an array of random streams.

    - `source`: a name such as `"champion"` or `"flat-mc:64"`, the path of a checkpoint or run,
      `"module:Class"`, an `Agent`, its class, or a function of views and random streams.
    - `rules`: the rule set. `None` (default): that of the checkpoint, otherwise `"classic"`.
    - `match`: the match that is played; `None` (default): single hands.

    >>> from german_whist import Game
    >>> agent = load_agent("champion")
    >>> view = Game(seed=1).view()
    >>> card = agent.act(view)
    >>> probabilities, value = agent.probabilities(view), agent.value(view)
    """
    if match is None and isinstance(source, Agent):
        match = source.match
    agent: Any = as_agent(source, common_rules([source], rules), match=match)
    return agent


def _agent_name(agent: object) -> str:
    return agent.name if isinstance(agent, Agent) else parse_agent_name(str(agent))[0]
