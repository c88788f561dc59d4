"""Protocols: frozen suites of opponents, deals and decks; their results are leaderboard entries.

The seed of a protocol is public and is also the key of all other random numbers: the command of an
entry gives the same results again, and any of its deals can be replayed alone. Public deals can be
learnt by heart. An entry therefore gets results on fresh deals too, which follow from a hash of
what was submitted and of a value that nobody knew then.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ..common.executors import Executor
from ..common.typing import Array
from ..engine.dtypes import SEATS
from ..engine.rules import load_rules
from .arena_config import ArenaConfig
from .chunk_player import Chunk, ChunkPlayer, PlayConfig, Task, half_worker
from .exploitability.exact import agent_on_deck, measure_exploitability
from .results import AgentDetails, Result, ms_a_move
from .statistics import Estimate, mean_estimate, win_rate_error, win_rate_estimate
from .tournament import Arena

_FORMAT = "german-whist entry"
SAMPLE = 4
"""Number of first deals whose game records an entry's digest covers."""
_RECORDED_NAMES = {"champion-2": "champion", "thinker:64,policy=champion-2": "thinker:64"}
"""Names in the game records of agents that had another name when v1 was published.

`champion` means the newest network of the package, `champion-2` always the same one. Entries hold
the SHA-256 of all networks of the opponents, those of a search among them.
"""


LEARNT = 4.0
"""Standard errors by which public deals are won more often than fresh ones if they were learnt.

By chance once in 30,000 entries.
"""


class Deals(NamedTuple):
    """Seed of the deals, and key of all other random numbers in hexadecimal."""

    seed: int
    key: str


@dataclass(frozen=True)
class Protocol:
    """A frozen suite. Another value of any field makes results incomparable: a new protocol."""

    name: str
    seed: int
    """Seed of the deals; in 32 digits the key of all other random numbers."""
    hands: int
    """Hands against each opponent, on the same deals, each played twice."""
    opponents: tuple[str, ...]
    decks: tuple[str, ...]
    """Small decks on which exploitability is computed."""
    rules: str = "classic"

    @property
    def key(self) -> str:
        return f"{self.seed:032}"

    @property
    def public_deals(self) -> Deals:
        return Deals(self.seed, self.key)


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "v1",
            seed=36_101_894,
            hands=2_000,
            opponents=(
                "threshold",
                "counting",
                "flat-mc:64",
                "champion-1",
                "champion-2",
                "thinker:64,policy=champion-2",
            ),
            decks=("2x4-h2", "2x5-h3"),
        ),
    )
}


@dataclass(frozen=True)
class DeckResult:
    """Exact exploitability on a small deck, or the reason why there is none."""

    exploitability: float | None
    reason: str = ""
    """Why there is none, or which claim of the agent was refuted."""

    def __str__(self) -> str:
        if self.exploitability is None:
            return f"not computed: {self.reason}"
        note = f"; {self.reason}" if self.reason else ""
        return f"{self.exploitability:.4f} a hand{note}"


@dataclass(frozen=True)
class FreshDeals:
    """Results on deals that were unknown when the agent was submitted."""

    value: str
    """Published after the submission; or a maintainer's secret, which the entry reveals."""
    secret: bool
    """Whether a maintainer drew the value."""
    deals: tuple[str, ...]
    """As in `Entry`."""


