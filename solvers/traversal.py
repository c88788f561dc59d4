# pyright: reportArgumentType=false
"""Public tree traversal: vectors of values and reach probabilities over private hands.

All hands that a public state leaves open are handled at once (Johanson, Waugh, Bowling and
Zinkevich 2011, "Accelerating best response calculation in large extensive games"): a vector of
reach probabilities over the opponent's hands goes down the tree, and one of counterfactual values
over the traverser's hands comes up. At its own decisions the traverser updates regrets (CFR+,
Tammelin 2014), plays a best response, or plays its average strategy. Subtrees that the opponent
never reaches are pruned.

The stack is explicit, because numba does not cache recursive functions. Each part is called from
one place of the loop and inlined, since most vectors are so short that a call would cost
more than its work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..common.jit.compiler import forceinline, jit
from ..engine.bitset import NO_CARDS, ONE, lowest, popcount
from ..engine.play import Record
from .combinatorics import Subsets, subsets
from .public_tree import (
    DeckTables,
    PublicTree,
    action_cells,
    decision_cells,
    lead_actions,
    legal_replies,
    lowest_bit,
)
from .terminal_values import TerminalValues, pack_bits, terminal_values
from .view_cells import PathTables, path_tables

LEARN, RESPOND, EVALUATE = 0, 1, 2
"""What the traverser does at its own decisions."""

MAX_PROBABILITY = 255
"""The byte that stands for probability 1."""
_SMALLEST = np.finfo(np.float32).tiny

_LEAD, _FOLLOW, _CHANCE = 0, 1, 2
_MAX_ACTIONS = 24

_NO_CELLS = np.zeros(0, np.float32)
_NO_ROUNDING = np.zeros(0, np.uint8)

FRAME = np.dtype(
    [
        ("unseen", "u8"),
        ("public_cards", "u8", (2,)),
        ("suit", "u8"),  # suit led; all cards before the lead
        ("played", "u8"),  # cards of earlier tricks
        ("next_upcards", "u8"),  # upcards that are still to be traversed
        ("kind", "i8"),
        ("leader", "i8"),
        ("actor", "i8"),
        ("upcard", "i8"),
        ("level", "i8"),
        ("first_cell", "i8"),  # first cell of the decision
        ("reply_cell", "i8"),  # first cell of the next reply
        ("child", "i8"),  # next trick of the next level
        ("tricks", "i8"),  # tricks of player 0
        ("n_hidden", "i8", (2,)),  # cards of each hand that are not public
        ("n_actions", "i8"),  # 0 before they are listed
        ("next_action", "i8"),  # the one that is traversed next
        ("n_hands", "i8"),  # possible hands of the actor
    ]
)

ACTION = np.dtype(
    [
        ("card", "u8"),
        ("entry", "i8"),  # its first cell among those of the decision
        ("size", "i8"),  # number of its cells
        ("suit_at", "i8"),  # index map from them to the actor's hands after it
        ("card_at", "i8"),  # and from those to the hands before it
        ("n_after", "i8"),  # number of the actor's hands after it
        ("passive_at", "i8"),  # index map of the passive player's hands
        ("n_passive", "i8"),  # number of the passive player's hands after it
    ]
)


class TreeArrays(NamedTuple):
    """A public tree with its terminal values, for compiled code."""

    paths: PathTables
    tables: Subsets
    terminal: TerminalValues


class TraversalBuffers(NamedTuple):
    """Buffers of one traversal: the stack, and vectors for each of its frames."""

    frames: np.ndarray
    actions: np.ndarray
    reach: np.ndarray
    value: np.ndarray
    strategy: np.ndarray
    """Probability of each cell of each decision on the stack."""
    action_values: np.ndarray
    """Value of each of the traverser's actions."""
    total: np.ndarray
    n_legal: np.ndarray


