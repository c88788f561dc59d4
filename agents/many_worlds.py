"""The worlds of flat search and what comes of each action in them, as rows that go anywhere.

`Place.rows` goes over them on this side, or on a GPU with a thread for each world. Every world has
a stream of its own, so that it is the same wherever it is drawn. Nothing here allocates.
"""

from __future__ import annotations

import numpy as np

from ..engine.arrays import Array
from ..engine.compiled import jit
from ..engine.endgame import Tables
from ..engine.endgame.layout import pattern_of
from ..engine.endgame.search import stored
from ..engine.endings import known_endings
from ..engine.options import exact_horizon
from ..engine.places import Host, Place, Room
from ..engine.play import Record, pay, pay_for, play, row
from ..engine.state import OVER
from ..engine.streams import keyed
from ..engine.view import View
from ..engine.worlds import METHODS, PLAN, draw_world_in, plan_worlds, share_plan
from .endings import is_ending
from .rollouts import thumb_in_game


def pays_in_worlds(
    view: View, worlds: int, seed: int = 0, method: str = METHODS[0], place: Place | None = None
) -> Array:
    """What each legal action of a view pays in so many worlds: `(worlds, actions)`.

    The rules of thumb play on, and the tables say what the ending is worth, which have to hold
    all of it. `place` is where it is done; this side if none is given.
    """
    rules = view.rules
    if exact_horizon(rules) == "hand":
        raise ValueError(f"the rules {rules.name} have no open ending to be looked up")
    (known,) = [each for each in known_endings(rules) if each.low == view.record["low"][0]]
    if known.cards < rules.hand:
        raise ValueError(
            f"the tables hold endings of {known.cards} cards, and {rules.hand} are needed: "
            f"german-whist tablebase build --cards {rules.hand}"
        )
    where = Host() if place is None else place
    record, views, plans = rules.record(), view.record.copy(), np.zeros(1, PLAN)
    _plan(record, views, method == "voids", plans)
    actions = np.array([int(each) for each in view.legal()], np.int64)
    pays = where.zeros((worlds, len(actions)), np.int64)
    (tables,) = where.tables([known])
    where.rows(worlds, try_worlds, record, views, plans, tables, np.uint64(seed), actions, pays)
    return where.fetched(pays)


@jit
def _plan(rules: np.ndarray, views: np.ndarray, voids: bool, plans: np.ndarray) -> None:
    plan_worlds(row(rules, 0), row(views, 0), voids, row(plans, 0))
    share_plan(row(plans, 0))


@jit
def try_worlds(
    rules: np.ndarray, views: np.ndarray, plans: np.ndarray, tables: Tables, seed: np.uint64,
    actions: np.ndarray, pays: np.ndarray, room: Room, start: int, stop: int,
) -> None:  # fmt: skip
    """Draw each world, and play every action in it to its end."""
    first, view, plan = row(rules, 0), row(views, 0), row(plans, 0)
    seat = int(view.seat)
    for index in range(start, stop):
        room.stream[0] = keyed(seed, np.uint64(index))
        for place in range(len(actions)):
            world = row(room.games, 0)
            if place == 0:
                draw_world_in(first, view, plan, row(room.sketches, 0), room.stream, world)
            room.games[1] = room.games[0]
            trial = row(room.games, 1)
            play(first, trial, actions[place])
            while trial.phase != OVER and not is_ending(first, trial):
                play(first, trial, thumb_in_game(first, trial))
            pays[index, place] = _worth(first, tables, trial, seat)


@jit
def _worth(rules: Record, tables: Tables, game: Record, seat: int) -> int:
    """What a hand pays a seat that is over, or is perfectly played from here on."""
    if game.phase == OVER:
        return pay(rules, game, seat)
    leader, hand = int(game.leader), int(rules.hand)
    find, pattern, _ = pattern_of(
        tables.lay.find, tables.lay.trumps, game.hand[leader], game.hand[1 - leader],
        np.int64(game.trump),
    )  # fmt: skip
    points = stored(tables, hand, find, pattern)
    more = hand - points if tables.low else points
    mine, others = np.int64(game.tricks[leader]), np.int64(game.tricks[1 - leader])
    found = pay_for(rules, np.int64(game.low), mine + more, others + hand - more)
    return found if leader == seat else -found
