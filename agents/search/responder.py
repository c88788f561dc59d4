# pyright: reportArgumentType=false
"""Approximate best response to one fixed agent, by a search that uses a model of its policy.

`responder:256,against=threshold` plays against `threshold` only. The opponent's past cards are
evidence of its hand: hidden hands are sampled in proportion to the likelihood of all its cards,
by a Markov chain (Metropolis and Hastings) that proposes to swap two hidden cards.

In each determinization every card is tried. The opponent's model then plays from its own view,
and the agent plays by a policy of its own (`by`). A value network evaluates the position after
one trick or more (`ahead`); with `value=none`, and for rules that it does not cover, the stock is
played out. The card with the best mean is played, plus a small weight for the log prior if `by`
is a network. `opponent_models` lists the agents that have models.

Its win rate is a lower bound of the opponent's exploitability (docs/results/exploitability.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, inline_ir, jit, noinline, warm_up
from ...engine.bitset import NO_CARDS, ONE, bit, lowest
from ...engine.cards import N_ACTIONS, N_CARDS
from ...engine.dtypes import GAME, LEAD, MAX_TRICKS, NO_CARD, UNSEEN_CARD, VIEW
from ...engine.endgame import Scratch, Tablebase
from ...engine.endgame.game_values import inexact_reason
from ...engine.endgame.solver import thread_scratch
from ...engine.play import Record, play, row, set_up
from ...engine.rng import random_below, random_fraction
from ...engine.rules import Match, RulesLike
from ...engine.sampling.determinizations import (
    SAMPLING_PLAN,
    draw_determinization,
    plan_determinizations,
)
from ...engine.view import legal_in_view, write_position
from ..base import CannotPlay, ViewBatch
from ..checkpoints import find_checkpoint, model_file
from ..checkpoints.bundled import VALUE_WEIGHTS
from ..networks.mlp import NO_MLP, MLPBatch, MLPWeights, forward_rows, new_mlp_batch
from ..networks.policy import PolicyBuffers, new_policy_buffers
from ..networks.search_networks import covers_rules
from ..networks.value import (
    MAX_VALUE_INPUTS,
    expected_payoff,
    outcome_payoffs,
    read_value_network,
    write_value_inputs,
)
from ..options import Options, Text, parse_options
from .base import PRIOR, PRUNE_BY_RACING, SearchAgent, parse_tricks_option, searchable_actions
from .leaf_values import ending_value
from .opponent_models import (
    ARGMAX,
    OpponentModel,
    card_probability,
    opponent_model,
    opponent_weights,
    sample_card,
)

CHAIN_LENGTH = 16
"""Determinizations per Markov chain."""
BURN_IN_STEPS, STEPS = 400, 60
"""Proposals before the first determinization of a chain, and before each later one."""
NETWORK_STEPS_DIVISOR = 8
"""Divides the number of proposals if each needs network queries."""
IN_STOCK = 99
"""Arrival trick of a card that is still in the stock."""


class ResponderModels(NamedTuple):
    """Policies and value network of a search."""

    opponent: OpponentModel
    own: OpponentModel
    value: MLPWeights
    uses_value: bool
    """Whether the value network evaluates leaves, or the stock is played out."""
    ahead: int
    payoffs: np.ndarray
    """Payoff of each number of tricks in the ending."""
    burn_in_steps: int
    steps: int


PAST_DECISION = np.dtype(
    [
        ("card", np.int64),  # the opponent's card
        ("trick", np.int64),
        ("possible", np.uint64),  # its hidden cards, and the cards unseen by it
        ("known", np.uint64),  # its publicly known cards
        ("played", np.uint64),  # its past cards
        ("arrived", np.uint64),  # hidden cards that it had been dealt or drawn, past cards included
        ("log_prob", np.float64),  # of its card
        ("new_log_prob", np.float64),  # of its card under the proposed swap
    ]
)

HIDDEN_CARD = np.dtype(
    [
        ("deal_index", np.int64),
        ("arrival", np.int64),  # trick before which the opponent got it, or IN_STOCK
        ("card", np.int64),
    ]
)

CHAIN_PROGRESS = np.dtype(
    [("n_decisions", np.int64), ("n_hidden", np.int64), ("samples", np.int64)]
)


class ResponderSearch(NamedTuple):
    """A search in games of one contract: rules, exact endings, models, and a thread's buffers."""

    rules: np.ndarray
    tablebase: Tablebase
    models: ResponderModels
    scratch: Scratch
    plans: np.ndarray
    games: np.ndarray
    """The determinization, and a playout in it."""
    view_buffer: np.ndarray
    opponent_buffers: PolicyBuffers
    own_buffers: PolicyBuffers
    value_rows: MLPBatch
    """Buffers of the value network."""
    decision_views: np.ndarray
    """The opponent's view at each of its decisions, except its hand."""
    decisions: np.ndarray
    hidden_cards: np.ndarray
    totals: np.ndarray
    progress: np.ndarray