def tree_arrays(tree: PublicTree) -> TreeArrays:
    """The arrays of a tree; solves every ending."""
    return TreeArrays(path_tables(tree), subsets(tree.rules), terminal_values(tree.rules))


def new_traversal_buffers(tree: PublicTree) -> TraversalBuffers:
    depth = 3 * tree.deck.tricks + 2
    choose = tree.deck.choose
    hands = int(max(choose[m, u] for m in range(tree.cards) for u in range(tree.deck.hand + 1)))
    cells = hands * tree.deck.hand

    def vectors(size: int) -> np.ndarray:
        return np.zeros((depth, size), np.float32)

    return TraversalBuffers(
        frames=np.zeros(depth, FRAME),
        actions=np.zeros((depth, _MAX_ACTIONS), ACTION),
        reach=vectors(hands),
        value=vectors(hands),
        strategy=vectors(cells),
        action_values=vectors(cells),
        total=np.zeros(hands, np.float32),
        n_legal=np.zeros(hands, np.float32),
    )


class Traversal(NamedTuple):
    """What one traversal is of: the tree, who traverses it and how, and the arrays of its cells."""

    tree: TreeArrays
    buffers: TraversalBuffers
    traverser: int
    mode: int
    strategy_sum: np.ndarray
    regrets: np.ndarray = _NO_CELLS
    weight: float = 0.0
    """Of this iteration in `strategy_sum`."""
    rounded: np.ndarray = _NO_ROUNDING
    response_values: np.ndarray = _NO_CELLS


# -- one decision


@forceinline
def _list_actions(traversal: Traversal, depth: int, cards: np.uint64) -> None:
    tables, choose, buffers = (
        traversal.tree.tables,
        traversal.tree.paths.deck.choose,
        traversal.buffers,
    )
    frame = buffers.frames[depth]
    unseen, suit = frame["unseen"], frame["suit"]
    actor = frame["actor"]
    own, other = frame["n_hidden"][actor], frame["n_hidden"][1 - actor]
    m = popcount(unseen)
    entry, count = 0, 0
    while cards:
        card = lowest_bit(cards)
        cards ^= card
        action = buffers.actions[depth, count]
        count += 1
        action["card"] = card
        action["entry"] = entry
        size = action_cells(choose, unseen, own, card, suit)
        action["size"] = size
        entry += size
        left, after = own, unseen
        action["card_at"] = 0
        action["passive_at"] = 0
        if card & unseen:
            left -= 1
            after ^= card
            position = popcount(unseen & (card - ONE))
            action["card_at"] = tables.with_card_at[position, left]
            action["passive_at"] = tables.without_card_at[position, other]
        m = popcount(after)
        action["n_after"] = choose[m, left]
        action["n_passive"] = choose[m, other]
        action["suit_at"] = 0
        if card & suit == NO_CARDS and after & suit:
            below = popcount(after & (lowest_bit(suit) - ONE))
            action["suit_at"] = tables.without_suit_at[below, popcount(after & suit), left]
    frame["n_actions"] = count
    frame["next_action"] = 0
    frame["n_hands"] = choose[popcount(unseen), own]


