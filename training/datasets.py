# pyright: reportArgumentType=false
# Numba has one integer where annotations see `int` and `np.int64`.
"""Data sets of play: observations, actions and payoffs of many hands, in NumPy files.

A data set is a folder. `dataset.json` describes it, and each `hands-00000.npz` holds the decisions
of some hands in the order of play, a row each. No deal occurs twice. A row has what the player to
move may know; what it may not know is in columns whose names begin with `hidden_`.

>>> from german_whist import generate_dataset
>>> dataset = generate_dataset(["champion", "counting"], "data", hands=100)
>>> data = dataset.read("observation", "action_mask", "action")
>>> len(data["action"])
5200
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ..agents.base import Agent, agent_key, decision_streams
from ..agents.calls import call_agent, naming_faults
from ..agents.networks.network_inputs import Observations
from ..agents.perfect_endgame import is_open, open_ending
from ..agents.registry import (
    check_agents,
    code_of_agents,
    common_rules,
    load_agent,
    parse_agent_name,
)
from ..common.executors import Executor, InProcessExecutor
from ..common.files import (
    atomic_write,
    check_writable,
    checked_folder,
    remove_partial_files,
    write_file,
)
from ..common.jit.compiler import allocates, jit
from ..common.provenance import package_version
from ..common.schema import convert, read_json
from ..common.typing import Array, JsonObject
from ..engine.batch.batch import Batch
from ..engine.batch.config import options_from
from ..engine.batch.kernels import REAL, Moves
from ..engine.cards import N_ACTIONS, N_CARDS, action_text
from ..engine.checks import check_function, checked_choice, checked_count, checked_seed
from ..engine.dtypes import OVER, SEATS, VIEW
from ..engine.endgame import Scratch, Tablebase, solve_moves
from ..engine.endgame.game_values import endgame_tablebases, inexact_reason
from ..engine.endgame.solver import thread_scratch
from ..engine.observation.spec import OBSERVATION_VERSION, spec_of
from ..engine.observation.suit_order import SUIT_ORDERS
from ..engine.options import SuitOrder
from ..engine.play import row
from ..engine.rules import Rules, RulesLike, rules_from_mapping
from ..engine.view import action_masks
from ..evaluation.exploitability.action_probabilities import checked_probabilities
from .folder import FolderLock, is_used

CARD = "dataset.json"
HANDS_IN_FILE = 1000
NO_COST = -1
"""Endgame cost of illegal actions, and of all actions outside of open endgames."""


@dataclass(frozen=True)
class Column:
    """Type of a column: a number a row, or `size` of them."""

    dtype: str
    about: str
    size: int = 0
    bits: bool = False
    """Whether the file holds eight zeros and ones in a byte, the first in the highest bit."""

    @property
    def stored_shape(self) -> tuple[int, ...]:
        if not self.size:
            return ()
        return (-(-self.size // 8) if self.bits else self.size,)

    @property
    def bytes(self) -> int:
        """Bytes of a row in a file."""
        return np.dtype(self.dtype).itemsize * (self.stored_shape or (1,))[0]


ExtraName = Literal["value", "endgame_cost", "hidden_opponent_hand"]
EXTRAS: tuple[ExtraName, ...] = get_args(ExtraName)
VALUE, COST, HIDDEN_HAND = EXTRAS


def columns_of(rules: Rules, extras: Sequence[str] = EXTRAS) -> dict[str, Column]:
    """Columns of a rule set by name; `extras` are those on request."""
    actions = rules.actions
    columns = {
        "observation": Column(
            "uint8", "the observation of the environments", spec_of(rules).size, True
        ),
        "action_mask": Column("uint8", "1 for each legal action", actions, True),
        "action": Column("uint8", "the action that was played"),
        "probabilities": Column(
            "float16",
            "the agent's probability of each action, 1 for the action played where it states none",
            actions,
        ),
        "payoff": Column("float32", "what the hand pays the player to move"),
        "deal": Column("uint64", "number of the deal, the same in all rows of a hand"),
        "seat": Column("uint8", "seat of the player to move"),
        "agent": Column("uint8", "index of its agent in `agents`"),
        VALUE: Column("float32", "the agent's own estimate of the payoff (`Agent.value`)"),
        COST: Column(
            "int8",
            "tricks that each legal action gives away against perfect play in an open endgame; "
            f"{NO_COST} for other actions and positions",
            actions,
        ),
        HIDDEN_HAND: Column("uint8", "cards of the opponent, which no player sees", N_CARDS, True),
    }
    wanted = [name for name in columns if name not in EXTRAS or name in extras]
    return {name: columns[name] for name in wanted}


class DatasetCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a data set holds; the same command resumes one with the same card."""

    format: Literal["german-whist dataset 2"] = "german-whist dataset 2"
    rules: JsonObject
    agents: Annotated[tuple[str, ...], Meta(min_length=1, max_length=SEATS)]
    weights: tuple[str, ...]
    """SHA-256 of the agents' weights."""
    code: dict[str, str]
    """SHA-256 of the code of other packages' agents, by module."""
    version: str
    """Version of this package that wrote it."""
    hands: Annotated[int, Meta(ge=1, le=10**12)]
    seed: int
    """Of the deals, which have the numbers from 0."""
    suit_order: SuitOrder
    observation_version: int = OBSERVATION_VERSION
    extras: tuple[ExtraName, ...] = ()

    def __post_init__(self) -> None:
        checked_seed(self.seed)
        if self.observation_version != OBSERVATION_VERSION:
            raise ValueError(
                f"observation_version is {self.observation_version}, and this package reads "
                f"{OBSERVATION_VERSION}"
            )
        if len({*self.extras}) < len(self.extras):
            raise ValueError("extras names a column twice")

    @property
    def n_files(self) -> int:
        return -(-self.hands // HANDS_IN_FILE)

    def deals(self, number: int) -> range:
        """Numbers of the deals in a file."""
        start = number * HANDS_IN_FILE
        return range(start, min(start + HANDS_IN_FILE, self.hands))

    @property
    def loaded_rules(self) -> Rules:
        return rules_from_mapping(self.rules, CARD)

    @property
    def bytes_per_hand(self) -> int:
        """Bytes of the longest possible hand."""
        rules = self.loaded_rules
        columns = columns_of(rules, self.extras).values()
        return rules.max_decisions * sum(column.bytes for column in columns)


def _file_name(number: int) -> str:
    return f"hands-{number:05}.npz"


_FILE_NAME = re.compile(r"hands-(\d{5}|[1-9]\d{5,})\.npz")


def _files_in(folder: Path, card: DatasetCard) -> set[int]:
    """Numbers of the files of a data set that are written."""
    names = (_FILE_NAME.fullmatch(path.name) for path in folder.iterdir())
    return {number for name in names if name and (number := int(name[1])) < card.n_files}


# -- reading


class Dataset:
    """A data set of decisions in a folder that `generate_dataset` wrote.

    ```python
    data = Dataset("data").read("observation", "action_mask", "action")
    data["action"]  # an array with a row for each decision
    ```

    `columns` is a dictionary from the name of a column to its type and meaning. `files()` reads one
    file after another, for data that does not fit into memory.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder: Path = checked_folder(folder)
        path = self.folder / CARD
        if not path.is_file():
            raise ValueError(f"{folder}: is no data set: there is no {CARD} in it")
        remedy = "make the data set anew"
        content = read_json(path.read_bytes(), path, remedy, ValueError)
        self.card: DatasetCard = convert(content, DatasetCard, path, remedy, ValueError)
        self.columns: dict[str, Column] = columns_of(self.card.loaded_rules, self.card.extras)

    @property
    def written(self) -> set[int]:
        """Numbers of the files that have been written so far."""
        return _files_in(self.folder, self.card)

    def files(self, *names: str) -> Iterator[dict[str, Array]]:
        """Read one file after another, each as a dictionary from column name to array.

        `names` are the columns to read. Without names, all columns are read.
        """
        for name in names:
            checked_choice("column", name, tuple(self.columns))
        n_files = self.card.n_files
        if n_missing := n_files - len(self.written):
            raise ValueError(
                f"{self.folder} is not complete, {n_missing:,} of {n_files:,} files are missing: "
                "the command that began it goes on with it"
            )
        for number in range(n_files):
            yield self._read_file(number, names or tuple(self.columns))

    def read(self, *names: str) -> dict[str, Array]:
        """Read the columns of all hands, as a dictionary from column name to array.

        `names` are the columns to read. Without names, all columns are read.
        """
        parts = [*self.files(*names)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _read_file(self, number: int, names: Sequence[str]) -> dict[str, Array]:
        path = self.folder / _file_name(number)
        try:
            with np.load(path, allow_pickle=False) as file:
                stored = {name: file[name] for name in dict.fromkeys(("deal", *names))}
            self._check_rows(number, stored)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} cannot be read ({error}): delete it, and repeat the command that made it"
            ) from None
        return {
            name: np.unpackbits(stored[name], axis=1, count=column.size)
            if (column := self.columns[name]).bits
            else stored[name]
            for name in names
        }

    def _check_rows(self, number: int, stored: Mapping[str, Array]) -> None:
        """Refuse columns of other types or lengths, and rows of other deals than the file's."""
        deals = stored["deal"]
        for name, array in stored.items():
            column = self.columns[name]
            shape = len(deals), *column.stored_shape
            if array.shape != shape or array.dtype != column.dtype:
                raise ValueError(
                    f"{name} has the shape {array.shape} and type {array.dtype}, and not {shape} "
                    f"and {column.dtype}"
                )
        expected = self.card.deals(number)
        first_rows = np.flatnonzero(np.diff(deals, prepend=~deals[:1]))
        if not np.array_equal(deals[first_rows], np.array(expected, np.uint64)):
            raise ValueError(f"its rows are not those of deals {expected[0]} to {expected[-1]}")


# -- writing


def generate_dataset(
    agents: Sequence[str],
    folder: str | Path,
    *,
    hands: int,
    rules: RulesLike | None = None,
    seed: int = 1,
    suit_order: SuitOrder = "raw",
    extras: Sequence[str] = (),
    workers: int = 1,
    on_start: Callable[[Dataset], object] = lambda _dataset: None,
    progress: Callable[[float], object] = lambda _fraction: None,
) -> Dataset:
    """Play hands between agents and write every decision to a folder of NumPy files.

    Returns the `Dataset` of the folder. If a call was interrupted, the same call continues it.

    - `agents`: the name of one agent, which plays against itself, or the names of two agents,
      which swap seats after every deal.
    - `folder`: where the files are written.
    - `hands`: the number of hands.
    - `rules`: the rule set. `None` (default): that of a checkpoint, otherwise `"classic"`.
    - `seed`: the seed of the deals (1).
    - `suit_order`: the suits in observations, masks and actions. `"raw"` (default): the real suits.
      `"trump-first"`: trumps come first.
    - `extras`: further columns: `"value"`, `"endgame_cost"`, `"hidden_opponent_hand"`.
    - `workers`: the number of processes (1).
    - `on_start`, `progress`: functions that are called with the `Dataset` before the first hand,
      and with the finished fraction.
    """
    for name, texts in (("agents", agents), ("extras", extras)):
        if isinstance(texts, str):
            raise ValueError(f"{name} is {texts!r}: give a list, as [{texts!r}]")
    check_function(on_start, "on_start", "the Dataset")
    check_function(progress, "progress", "the finished fraction")
    for agent in agents:
        if not isinstance(agent, str):
            raise ValueError(
                f"an agent is {agent!r}: name it, as 'champion', or as 'module:Class' for code "
                "of your own, which workers import"
            )
    if len(agents) not in (1, SEATS):
        raise ValueError(f"{len(agents)} agents are named: give one, which plays itself, or two")
    loaded = common_rules(agents, rules)
    for name in extras:
        checked_choice("column", name, EXTRAS)
    if COST in extras and (reason := inexact_reason(loaded)):
        raise ValueError(f"{COST} is not known in {loaded.name}: its rules {reason}")
    check_agents(agents, loaded)
    made = [load_agent(name, loaded) for name in agents]
    if VALUE in extras:
        for agent in made:
            agent.value(np.zeros(0, VIEW))
    card = DatasetCard(
        rules=loaded.as_mapping(),
        agents=tuple(agents),
        weights=tuple(file.sha256 for agent in made for file in agent.checkpoints),
        code=_code_of(made, agents),
        version=package_version(),
        hands=checked_count(hands, "hands"),
        seed=checked_seed(seed),
        suit_order=checked_choice("suit_order", suit_order, SUIT_ORDERS),
        extras=tuple(name for name in EXTRAS if name in extras),
    )
    folder = checked_folder(folder)
    with _begin(folder, card) as dataset:
        on_start(dataset)
        written = dataset.written
        waiting = (number for number in range(card.n_files) if number not in written)
        total = card.n_files - len(written)
        executor: Any = InProcessExecutor(_HandWriter(card, folder, made).write)
        if workers > 1 and total > 1:
            executor = Executor(_make_writer, (card, folder), min(workers, total))
        with executor:
            for done, _ in enumerate(executor.results(lambda: next(waiting, None)), 1):
                progress(done / total)
    return dataset


def _code_of(agents: Sequence[Agent], names: Sequence[str]) -> dict[str, str]:
    return code_of_agents(agents, [parse_agent_name(name)[1].partition(":")[0] for name in names])


@contextmanager
def _begin(folder: Path, card: DatasetCard) -> Iterator[Dataset]:
    """Make the folder of a data set, or check that it is of the same one, and lock it."""
    path = folder / CARD
    if folder.is_file():
        raise ValueError(f"{folder} is a file: name a folder")
    if folder.exists() and not path.exists() and any(map(is_used, folder.iterdir())):
        raise ValueError(f"{folder} is not empty: name another folder")
    check_writable(path, make_folder=True)
    lock = FolderLock(folder, "written")
    try:
        if path.exists():
            _check_same(folder, card)
        _check_space(folder, card)
        if not path.exists():
            write_file(path, json.dumps(msgspec.to_builtins(card), indent=1) + "\n")
        yield Dataset(folder)
    finally:
        # Workers are ended in the middle of a file.
        remove_partial_files(folder)
        lock.release()


def _check_same(folder: Path, card: DatasetCard) -> None:
    there = Dataset(folder).card
    for name in card.__struct_fields__:
        before, now = getattr(there, name), getattr(card, name)
        if before != now:
            raise ValueError(
                f"{folder} is of another data set: {name} is {before!r} there and {now!r} here; "
                "name another folder"
            )


def _check_space(folder: Path, card: DatasetCard) -> None:
    n_written = len(_files_in(folder, card))
    needed = card.bytes_per_hand * HANDS_IN_FILE * (card.n_files - n_written)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ValueError(
            f"{folder} would need up to {needed:,} bytes more, and {free:,} are free on its disk: "
            "make room, or ask for fewer hands or columns"
        )


def _make_writer(setup: tuple[DatasetCard, Path]) -> Callable[[int], int]:
    """The function that a worker calls with the numbers of files."""
    card, folder = setup
    made = [load_agent(name, card.loaded_rules) for name in card.agents]
    if _code_of(made, card.agents) != card.code:
        raise ValueError(f"the code of {', '.join(card.code)} changed since the data set was begun")
    return _HandWriter(card, folder, made).write


class _HandWriter:
    """Plays the hands of a file, and writes it."""

    def __init__(self, card: DatasetCard, folder: Path, agents: Sequence[Agent]) -> None:
        self._card, self._folder, self._agents = card, folder, agents
        self._rules = card.loaded_rules
        self._options = options_from(self._rules, suit_order=card.suit_order)
        self._columns = columns_of(self._rules, card.extras)
        self._key = agent_key(card.seed)
        self._tablebases = endgame_tablebases(self._rules) if COST in card.extras else []

    def write(self, number: int) -> int:
        """Write a file; returns its number of hands."""
        deals = self._card.deals(number)
        with atomic_write(self._folder / _file_name(number)) as file:
            columns = self._play(deals.start, len(deals))
            np.savez(file, **columns)
        return len(deals)

    def _play(self, start: int, count: int) -> dict[str, Array]:
        """All rows of the deals from `start` on, by column."""
        batch = Batch(self._options, count)
        batch.reset(self._card.seed, {"number": start})
        shape = count, self._rules.max_decisions
        out = {
            name: np.zeros((*shape, *column.stored_shape), column.dtype)
            for name, column in self._columns.items()
        }
        for agent in self._agents:
            if agent.keeps_state:
                agent.reset(np.arange(SEATS * count))
        step = 0
        while len(games := np.flatnonzero(batch.games["phase"] != OVER)):
            rows, real = self._decide(batch, games)
            for name, values in rows.items():
                out[name][games, step] = values
            batch.apply_actions(Moves(games, real, REAL))
            step += 1
        payoffs = batch.results["rewards"]
        out["payoff"][:] = np.take_along_axis(payoffs, out["seat"].astype(np.int64), 1)
        decided = out["action_mask"].any(axis=2)
        return {name: array[decided] for name, array in out.items()}

    def _decide(self, batch: Batch, games: Array) -> tuple[dict[str, Array], Array]:
        """The rows of the next decision in each game but the payoff, and the real actions."""
        turns = batch.turns()
        seats = turns[games]
        observations, masks = batch.observe(games, turns)
        observed = Observations(observations, masks, batch.suit_orders[games])
        numbers, views = batch.games["number"][games], batch.views(seats, games)
        players = (numbers + seats) % np.uint64(len(self._agents))
        actions = np.empty(len(games), np.int64)
        probs = np.zeros(masks.shape)
        values = np.zeros(len(games), np.float32)
        rng = decision_streams(self._key, numbers, views)
        for index, agent in enumerate(self._agents):
            own = players == index
            indices = games[own] + len(batch.games) * seats[own].astype(np.int64)
            with naming_faults(agent, "agent"):
                actions[own] = call_agent(agent, views[own], rng[own], indices)
            self._check(agent, views[own], actions[own])
            probs[own] = self._probabilities(agent, views[own], actions[own])
            if VALUE in self._columns:
                values[own] = _values(agent, views[own])
        shown = observed.shown(actions)
        order = _real_of_shown(observed.orders, masks.shape[1])
        rows = {
            "observation": np.packbits(observations.astype(np.uint8), axis=1),
            "action_mask": np.packbits(masks.astype(np.uint8), axis=1),
            "action": shown,
            "probabilities": np.take_along_axis(probs, order, 1),
            "deal": numbers,
            "seat": seats,
            "agent": players,
        }
        if VALUE in self._columns:
            rows[VALUE] = values
        if COST in self._columns:
            costs = np.full(masks.shape, NO_COST, np.int64)
            for tablebase in self._tablebases:
                _write_costs(self._options.rules_array, tablebase, thread_scratch(), views, costs)
            rows[COST] = np.take_along_axis(costs, order, 1)
        if HIDDEN_HAND in self._columns:
            hands = batch.games["hand"][games, 1 - seats.astype(np.int64)]
            held = (hands[:, None] >> np.arange(N_CARDS, dtype=np.uint64)) & np.uint64(1)
            shown_hands = np.take_along_axis(held.astype(np.uint8), order[:, :N_CARDS], 1)
            rows[HIDDEN_HAND] = np.packbits(shown_hands, axis=1)
        return rows, actions

    def _probabilities(self, agent: Agent, views: Array, actions: Array) -> Array:
        """What the agent states; 1 for its action in endings that it plays exactly, or if none."""
        probs = np.zeros((len(views), self._rules.actions))
        probs[np.arange(len(views)), actions] = 1
        if type(agent).probabilities is not Agent.probabilities:
            stated = np.ones(len(views), np.bool_)
            if agent.perfect_endgame:
                _write_not_open(self._options.rules_array, views, stated)
            if stated.any():
                with naming_faults(agent, "agent"):
                    answer: object = agent.probabilities(views[stated])
                probs[stated] = checked_probabilities(agent, views[stated], answer)
        return probs

    def _check(self, agent: Agent, views: Array, actions: Array) -> None:
        """Refuse illegal actions."""
        legal = action_masks(self._options.rules_array, views, N_ACTIONS)
        inside = (actions >= 0) & (actions < N_ACTIONS)
        illegal = ~(inside & legal[np.arange(len(views)), np.where(inside, actions, 0)])
        for view, action in zip(views[illegal], actions[illegal].tolist(), strict=True):
            allowed = ", ".join(map(action_text, np.flatnonzero(legal[illegal][0]).tolist()))
            raise ValueError(
                f"agent {agent.name} played {action_text(action)} at trick {view['trick'] + 1} "
                f"of a hand, which is not legal: {allowed} are"
            )


def _values(agent: Agent, views: Array) -> Array:
    """The agent's estimates of the payoff in these views."""
    with naming_faults(agent, "agent"):
        answer: object = agent.value(views)
    values = np.asarray(answer)
    if values.shape != (len(views),) or values.dtype.kind not in "biuf":
        raise ValueError(
            f"{agent.name} gives values of the shape {values.shape} and type {values.dtype} for "
            f"{len(views)} views: give a number for each"
        )
    largest = np.finfo(np.float32).max
    for value in values[~(np.abs(values) <= largest)].tolist():
        raise ValueError(f"{agent.name} gives the value {value}: give finite numbers of 32 bits")
    return values


def _real_of_shown(orders: Array, n_actions: int) -> Array:
    """`(n, actions)`: the real action that each action of the dataset stands for."""
    order = np.tile(np.arange(n_actions), (len(orders), 1))
    ranks = np.arange(N_CARDS) % 13
    order[:, :N_CARDS] = 13 * np.repeat(orders.astype(np.int64), 13, axis=1) + ranks
    return order


@jit
def _write_not_open(rules: np.ndarray, views: np.ndarray, out: np.ndarray) -> None:
    for index in range(len(views)):
        out[index] = not is_open(row(rules, 0), row(views, index))


@jit
@allocates
def _write_costs(
    rules: np.ndarray, tablebase: Tablebase, scratch: Scratch, views: np.ndarray, costs: np.ndarray
) -> None:
    """Write the cost of each legal card in open endgames with the contract of the tablebase."""
    tricks = np.zeros(N_CARDS, np.int64)
    for index in range(len(views)):
        view = row(views, index)
        if not is_open(row(rules, 0), view) or view.low != tablebase.low:
            continue
        best = solve_moves(tablebase, scratch, open_ending(view), tricks)
        for card in range(N_CARDS):
            if tricks[card] >= 0:
                costs[index, card] = abs(best - tricks[card])
