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

from ..common.files import suggest_path
from ..common.plugins import Entry, Registry, error_location, error_text, load_source
from ..common.schema import short_repr
from ..common.suggestions import suggest, type_phrase
from ..common.trust import check_trusted
from ..engine.rules import Match, Rules, RulesLike, as_match, load_rules, name_beside, solved_rules
from .base import EXACT_SOLVER, OWN_POLICY, Agent, CannotPlay, LoadedAgent
from .checkpoints import (
    WEIGHTS,
    find_checkpoint,
    is_checkpoint,
    join_rule_names,
    parse_rules,
    read_card,
    resolve_rules,
)
from .checkpoints.bundled import CHAMPION, EARLIER_CHAMPIONS, rules_of_champion
from .external.signatures import check_takes_views, takes_text, takes_views

Factory = Callable[..., Agent]
ENTRY_POINTS = "german_whist.agents"
_FILE_ENDINGS = (".py", ".jsonl", ".yaml", ".yml", ".onnx", ".pt", ".zip")
_MODULE_AND_OBJECT = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)(?::(.*))?", re.DOTALL)

_NAME_AND_AGENT = re.compile(r"([^=:,/\\]+)=(.+)", re.DOTALL)
_LONGEST_NAME = 40
_LONGEST_PATH = 1000


AGENTS = Registry(ENTRY_POINTS, "agent")


def register_agent(
    name: str, source: str | Factory, about: str = "", usage: str | None = None, endgame: str = ""
) -> None:
    """Register an agent under a name that is not taken.

    `source` is a factory `factory(rules, *parameters, match=None)`, or its import path. `endgame`
    says for lists of agents who plays open endings: `exact solver` or `own policy`.
    """
    AGENTS.add(name, source, about, usage, endgame)


_SWITCHED = (
    f"{OWN_POLICY} if it was trained on endgames, else {EXACT_SOLVER}; endgame=exact and "
    "endgame=network choose"
)
# Name, class or function, description, usage (the name by default), and who plays open endings
# (the solver by default).
_BUILT_IN: tuple[tuple[str, ...], ...] = (
    (
        "random",
        "heuristic.random:RandomAgent",
        "any legal card, all hand long",
        "random",
        OWN_POLICY,
    ),
    ("random-exact", "heuristic.random:RandomExactAgent", "random foreplay, perfect endgame"),
    (
        "threshold",
        "heuristic.threshold:ThresholdAgent",
        "the classic rules of thumb, perfect endgame",
    ),
    (
        "upcard-value",
        "heuristic.upcard_value:UpcardValueAgent",
        "weighs the upcard against the cost of it",
        "upcard-value[:BONUS]",
    ),
    ("counting", "heuristic.counting:CountingAgent", "counts cards, voids and known cards"),
    (
        "flat-mc",
        "search.flat_mc:FlatMcAgent",
        "tries each card in determinizations",
        "flat-mc:64[,voids][,playout=counting] or flat-mc:5ms",
    ),
    (
        "ismcts",
        "search.ismcts:IsmctsAgent",
        "information-set Monte Carlo tree search",
        "ismcts:1000[,voids][,playout=threshold][,exploration=NUMBER][,endgame=search] or "
        "ismcts:5ms",
    ),
    ("easy", "search.levels:Easy", "rules of thumb and a short memory", "easy", OWN_POLICY),
    ("medium", "search.levels:Medium", "a careful player who forgets", "medium", OWN_POLICY),
    ("hard", "search.levels:hard", "search and a perfect memory"),
    (
        "champion",
        "search.champion:Champion",
        "the trained network that comes with the package",
        "champion[:sample]",
    ),
    ("champion-1", "search.champion:FirstChampion", "the first champion, to measure against"),
    (
        "champion-2",
        "search.champion:SecondChampion",
        "the second champion, to measure against",
        "champion-2[:sample]",
    ),
    (
        "thinker",
        "search.thinker:ThinkerAgent",
        "search in determinizations, guided by the champion's networks",
        "thinker:64[,last=TRICKS][,ahead=TRICKS][,prior=WEIGHT][,policy=PATH][,value=PATH]"
        "[,belief=PATH] or thinker:5ms",
    ),
    (
        "responder",
        "search.responder:ResponderAgent",
        "approximate best response to one agent, by search",
        "responder:64,against=AGENT[,by=AGENT][,value=PATH][,ahead=TRICKS]",
    ),
    (
        "nash",
        "tabular.nash:NashAgent",
        "the equilibrium of a small deck, such as 2x4-h2",
        "nash[:PATH]",
    ),
    (
        "network",
        "networks.policy:NetworkAgent",
        "a trained checkpoint, by its path alone as well",
        "network:PATH[,sample][,endgame=exact]",
        _SWITCHED,
    ),
    (
        "onnx",
        "external.policies:OnnxAgent",
        "a policy as an ONNX graph",
        "onnx:PATH[,sample][,layout=trump-first][,endgame=exact]",
        _SWITCHED,
    ),
    (
        "sb3",
        "external.sb3:SB3Agent",
        "a model of Stable-Baselines3, a pickle that you trust",
        "sb3:PATH,trusted[,sample][,layout=trump-first][,algorithm=PPO][,endgame=exact]",
        _SWITCHED,
    ),
)