@forceinline
def _normalize(traversal: Traversal, depth: int, cells: np.ndarray) -> None:
    """Regret matching: a strategy proportional to the cells, uniform where all are 0.

    Or as good as 0: a player that draws its cards almost never reaches some decisions, and the
    inverse of a subnormal sum is infinite.
    """
    tables, buffers = traversal.tree.tables, traversal.buffers
    frame = buffers.frames[depth]
    at, hands = frame["first_cell"], frame["n_hands"]
    for hand in range(hands):
        buffers.total[hand] = 0
        buffers.n_legal[hand] = 0
    for k in range(frame["n_actions"]):
        action = buffers.actions[depth, k]
        entry, suit_at, card_at = action["entry"], action["suit_at"], action["card_at"]
        for i in range(action["size"]):
            hand = tables.with_card[card_at + tables.without_suit[suit_at + i]]
            buffers.total[hand] += cells[at + entry + i]
            buffers.n_legal[hand] += np.float32(1)
    for hand in range(hands):
        if buffers.total[hand] >= _SMALLEST:
            buffers.total[hand] = np.float32(1) / buffers.total[hand]
            buffers.n_legal[hand] = 0
        else:
            buffers.total[hand] = 0
            buffers.n_legal[hand] = np.float32(1) / max(buffers.n_legal[hand], np.float32(1))
    for k in range(frame["n_actions"]):
        action = buffers.actions[depth, k]
        entry, suit_at, card_at = action["entry"], action["suit_at"], action["card_at"]
        for i in range(action["size"]):
            hand = tables.with_card[card_at + tables.without_suit[suit_at + i]]
            buffers.strategy[depth, entry + i] = (
                cells[at + entry + i] * buffers.total[hand] + buffers.n_legal[hand]
            )


@forceinline
def _add_to_average(traversal: Traversal, depth: int) -> None:
    """Add the opponent's strategy, weighted by its reach, to the average."""
    tables, buffers, strategy_sum = traversal.tree.tables, traversal.buffers, traversal.strategy_sum
    weight = np.float32(traversal.weight)
    frame = buffers.frames[depth]
    at = frame["first_cell"]
    for k in range(frame["n_actions"]):
        action = buffers.actions[depth, k]
        entry, suit_at, card_at = action["entry"], action["suit_at"], action["card_at"]
        for i in range(action["size"]):
            hand = tables.with_card[card_at + tables.without_suit[suit_at + i]]
            strategy_sum[at + entry + i] += (
                weight * buffers.reach[depth, hand] * buffers.strategy[depth, entry + i]
            )


@forceinline
def _quantize(traversal: Traversal, depth: int) -> None:
    """Write the opponent's strategy as integers up to `MAX_PROBABILITY`."""
    buffers, rounded = traversal.buffers, traversal.rounded
    frame = buffers.frames[depth]
    last = buffers.actions[depth, frame["n_actions"] - 1]
    for i in range(last["entry"] + last["size"]):
        rounded[frame["first_cell"] + i] = np.uint8(
            buffers.strategy[depth, i] * np.float32(MAX_PROBABILITY) + np.float32(0.5)
        )


@forceinline
def _update_regrets(traversal: Traversal, depth: int) -> None:
    """Add the regrets of the traverser's decision, clipped at zero."""
    tables, buffers, regrets = traversal.tree.tables, traversal.buffers, traversal.regrets
    frame = buffers.frames[depth]
    at = frame["first_cell"]
    for k in range(frame["n_actions"]):
        action = buffers.actions[depth, k]
        entry, suit_at, card_at = action["entry"], action["suit_at"], action["card_at"]
        for i in range(action["size"]):
            hand = tables.with_card[card_at + tables.without_suit[suit_at + i]]
            regret = (
                regrets[at + entry + i]
                + buffers.action_values[depth, entry + i]
                - buffers.value[depth, hand]
            )
            regrets[at + entry + i] = max(regret, np.float32(0))


@forceinline
def _begin_decision(traversal: Traversal, depth: int) -> None:
    """List the actions of a new decision, with the strategy where it is not the traverser's."""
    buffers, deck, mode = traversal.buffers, traversal.tree.paths.deck, traversal.mode
    frame = buffers.frames[depth]
    actor = frame["actor"]
    unseen, public_cards = frame["unseen"], frame["public_cards"][actor]
    if frame["kind"] == _LEAD:
        cards = lead_actions(unseen, public_cards, frame["n_hidden"][actor])
    else:
        cards = legal_replies(unseen, public_cards, frame["n_hidden"][actor], frame["suit"])
    _list_actions(traversal, depth, cards)
    last = buffers.actions[depth, frame["n_actions"] - 1]
    frame["reply_cell"] = frame["first_cell"] + last["entry"] + last["size"]
    opponent_acts = actor != traversal.traverser
    if mode == LEARN:
        _normalize(traversal, depth, traversal.regrets)
        if opponent_acts:
            _add_to_average(traversal, depth)
    elif mode == EVALUATE or opponent_acts:
        _normalize(traversal, depth, traversal.strategy_sum)
        if opponent_acts and len(traversal.rounded) > 0:
            _quantize(traversal, depth)
    start = np.float32(0)
    if not opponent_acts and mode == RESPOND:
        start = np.float32(-np.inf)
    for i in range(deck.choose[popcount(unseen), frame["n_hidden"][traversal.traverser]]):
        buffers.value[depth, i] = start