def new_search(rules: np.ndarray, tablebase: Tablebase, models: ResponderModels) -> ResponderSearch:
    return ResponderSearch(
        rules=rules,
        tablebase=tablebase,
        models=models,
        scratch=thread_scratch(),
        plans=np.zeros(1, SAMPLING_PLAN),
        games=np.zeros(2, GAME),
        view_buffer=np.zeros(1, VIEW),
        opponent_buffers=new_policy_buffers(models.opponent.net),
        own_buffers=new_policy_buffers(models.own.net),
        value_rows=new_mlp_batch(models.value, 1, MAX_VALUE_INPUTS),
        decision_views=np.zeros(MAX_TRICKS, VIEW),
        decisions=np.zeros(MAX_TRICKS, PAST_DECISION),
        hidden_cards=np.zeros(N_CARDS, HIDDEN_CARD),
        totals=np.zeros(N_ACTIONS),
        progress=np.zeros(1, CHAIN_PROGRESS),
    )


# -- evidence: the opponent's past decisions


@jit
def _record_decision(search: ResponderSearch, view: Record, game: Record, card: int) -> None:
    other = 1 - np.int64(view.seat)
    if game.turn != other:
        return
    progress = row(search.progress, 0)
    opponent_view = row(search.decision_views, progress.n_decisions)
    decision = row(search.decisions, progress.n_decisions)
    write_position(row(search.rules, 0), game, other, opponent_view)
    decision.card = card
    decision.trick = game.trick
    decision.possible = opponent_view.hand | opponent_view.unseen
    decision.played = opponent_view.played[0]
    decision.known = game.known_cards[other]
    progress.n_decisions += 1


@noinline
def _replay_past(search: ResponderSearch, view: Record) -> None:
    """Replay the hand so far to collect the opponent's decisions, whatever it holds."""
    rules, seat = row(search.rules, 0), np.int64(view.seat)
    search.games[1] = search.games[0]
    game = row(search.games, 1)
    # A game of the same deal, from its beginning.
    for index in range(len(game.led_cards)):
        game.led_cards[index] = 0
        game.followed_cards[index] = 0
    set_up(rules, game, seat if view.i_deal == 1 else 1 - seat)
    row(search.progress, 0).n_decisions = 0
    for trick in range(len(view.led_cards)):
        for card in (np.int64(view.led_cards[trick]), np.int64(view.followed_cards[trick])):
            if card != NO_CARD:
                _record_decision(search, view, game, card)
                play(rules, game, card)


