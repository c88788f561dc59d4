"""Protocols: frozen suites of opponents, deals and decks; their results are leaderboard entries.

The seed of a protocol is public and is also the key of all other random numbers: the command of an
entry gives the same figures again, and any of its deals can be replayed alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import msgspec
import numpy as np

from ..agents.registry import make_agent
from ..common.executors import LOCAL
from ..common.typing import Array
from ..engine.dtypes import SEATS
from ..engine.rules import load_rules
from .exploitability.exact import measure_exploitability
from .match import Chunk, MatchConfig, MatchPlayer, Task
from .results import Result, ms_a_move
from .statistics import Estimate, share_estimate
from .tournament import Arena

_FORMAT = "german-whist entry"
SAMPLE = 4
"""Number of first deals whose game records an entry's digest covers."""
_RECORDED_NAMES = {"champion-2": "champion", "thinker:64,policy=champion-2": "thinker:64"}
"""Names in the game records of players that had another name when v1 was published.

`champion` means the newest network of the package, `champion-2` always the same one. Entries hold
the SHA-256 of all networks of the opponents, those of a search among them.
"""


@dataclass(frozen=True)
class Protocol:
    """A frozen suite. Another value of any field makes figures incomparable: a new protocol."""

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


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "v1", seed=36_101_894, hands=2_000,
            opponents=(
                "threshold", "counting", "flat-mc:64", "champion-1", "champion-2",
                "thinker:64,policy=champion-2",
            ),
            decks=("2x4-h2", "2x5-h3"),
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class DeckResult:
    """Exact exploitability on a small deck, or the reason why there is none."""

    exploitability: float | None
    reason: str = ""
    """Why there is none, or which claim of the player was refuted."""

    def __str__(self) -> str:
        if self.exploitability is None:
            return f"not computed: {self.reason}"
        note = f"; {self.reason}" if self.reason else ""
        return f"{self.exploitability:.4f} a hand{note}"


@dataclass(frozen=True)
class Entry:
    """The results of a player under a protocol: a file of the leaderboard."""

    protocol: Protocol
    player: str
    """The player as the command names it."""
    date: str
    result: Result
    deals: tuple[str, ...]
    """For each opponent a digit a deal: the player's wins in its two games, in halves, 0 to 4."""
    records: str
    """SHA-256 of the game records of the first deals against all opponents."""
    decks: dict[str, DeckResult] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.result.players[0]

    @property
    def win_rate(self) -> Estimate:
        """Mean over the opponents; a deal, which all of them play, is one observation."""
        scores = np.mean([[*map(int, digits)] for digits in self.deals], axis=0) / 4
        error = float(scores.std(ddof=1)) / math.sqrt(len(scores))
        games = SEATS * len(scores) * len(self.deals)
        return share_estimate(float(scores.mean()), error, len(scores), games)

    @property
    def ms_a_move(self) -> float:
        """Milliseconds per decision in all hands."""
        return ms_a_move(self.result.pairings) or 0.0

    def text(self) -> str:
        """The entry as JSON, a line for each field."""
        data = {
            "format": _FORMAT,
            **{name: getattr(self, name) for name in ("player", "date", "deals", "records")},
            "protocol": asdict(self.protocol),
            "decks": {deck: asdict(result) for deck, result in self.decks.items()},
            "result": self.result.to_json(),
        }
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


def evaluate_protocol(
    player: str,
    protocol: Protocol,
    progress: Callable[[Arena], None] | None = None,
    *,
    workers: int = 1,
    on: str = LOCAL,
    resume: Path | None = None,
) -> Entry:
    """Play a protocol; the options are those of `Arena`.

    Where the run was stopped early, the entry has no exploitability.
    """
    arena = Arena(
        [player, *protocol.opponents],
        [(0, index) for index in range(1, 1 + len(protocol.opponents))],
        protocol.rules, hands=protocol.hands, seed=protocol.seed, key=protocol.key,
        workers=workers, on=on, resume=resume,
    )  # fmt: skip
    result = arena.play(progress)
    sample = replay(player, protocol, 0, SAMPLE) if result.complete else []
    return Entry(
        protocol,
        player,
        datetime.now(timezone.utc).date().isoformat(),
        result,
        tuple(map(digits_of, arena.scores())),
        digest_of(sample),
        {deck: _deck_result(player, deck) for deck in protocol.decks if result.complete},
    )


def entry_file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name) + ".json"


def replay(player: str, protocol: Protocol, start: int, pairs: int) -> list[Chunk]:
    """Play some deals of a protocol against each opponent, with the record of every hand."""
    key = bytes.fromhex(protocol.key)
    config = MatchConfig(load_rules(protocol.rules), seed=protocol.seed, key=key, records=True)
    match_player = MatchPlayer([(player, opponent) for opponent in protocol.opponents], config)
    return [
        match_player.play(Task(pairing, start=start, pairs=pairs))
        for pairing in range(len(protocol.opponents))
    ]


def digits_of(scores: Array) -> str:
    """A digit for each deal: the wins of player one in its two games, in halves."""
    return "".join(str(int(score)) for score in 2 * scores)


def digest_of(chunks: Sequence[Chunk]) -> str:
    """SHA-256 of the game records of some chunks: their deals, actions and results."""
    text = "".join(f"{line}\n" for chunk in chunks for line in chunk.records)
    for name, recorded in _RECORDED_NAMES.items():
        text = text.replace(json.dumps(name), json.dumps(recorded))
    return hashlib.sha256(text.encode()).hexdigest()


def _deck_result(player: str, deck: str) -> DeckResult:
    try:
        result = measure_exploitability(make_agent(player, deck), deck)
        return DeckResult(result.exploitability, result.note)
    except ValueError as error:  # other rules, too large for the agent, or no probabilities
        return DeckResult(None, str(error))