@forceinline
def _pass_reach(traversal: Traversal, depth: int, action: Record) -> np.bool_:
    """Write the opponent's reach after an action; returns whether any hand reaches it."""
    tables, buffers = traversal.tree.tables, traversal.buffers
    below = depth + 1
    most = np.float32(0)
    if buffers.frames[depth]["actor"] == traversal.traverser:
        passive_at = action["passive_at"]
        for i in range(action["n_passive"]):
            reach = buffers.reach[depth, tables.without_card[passive_at + i]]
            buffers.reach[below, i] = reach
            most = max(most, reach)
        return most > 0
    entry, suit_at, card_at = action["entry"], action["suit_at"], action["card_at"]
    if suit_at > 0:
        for i in range(action["n_after"]):
            buffers.reach[below, i] = 0
    for i in range(action["size"]):
        to = tables.without_suit[suit_at + i]
        reach = (
            buffers.reach[depth, tables.with_card[card_at + to]]
            * buffers.strategy[depth, entry + i]
        )
        buffers.reach[below, to] = reach
        most = max(most, reach)
    return most > 0


@forceinline
def _back_up(traversal: Traversal, depth: int, action: Record, reached: bool) -> None:
    """Add the values of an action to those of its decision; zero where it is not `reached`."""
    tables, buffers = traversal.tree.tables, traversal.buffers
    below = depth + 1
    if buffers.frames[depth]["actor"] != traversal.traverser:
        if reached:
            passive_at = action["passive_at"]
            for i in range(action["n_passive"]):
                buffers.value[depth, tables.without_card[passive_at + i]] += buffers.value[below, i]
        return
    entry, suit_at, card_at = action["entry"], action["suit_at"], action["card_at"]
    first_cell = buffers.frames[depth]["first_cell"]
    for i in range(action["size"]):
        to = tables.without_suit[suit_at + i]
        hand = tables.with_card[card_at + to]
        value = buffers.value[below, to] if reached else np.float32(0)
        if traversal.mode == RESPOND:
            buffers.value[depth, hand] = max(buffers.value[depth, hand], value)
            if len(traversal.response_values) > 0:
                traversal.response_values[first_cell + entry + i] = value
        else:
            buffers.action_values[depth, entry + i] = value
            buffers.value[depth, hand] += buffers.strategy[depth, entry + i] * value


# -- after a trick