@noinline
def _locate_hidden_cards(search: ResponderSearch, view: Record) -> None:
    """Collect the deal indices of hidden cards, and the trick in which the opponent took each."""
    rules = row(search.rules, 0)
    hand, stock = np.int64(rules.hand), np.int64(rules.stock)
    count = 0
    for place in range(hand):
        hidden = row(search.hidden_cards, count)
        hidden.deal_index = 2 * place + (0 if view.i_deal == 1 else 1)
        hidden.arrival = 0
        count += 1
    for trick in range(stock // 2):
        if view.opponent_draws[trick] == UNSEEN_CARD:
            hidden = row(search.hidden_cards, count)
            hidden.deal_index = 2 * hand + 2 * trick + 1
            hidden.arrival = trick + 1
            count += 1
    for place in range(stock - np.int64(view.stock_left) + 1, stock):
        hidden = row(search.hidden_cards, count)
        hidden.deal_index = 2 * hand + place
        hidden.arrival = IN_STOCK
        count += 1
    row(search.progress, 0).n_hidden = count


@forceinline
def _log_prob(search: ResponderSearch, index: int, arrived: np.uint64) -> float:
    """Log probability of the opponent's card at a decision, given its hidden cards then."""
    decision = row(search.decisions, index)
    hand = (arrived & ~decision.played) | decision.known
    card = decision.card
    if not (hand >> np.uint64(card)) & ONE:
        return -np.inf
    view = row(search.decision_views, index)
    view.hand = hand
    view.unseen = decision.possible & ~hand
    probability = card_probability(
        row(search.rules, 0), view, search.models.opponent, search.opponent_buffers, card
    )
    return np.log(probability) if probability > 0.0 else -np.inf


# -- determinizations by a Markov chain


@inline_ir
def _start_chain(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    game, progress = row(search.games, 0), row(search.progress, 0)
    draw_determinization(row(search.rules, 0), view, row(search.plans, 0), stream, game)
    for index in range(progress.n_hidden):
        hidden = row(search.hidden_cards, index)
        hidden.card = game.deal[hidden.deal_index]
    for decision_index in range(progress.n_decisions):
        decision = row(search.decisions, decision_index)
        arrived = NO_CARDS
        for index in range(progress.n_hidden):
            hidden = row(search.hidden_cards, index)
            if hidden.arrival <= decision.trick:
                arrived |= bit(hidden.card)
        decision.arrived = arrived
        decision.log_prob = _log_prob(search, decision_index, arrived)


@noinline
def _run_chain(search: ResponderSearch, steps: int, stream: np.ndarray) -> None:
    """Run steps of the chain in one call, because a call passes all arrays of the search."""
    for _ in range(steps):
        _metropolis_step(search, stream)


@forceinline
def _metropolis_step(search: ResponderSearch, stream: np.ndarray) -> None:
    """One step of the chain: propose to swap two hidden cards, accept or reject.

    Proposals are symmetric, so the acceptance probability is the likelihood ratio of the opponent's
    past cards (Metropolis and others 1953). Only decisions between the arrivals of the two cards
    change.
    """
    progress = row(search.progress, 0)
    earlier = row(search.hidden_cards, random_below(stream, progress.n_hidden))
    later = row(search.hidden_cards, random_below(stream, progress.n_hidden))
    if earlier.arrival > later.arrival:
        earlier, later = later, earlier
    first_trick, last_trick = earlier.arrival, later.arrival
    if first_trick == last_trick:
        return
    swap = bit(earlier.card) | bit(later.card)
    old_log_prob = 0.0
    for index in range(progress.n_decisions):
        decision = row(search.decisions, index)
        if first_trick <= decision.trick < last_trick:
            old_log_prob += decision.log_prob
    log_threshold = old_log_prob + np.log(max(random_fraction(stream), 1e-300))
    for index in range(progress.n_decisions):
        decision = row(search.decisions, index)
        if first_trick <= decision.trick < last_trick:
            decision.new_log_prob = _log_prob(search, index, decision.arrived ^ swap)
            log_threshold -= decision.new_log_prob
            # No probability is more than one, so what is left cannot make up for it.
            if not log_threshold <= 0.0:
                return
    for index in range(progress.n_decisions):
        decision = row(search.decisions, index)
        if first_trick <= decision.trick < last_trick:
            decision.arrived ^= swap
            decision.log_prob = decision.new_log_prob
    card = earlier.card
    earlier.card = later.card
    later.card = card


@jit
def _apply_chain(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    game, other = row(search.games, 0), 1 - np.int64(view.seat)
    arrived = NO_CARDS
    count = row(search.progress, 0).n_hidden
    for index in range(count):
        hidden = row(search.hidden_cards, index)
        if hidden.arrival != IN_STOCK:
            arrived |= bit(hidden.card)
            continue
        swapped = row(search.hidden_cards, index + random_below(stream, count - index))
        card = swapped.card
        swapped.card = hidden.card
        hidden.card = card
        game.deal[hidden.deal_index] = card
    game.hand[other] = (arrived & ~view.played[1]) | view.opponent_known


# -- values of cards


@noinline
def _rollout(search: ResponderSearch, seat: int, trick: int, stream: np.ndarray) -> float:
    rules, models = row(search.rules, 0), search.models
    game, view = row(search.games, 1), row(search.view_buffer, 0)
    while True:
        if game.phase == LEAD:
            sign = 1.0 if game.leader == seat else -1.0
            remaining = np.int64(rules.stock) - np.int64(game.drawn)
            if remaining == 0:
                return sign * ending_value(rules, search.tablebase, search.scratch, game)
            if models.uses_value and remaining > 2 and np.int64(game.trick) - trick >= models.ahead:
                rows = search.value_rows
                rows.n_active[0] = write_value_inputs(rules, game, rows.active_inputs[0])
                forward_rows(models.value, rows, 1)
                return sign * expected_payoff(rows.out[0], models.payoffs)
        turn = np.int64(game.turn)
        write_position(rules, game, turn, view)
        if turn == seat:
            card = sample_card(rules, view, models.own, search.own_buffers, stream)
        else:
            card = sample_card(rules, view, models.opponent, search.opponent_buffers, stream)
        play(rules, game, card)


@noinline
def _start_search(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    rules, plan = row(search.rules, 0), row(search.plans, 0)
    search.totals[:] = 0
    row(search.progress, 0).samples = 0
    plan_determinizations(view, True, plan)
    draw_determinization(rules, view, plan, stream, row(search.games, 0))
    _replay_past(search, view)
    _locate_hidden_cards(search, view)


@noinline
def _next_determinization(search: ResponderSearch, view: Record, stream: np.ndarray) -> None:
    progress = row(search.progress, 0)
    has_history, steps = progress.n_decisions > 0, search.models.steps
    if progress.samples % CHAIN_LENGTH == 0 or not has_history:
        _start_chain(search, view, stream)
        steps = search.models.burn_in_steps
    if has_history:
        _run_chain(search, steps, stream)
    _apply_chain(search, view, stream)
    progress.samples += 1


@jit
def _try_determinizations(
    search: ResponderSearch, view: Record, samples: int, stream: np.ndarray
) -> None:
    rules, seat = row(search.rules, 0), np.int64(view.seat)
    for _ in range(samples):
        _next_determinization(search, view, stream)
        cards = legal_in_view(rules, view)
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            search.games[1] = search.games[0]
            play(rules, row(search.games, 1), card)
            search.totals[card] += _rollout(search, seat, np.int64(view.trick), stream)


@jit
def _score(search: ResponderSearch, card: int) -> float:
    """Mean value of a card, plus its weighted log prior if the own policy is a network."""
    score = search.totals[card] / row(search.progress, 0).samples
    if search.models.own.kind >= ARGMAX:
        score += PRIOR * search.own_buffers.logits[card]
    return score


@jit
def _responder_actions(
    search: ResponderSearch, batch: ViewBatch, samples: int, accumulate: bool
) -> None:
    rules = row(search.rules, 0)
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        cards = searchable_actions(rules, search.tablebase, view, index, batch.actions)
        if cards == NO_CARDS:
            continue
        stream = batch.rng[index : index + 1]
        if not accumulate:
            _start_search(search, view, stream)
        _try_determinizations(search, view, samples, stream)
        # Of equals the card that it would play by its own policy, which says what it likes.
        best = sample_card(rules, view, search.models.own, search.own_buffers, stream)
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            if _score(search, card) > _score(search, best) + 1e-9:
                best = card
        batch.actions[index] = best


# -- the agent


class ResponderOptions(Options, frozen=True):
    """The agent that is answered, and how the search evaluates."""

    against: Text = ""
    by: Text = ""
    value: Text = ""
    ahead: Text = "1"
    takes = (
        "it takes against=AGENT, which it answers, by=AGENT, how it plays on itself, value=PATH "
        "or value=none, and ahead=TRICKS, after how many that is asked"
    )


class ResponderAgent(SearchAgent):
    """Search for a best response to one fixed agent with a known policy."""

    kernel = staticmethod(_responder_actions)
    kind = "responder"
    chunk = CHAIN_LENGTH

    def __init__(
        self,
        rules: RulesLike = "classic",
        samples: object = 64,
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is a number of determinizations or a time per move."""
        super().__init__(rules, samples, match)
        # The opponent's hidden cards have to be tracked.
        tracked = self.rules.faced == "every" and not self.rules.choice and not self.rules.exchange
        if not tracked or inexact_reason(self.rules):
            raise CannotPlay(
                f"the responder does not play {self.rules.name}: it knows games in which one "
                "upcard is turned for each trick and the winner takes it, and whose ending is "
                "open, short and no race"
            )
        options = parse_options(option_words, ResponderOptions, "a responder")
        self.name += "".join(f",{word}" for word in option_words)
        if not options.against:
            raise ValueError("a responder answers one agent: name it, as in against=threshold")
        opponent = opponent_model(options.against, self.rules)
        value = options.value
        if not value:
            value = str(VALUE_WEIGHTS) if covers_rules(VALUE_WEIGHTS, self.rules) else "none"
        divisor = NETWORK_STEPS_DIVISOR if opponent.kind >= ARGMAX else 1
        own_player = options.by or ("champion" if value != "none" else "counting")
        weights = [opponent_weights(name, self.rules) for name in (options.against, own_player)]
        networks = [*filter(None, weights), *([value] if value != "none" else [])]
        files = (model_file(find_checkpoint(name)) for name in networks)
        self.checkpoints = tuple(dict.fromkeys(files))
        self.models = ResponderModels(
            opponent=opponent,
            own=opponent_model(own_player, self.rules),
            value=NO_MLP if value == "none" else read_value_network(Path(value), self.rules),
            uses_value=value != "none",
            ahead=parse_tricks_option(
                "ahead", options.ahead, 1, self.rules, "are played out before that"
            ),
            payoffs=outcome_payoffs(self.rules),
            burn_in_steps=BURN_IN_STEPS // divisor,
            steps=STEPS // divisor,
        )
        warm_up("responder", "agents", self._compile, seconds=10)

    def _new_search(self, pruning: int = PRUNE_BY_RACING) -> ResponderSearch:
        return new_search(self.rules_array, self._tablebases[0], self.models)