@dataclass(frozen=True)
class Entry:
    """The results of an agent under a protocol: a file of the leaderboard."""

    protocol: Protocol
    agent: str
    """The agent as the command names it."""
    date: str
    result: Result
    deals: tuple[str, ...]
    """For each opponent a digit a deal: the agent's half wins in its two games, 0 to 4."""
    records: str
    """SHA-256 of the game records of the first deals against all opponents."""
    decks: dict[str, DeckResult] = field(default_factory=dict)
    fresh: FreshDeals | None = None

    @property
    def name(self) -> str:
        return self.result.agents[0]

    @property
    def win_rate(self) -> Estimate:
        """Mean over the opponents; a deal, which all of them play, is one observation."""
        return mean_win_rate(self.deals)

    @property
    def submission(self) -> str:
        """SHA-256 of the agent, of its weights and of its results on the public deals."""
        weights = _weights(self.result.details[0])
        content = [self.protocol.name, self.agent, weights, self.deals, self.records]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def fresh_deals(self, value: str) -> Deals:
        """The deals that follow from this submission and a value."""
        digest = hashlib.sha256(f"{self.submission} {value}".encode()).digest()
        return Deals(int.from_bytes(digest[:8], "little") >> 1, digest[8:24].hex())

    @property
    def difference(self) -> Estimate | None:
        """Mean win rate on the public deals minus that on fresh ones; None without these."""
        if self.fresh is None:
            return None
        return mean_estimate(*_difference(self.deals, self.fresh.deals), len(self.deals[0]) - 1)

    @property
    def learnt(self) -> bool:
        """Whether the public deals are won more often than fresh ones, beyond chance."""
        if self.fresh is None:
            return False
        difference, error = _difference(self.deals, self.fresh.deals)
        return difference > LEARNT * error

    @property
    def ms_a_move(self) -> float:
        """Milliseconds per decision in all hands."""
        return ms_a_move(self.result.pairings) or 0.0

    def text(self) -> str:
        """The entry as JSON, a line for each field."""
        data = {
            "format": _FORMAT,
            **{name: getattr(self, name) for name in ("agent", "date", "deals", "records")},
            "protocol": asdict(self.protocol),
            "decks": {deck: asdict(result) for deck, result in self.decks.items()},
            "result": self.result.to_json(),
        }
        if self.fresh is not None:
            data["fresh"] = asdict(self.fresh)
        lines = [
            f'"{name}": {json.dumps(value, ensure_ascii=False, allow_nan=False)}'
            for name, value in data.items()
        ]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @staticmethod
    def from_text(text: str) -> Entry:
        data = json.loads(text)
        if data.get("format") != _FORMAT:
            raise ValueError(f"format is {data.get('format')!r}: {_FORMAT!r} is needed")
        data["result"] = Result.from_json(data["result"])
        return msgspec.convert(data, Entry, from_attributes=True)


def _weights(details: AgentDetails) -> list[str]:
    return sorted(file.sha256 for file in details.checkpoints)


def _mean_and_error(deals: Sequence[str]) -> tuple[float, float]:
    """Mean win rate over opponents by digits of deals, and its standard error over deals."""
    scores = np.mean([[*map(int, digits)] for digits in deals], axis=0) / 4
    return float(scores.mean()), float(scores.std(ddof=1)) / math.sqrt(len(scores))


def _games(deals: Sequence[str]) -> int:
    return SEATS * len(deals[0]) * len(deals)


def _difference(public: Sequence[str], fresh: Sequence[str]) -> tuple[float, float]:
    """Mean win rate on public deals minus that on fresh ones, and its standard error."""
    win_rates, errors = zip(*map(_mean_and_error, (public, fresh)), strict=True)
    bounded = [
        win_rate_error(win_rate, error, len(deals[0]), _games(deals))
        for win_rate, error, deals in zip(win_rates, errors, (public, fresh), strict=True)
    ]
    return win_rates[0] - win_rates[1], math.hypot(*bounded)


def mean_win_rate(deals: Sequence[str]) -> Estimate:
    """Mean win rate of some opponents' digits; a deal, which all play, is one observation."""
    return win_rate_estimate(*_mean_and_error(deals), len(deals[0]), _games(deals))


def evaluate_protocol(
    agent: str,
    protocol: Protocol,
    progress: Callable[[Arena], None] | None = None,
    **options: Any,
) -> Entry:
    """Play a protocol; options of `Arena` where it fixes none.

    Where the run was stopped early, the entry has no exploitability.
    """
    arena = _arena(agent, protocol, protocol.public_deals, options)
    result = arena.play(progress)
    sample: list[Chunk] = []
    if result.complete:
        (sample,) = replay(agent, protocol, protocol.public_deals, [0])
    return Entry(
        protocol,
        agent,
        date=datetime.now(timezone.utc).date().isoformat(),
        result=result,
        deals=tuple(map(digits_of, arena.scores())),
        records=digest_of(sample),
        decks={deck: _deck_result(agent, deck) for deck in protocol.decks if result.complete},
    )