@forceinline
def _evaluate_ending(traversal: Traversal, depth: int, card: np.uint64, winner: int) -> None:
    """Write the values of the ending after a reply that ends the foreplay, won by `winner`."""
    tables, terminal, deck = (
        traversal.tree.tables,
        traversal.tree.terminal,
        traversal.tree.paths.deck,
    )
    buffers, choose = traversal.buffers, deck.choose
    frame, below = buffers.frames[depth], depth + 1
    traverser = traversal.traverser
    n_played = 1 if card & frame["unseen"] else 0
    n_hidden_own = frame["n_hidden"][traverser]
    n_hidden_other = frame["n_hidden"][1 - traverser]
    if frame["actor"] == traverser:
        n_hidden_own -= n_played
    else:
        n_hidden_other -= n_played
    taken = frame["tricks"] if winner == 0 else deck.tricks - 1 - frame["tricks"]
    taken = taken + 1 if len(terminal.payoffs) > 1 else 0
    in_play = _deck_mask(deck) & ~(frame["played"] | card)
    winner_cards = (frame["public_cards"][winner] & ~card) | ONE << np.uint64(frame["upcard"])
    ending = terminal.row_of[in_play]
    winner_bits = pack_bits(terminal.pack_table, winner_cards, in_play)
    unseen = frame["unseen"] & ~card
    cards = pack_bits(terminal.pack_table, unseen, in_play)
    m = popcount(unseen)
    won = winner == traverser
    at = tables.complement_at[m, n_hidden_own]
    size = m - n_hidden_own
    placed_at = tables.card_bits_at[cards, n_hidden_own if won else n_hidden_other]
    if won:
        for i in range(choose[m, n_hidden_own]):
            total = np.float32(0)
            for k in range(at, at + size):
                total += buffers.reach[below, tables.complement[k]]
            at += size
            hand = np.uint64(tables.card_bits[placed_at + i]) | winner_bits
            buffers.value[below, i] = total * terminal.payoffs[taken, ending, hand]
        return
    for i in range(choose[m, n_hidden_other]):
        hand = np.uint64(tables.card_bits[placed_at + i]) | winner_bits
        buffers.reach[below, i] *= terminal.payoffs_of_other[taken, ending, hand]
    for i in range(choose[m, n_hidden_own]):
        total = np.float32(0)
        for k in range(at, at + size):
            total += buffers.reach[below, tables.complement[k]]
        at += size
        buffers.value[below, i] = total


@forceinline
def _draw_reach(traversal: Traversal, depth: int) -> None:
    """Update the opponent's reach after its hidden draw."""
    tables, buffers, frame = (
        traversal.tree.tables,
        traversal.buffers,
        traversal.buffers.frames[depth],
    )
    own = frame["n_hidden"][1 - traversal.traverser]
    at = tables.drop_one_at[own]
    size = traversal.tree.paths.deck.choose[popcount(frame["unseen"]), own]
    for i in range(size):
        total = np.float32(0)
        for k in range(at, at + own):
            total += buffers.reach[depth, tables.drop_one[k]]
        at += own
        buffers.total[i] = total
    for i in range(size):
        buffers.reach[depth, i] = buffers.total[i]


@forceinline
def _undraw_values(traversal: Traversal, depth: int) -> None:
    """Update the traverser's values to those before its hidden draw."""
    tables, buffers, frame = (
        traversal.tree.tables,
        traversal.buffers,
        traversal.buffers.frames[depth],
    )
    choose, m = traversal.tree.paths.deck.choose, popcount(frame["unseen"])
    own = frame["n_hidden"][traversal.traverser]
    size = choose[m, own - 1]
    for i in range(size):
        buffers.total[i] = 0
    at = tables.drop_one_at[own]
    for i in range(choose[m, own]):
        for k in range(at, at + own):
            buffers.total[tables.drop_one[k]] += buffers.value[depth, i]
        at += own
    for i in range(size):
        buffers.value[depth, i] = buffers.total[i]


# -- the traversal


@forceinline
def _push_frame(frames: np.ndarray, depth: int, card: np.uint64) -> Record:
    frames[depth + 1] = frames[depth]
    new = frames[depth + 1]
    actor = new["actor"]
    if card & new["unseen"]:
        new["n_hidden"][actor] -= 1
    new["unseen"] &= ~card
    new["public_cards"][actor] &= ~card
    new["played"] |= card
    return new


@forceinline
def _begin_trick(tree: TreeArrays, frame: Record, index: int) -> None:
    frame["kind"] = _LEAD
    frame["actor"] = frame["leader"]
    frame["suit"] = ~NO_CARDS
    frame["n_actions"] = 0
    at = tree.paths.level_at[frame["level"]] + index
    frame["first_cell"] = tree.paths.cells[at]
    frame["child"] = tree.paths.children[at]