def _register_built_in(
    name: str, source: str, about: str, usage: str | None = None, endgame: str = EXACT_SOLVER
) -> None:
    register_agent(name, f"{__package__}.{source}", about, usage, endgame)


for _row in _BUILT_IN:
    _register_built_in(*_row)


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


def make_agent(
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
        if agent.rules != rules:
            raise CannotPlay(
                f"{found.text} plays {name_beside(agent.rules, [rules])} and not "
                f"{name_beside(rules, [agent.rules])}"
            )
    agent.name = found.title
    return agent


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
    name, _, parameter_text = text.partition(":")
    entry = AGENTS.get(name)
    if entry is None and is_checkpoint(text.split(",")[0]):
        entry, parameter_text = AGENTS.get("network"), text
    if entry is not None:
        factory, usage = _load(entry.source), entry.usage
    elif not name.endswith(".py") and (match_object := _MODULE_AND_OBJECT.fullmatch(text)):
        module, target, parameter_text = match_object.groups(default="")
        check_trusted(f"{module}:{target}")
        factory, usage = _load(f"{module}:{target}"), None
    else:
        raise ValueError(_unknown_message(text, name, list(agent_names())))
    parameters = [part.strip() for part in parameter_text.split(",")] if parameter_text else []
    return _Found(title, text, factory, parameters, usage)


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
            make_agent(name, rules)  # its error says why


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
    """Make an agent from a name, an `Agent`, its class, or a function.

    A function is one of views and streams, `f(views, rng) -> actions`, or of texts,
    `f(prompt) -> answer`. Further parameters need defaults.

    Of a model of Stable-Baselines3 a copy of the policy plays, which samples its actions, or takes
    those of the largest Q values.
    """
    rules, match = load_rules(rules), as_match(match)
    if isinstance(source, (str, Path)):
        return make_agent(str(source), rules, match=match)
    if isinstance(source, type) and issubclass(source, Agent):
        return source(rules, match=match)
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


def _load(source: object) -> Any:
    factory = load_source(source)
    if not callable(factory) and not isinstance(factory, Agent):
        raise ValueError(f"{source} is {type_phrase(factory)}, which is not an agent")
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
        remedy = "it has to take the rules, its parameters, and match=None"
        return f"{text} is no agent that can be made: {remedy}"
    given = ",".join(parameters)
    if fits_bare and not _fits(make, [""]):
        name = text[: -len(given) - 1] if usage is None else usage
        return f"the parameters {given!r} do not fit {text}: {name} takes none"
    named = f"it is named as {usage}" if usage is not None else "give fewer, or other ones"
    return f"the parameters {given!r} do not fit {text}: {named}"


def _unknown_message(text: str, name: str, known: list[str]) -> str:
    if len(text) > _LONGEST_PATH:
        return f"{short_repr(text)} is no agent's name or path: it is {len(text):,} long"
    if not text.rpartition("=")[2].strip():
        problem = (
            f"{text!r} names no agent: nothing follows its ="
            if text
            else "the name of an agent is empty"
        )
        return f"{problem}; name an agent, as threshold, or the path of a checkpoint"
    path = Path(text.split(",")[0])
    if name.endswith(".py") and os.path.isfile(name):
        target = text.partition(":")[2] or "object"
        return (
            f"{text!r} is not an agent: a file of Python is named as a module, from the folder "
            f"that it is in, as {Path(name).stem}:{target}"
        )
    if path.suffix == ".zip" and os.path.isfile(path):
        return (
            f"{text!r} is not an agent: a model of Stable-Baselines3 is named as "
            f"sb3:{text},trusted, if you trust its author, since its file runs code"
        )
    if text and os.path.isdir(path):
        runs = sorted(str(child) for child in path.iterdir() if is_checkpoint(str(child)))
        if runs:
            return f"{text!r} is not an agent, but a folder of these: {', '.join(runs)}"
    if text and os.path.exists(path):
        return (
            f"{text!r} is not an agent: there is no checkpoint in it; give the path of a "
            ".safetensors file or of a run's folder"
        )
    path_before, _, parameters = text.rpartition(":")
    if path_before and is_checkpoint(path_before):
        return (
            f"{text!r} is not an agent: parameters follow the path of a checkpoint after a comma, "
            f"as in {path_before},{parameters}"
        )
    if "/" in text or os.sep in text or name.endswith(_FILE_ENDINGS):
        return f"{text!r} is not an agent: there is no such file or folder{suggest_path(path)}"
    bare, comma, parameters = text.partition(",")
    several = [part.strip() for part in text.split(",")]
    if comma and all(part in known for part in several):
        return f"{text!r} is not an agent, but several: give them apart, as in {' '.join(several)}"
    if comma and bare in known:
        return f"{text!r} is not an agent: parameters follow a colon, as in {bare}:{parameters}"
    if name.isidentifier() and os.path.isfile(f"{name}.py"):
        return (
            f"{text!r} is not an agent: there is a file {name}.py here, and what is in it is named "
            f"as {name}:Class"
        )
    if "=" in text:
        return f"{text!r} is not an agent: in NAME=AGENT the name is short and has no : , / or \\"
    suggestion = "agents of your own are named as module:object"
    return f"{text!r} is not an agent{suggest(name, sorted(known), more=suggestion)}"


# -- agents with their rules

_DEFAULT_RULES = "classic"


def rules_of_agent(agent: object) -> tuple[Rules, ...] | None:
    """Rule sets that an agent is limited to; None if it plays any, or if this is unknown."""
    if isinstance(agent, Agent):
        return (agent.rules,)
    if not isinstance(agent, (str, Path)):
        return None
    text = parse_agent_name(str(agent))[1]
    name, _, parameters = text.partition(":")
    if name in (CHAMPION, *EARLIER_CHAMPIONS):
        return rules_of_champion(name)
    if name == "nash":
        from .tabular.nash import NashAgent
        from .tabular.strategy import find_strategy

        if not parameters:
            return tuple(filter(NashAgent.plays, solved_rules().values()))
        path = find_strategy(load_rules(_DEFAULT_RULES), parameters)
    elif name == "network":
        path = find_checkpoint(parameters.split(",")[0])
    elif AGENTS.get(name) is None and is_checkpoint(text.split(",")[0]):
        path = find_checkpoint(text.split(",")[0])
    else:
        return None
    return parse_rules(read_card(path).rules, path)


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
    """Load an agent by its name with parameters, or by the path of a checkpoint or run.

    Also takes an `Agent`, its class, or a function of views and random streams. The default of
    `rules` is classic, or the rules of the checkpoint.

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