def evaluate_fresh(
    entry: Entry,
    value: str | None,
    progress: Callable[[Arena], None] | None = None,
    **options: Any,
) -> tuple[Entry, Result]:
    """Play fresh deals for a submitted entry: the entry with them, and their result.

    `value` was published after the submission; None draws a secret one.
    """
    secret, value = value is None, value or secrets.token_hex(16)
    arena = _arena(entry.agent, entry.protocol, entry.fresh_deals(value), options)
    submitted, here = entry.result.details[0], arena.details[0]
    if (_weights(submitted), submitted.endgame) != (_weights(here), here.endgame):
        raise ValueError(
            f"{entry.agent} has other weights, or another who plays its endgames, than the entry "
            "that was submitted: play the protocol again without --fresh, and submit that"
        )
    result = arena.play(progress)
    fresh = FreshDeals(value, secret, tuple(map(digits_of, arena.scores())))
    return replace(entry, fresh=fresh), result


def _arena(agent: str, protocol: Protocol, deals: Deals, options: dict[str, Any]) -> Arena:
    agents = [agent, *protocol.opponents]
    config = ArenaConfig.of(
        agents,
        protocol.rules,
        hands=protocol.hands,
        seed=deals.seed,
        key=deals.key,
        **options,
    )
    return Arena(agents, [(0, index) for index in range(1, len(agents))], config)


def entry_file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name) + ".json"


def replay(
    agent: str, protocol: Protocol, deals: Deals, starts: Sequence[int], pairs: int = SAMPLE
) -> list[list[Chunk]]:
    """Play so many deals from each start against each opponent, with the record of every hand."""
    config = _config(protocol, deals, records=True)
    chunk_player = ChunkPlayer([(agent, opponent) for opponent in protocol.opponents], config)
    return [
        [
            chunk_player.play(Task(pairing, start=start, pairs=pairs))
            for pairing in range(len(protocol.opponents))
        ]
        for start in starts
    ]


def replay_apart(
    agent: str, protocol: Protocol, deals: Deals, starts: Sequence[int], opponent: str
) -> list[str]:
    """Play `SAMPLE` deals from each start, both games of a deal in processes of their own.

    An agent that remembers more than its object does then knows no deal from its other half, nor
    from another pairing. Returns the digits of the deals from each start.
    """
    config, totals = _config(protocol, deals), np.zeros((len(starts), SAMPLE), np.int64)
    for half in range(SEATS):
        setup = config, (agent, opponent), half
        with Executor(half_worker, setup) as executor:
            for index, start in enumerate(starts):
                totals[index] += executor.submit(Task(start=start, pairs=SAMPLE)).result()
    return ["".join(map(str, row)) for row in totals.tolist()]


def _config(protocol: Protocol, deals: Deals, records: bool = False) -> PlayConfig:
    rules, key = load_rules(protocol.rules), bytes.fromhex(deals.key)
    return PlayConfig(rules, seed=deals.seed, key=key, records=records)


def digits_of(scores: Array) -> str:
    """A digit for each deal: the wins of agent one in its two games, in half wins."""
    return "".join(str(int(score)) for score in 2 * scores)


def digest_of(chunks: Sequence[Chunk]) -> str:
    """SHA-256 of the game records of some chunks: their deals, actions and results."""
    text = "".join(f"{line}\n" for chunk in chunks for line in chunk.records)
    for name, recorded in _RECORDED_NAMES.items():
        text = text.replace(json.dumps(name), json.dumps(recorded))
    return hashlib.sha256(text.encode()).hexdigest()


def _deck_result(agent: str, deck: str) -> DeckResult:
    try:
        rules = load_rules(deck)
        result = measure_exploitability(agent_on_deck(agent, rules), rules)
        return DeckResult(result.exploitability, result.note)
    except ValueError as error:  # other rules, too large for the agent, or no probabilities
        return DeckResult(None, str(error))