@forceinline
def _skip_replies(tree: TreeArrays, frame: Record, card: np.uint64) -> None:
    """Skip the cells and child tricks of the replies to a lead that is not reached."""
    other = 1 - frame["leader"]
    unseen, own = frame["unseen"] & ~card, frame["n_hidden"][other]
    suit = tree.paths.deck.suits[lowest(card)]
    replies = legal_replies(unseen, frame["public_cards"][other], own, suit)
    frame["reply_cell"] += decision_cells(tree.paths.deck.choose, unseen, own, replies, suit)
    while replies:
        reply = lowest_bit(replies)
        replies ^= reply
        frame["child"] += popcount(unseen & ~reply)


@forceinline
def _deck_mask(deck: DeckTables) -> np.uint64:
    return (ONE << np.uint64(len(deck.suits))) - ONE


@forceinline
def _begin(traversal: Traversal, root: int) -> None:
    """Write the first frame: every hand is possible behind this upcard."""
    deck, frame = traversal.tree.paths.deck, traversal.buffers.frames[0]
    frame["unseen"] = _deck_mask(deck) & ~(ONE << np.uint64(root))
    frame["played"] = NO_CARDS
    frame["leader"] = 0
    frame["upcard"] = root
    frame["level"] = 0
    frame["tricks"] = 0
    for player in range(2):
        frame["public_cards"][player] = NO_CARDS
        frame["n_hidden"][player] = deck.hand
    _begin_trick(traversal.tree, frame, root)
    for i in range(deck.choose[len(deck.suits) - 1, deck.hand]):
        traversal.buffers.reach[0, i] = 1


@forceinline
def _turn_up(traversal: Traversal, depth: int) -> int:
    """Turn up the next card; returns the number of frames pushed, 0 where nothing reaches it."""
    tree, buffers, frames = traversal.tree, traversal.buffers, traversal.buffers.frames
    frame = frames[depth]
    card = lowest_bit(frame["next_upcards"])
    frame["next_upcards"] ^= card
    unseen, n_hidden = frame["unseen"], frame["n_hidden"][1 - traversal.traverser]
    at = tree.tables.without_card_at[popcount(unseen & (card - ONE)), n_hidden]
    most = np.float32(0)
    for i in range(tree.paths.deck.choose[popcount(unseen) - 1, n_hidden]):
        reach = buffers.reach[depth, tree.tables.without_card[at + i]]
        buffers.reach[depth + 1, i] = reach
        most = max(most, reach)
    child = frame["child"]
    frame["child"] += 1
    if most <= 0:
        return 0
    frames[depth + 1] = frame
    below = frames[depth + 1]
    below["unseen"] ^= card
    below["upcard"] = lowest(card)
    below["level"] += 1
    _begin_trick(tree, below, child)
    return 1


@forceinline
def _lead(traversal: Traversal, depth: int, card: np.uint64, reached: bool) -> int:
    """Lead a card; returns the number of frames pushed."""
    frames = traversal.buffers.frames
    frame = frames[depth]
    if not reached:
        _skip_replies(traversal.tree, frame, card)
        return 0
    below = _push_frame(frames, depth, card)
    below["kind"] = _FOLLOW
    below["actor"] = 1 - frame["actor"]
    below["suit"] = traversal.tree.paths.deck.suits[lowest(card)]
    below["n_actions"] = 0
    below["first_cell"] = frame["reply_cell"]
    return 1


@forceinline
def _reply(traversal: Traversal, depth: int, card: np.uint64, reached: bool) -> int:
    """Reply with a card; returns the number of frames pushed."""
    buffers, deck, traverser = traversal.buffers, traversal.tree.paths.deck, traversal.traverser
    frame, above = buffers.frames[depth], buffers.frames[depth - 1]
    led = buffers.actions[depth - 1, above["next_action"]]["card"]
    winner = frame["actor"] if deck.wins[lowest(led), lowest(card)] else 1 - frame["actor"]
    if frame["level"] == deck.tricks - 1:
        if reached:
            _evaluate_ending(traversal, depth, card, winner)
        return 0
    if not reached:
        frame["child"] += popcount(frame["unseen"] & ~card)
        return 0
    below = _push_frame(buffers.frames, depth, card)
    below["public_cards"][winner] |= ONE << np.uint64(frame["upcard"])
    below["n_hidden"][1 - winner] += 1
    below["leader"] = winner
    below["kind"] = _CHANCE
    below["tricks"] += 1 - winner
    below["next_upcards"] = below["unseen"]
    if winner == traverser:
        _draw_reach(traversal, depth + 1)
    for i in range(deck.choose[popcount(below["unseen"]), below["n_hidden"][traverser]]):
        buffers.value[depth + 1, i] = 0
    return 1


@forceinline
def _add_upcard(traversal: Traversal, depth: int) -> None:
    """Add the values behind an upcard to those before it."""
    tables, buffers = traversal.tree.tables, traversal.buffers
    frame, below = buffers.frames[depth], buffers.frames[depth + 1]
    n_hidden = below["n_hidden"][traversal.traverser]
    card = ONE << np.uint64(below["upcard"])
    at = tables.without_card_at[popcount(frame["unseen"] & (card - ONE)), n_hidden]
    for i in range(traversal.tree.paths.deck.choose[popcount(below["unseen"]), n_hidden]):
        buffers.value[depth, tables.without_card[at + i]] += buffers.value[depth + 1, i]


@jit
def traverse(traversal: Traversal, root: int) -> float:
    """The traverser's total value over all deals with one first upcard.

    LEARN adds to the traverser's `regrets`, and `weight` times the opponent's strategy to
    `strategy_sum`; otherwise the opponent plays `strategy_sum`, normalized, which is written to
    `rounded` unless that is empty. RESPOND writes what the traverser wins by each action of its
    own, over all deals and with a best response behind it, to `response_values` unless that is
    empty.
    """
    buffers, deck, traverser = traversal.buffers, traversal.tree.paths.deck, traversal.traverser
    frames = buffers.frames
    _begin(traversal, root)
    depth, reached = 0, False
    while True:
        frame = frames[depth]
        complete = True
        if frame["kind"] == _CHANCE:
            if frame["next_upcards"]:
                depth += _turn_up(traversal, depth)
                continue
            if frame["leader"] != traverser:
                _undraw_values(traversal, depth)
        else:
            if frame["n_actions"] == 0:
                _begin_decision(traversal, depth)
            complete = frame["next_action"] == frame["n_actions"]
            if not complete:
                action = buffers.actions[depth, frame["next_action"]]
                card = action["card"]
                reached = _pass_reach(traversal, depth, action)
                if frame["kind"] == _LEAD:
                    pushed = _lead(traversal, depth, card, reached)
                else:
                    pushed = _reply(traversal, depth, card, reached)
                if pushed:
                    depth += 1
                    continue
            elif traversal.mode == LEARN and frame["actor"] == traverser:
                _update_regrets(traversal, depth)
        if complete:  # go up
            if depth == 0:
                break
            depth -= 1
            frame, below = frames[depth], frames[depth + 1]
            if frame["kind"] == _CHANCE:
                _add_upcard(traversal, depth)
                continue
            frame["child"] = below["child"]
            if frame["kind"] == _LEAD:
                frame["reply_cell"] = below["reply_cell"]
            reached = True
        _back_up(traversal, depth, buffers.actions[depth, frame["next_action"]], reached)
        frame["next_action"] += 1
    total = 0.0
    for i in range(deck.choose[len(deck.suits) - 1, deck.hand]):
        total += np.float64(buffers.value[0, i])
    return total
