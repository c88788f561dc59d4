"""OpenSpiel's `ISMCTSBot` against the agent `ismcts` on a small deck: one algorithm, two programs.

Run it with `python docs/interop/open_spiel_example.py [DEALS]`, with the extra `open-spiel`. Each
deal is played twice, in both seats; it ends with an error if one of them is clearly stronger.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from open_spiel.python.algorithms.ismcts import ISMCTSBot
from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator

from german_whist import View, load_agent
from german_whist.envs import open_spiel_game

RULES, SIMULATIONS = "2x4-h2", 100
TOLERANCE = 0.1
"""Payoff a hand; two intervals for 100 deals."""


def payoff_of_bot(game: Any, bot: Any, act: Callable[[View], int], deal: int, seat: int) -> float:
    """What the bot wins in a seat of a deal."""
    state = game.new_initial_state()
    state.apply_action(deal)
    while not state.is_terminal():
        if state.current_player() == seat:
            action = int(bot.step(state))
        else:
            action = act(state.game.view())
        state.apply_action(action)
    return float(state.returns()[seat])


def main() -> None:
    """Play the deals, and print what the bot wins a hand."""
    deals = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    chance = np.random.RandomState(1)
    game = open_spiel_game(RULES)
    bot = ISMCTSBot(
        game,
        RandomRolloutEvaluator(1, chance),
        uct_c=1.4,  # for payoffs from -1 to 1, as 0.7 of `ismcts` for results from 0 to 1
        max_simulations=SIMULATIONS,
        random_state=chance,
        allow_inconsistent_action_sets=True,
    )
    agent = load_agent(f"ismcts:{SIMULATIONS},endgame=search", RULES)
    streams = np.random.default_rng(1)
    pairs = []
    for _ in range(deals):
        deal = chance.randint(game.max_chance_outcomes())
        payoffs = [
            payoff_of_bot(game, bot, lambda view: int(agent.act(view, streams)), deal, seat)
            for seat in (0, 1)
        ]
        pairs.append(np.mean(payoffs))
    margin = 1.96 * np.std(pairs, ddof=1) / np.sqrt(deals)
    mean = np.mean(pairs)
    print(f"ISMCTSBot against {agent.name}, {RULES}: {mean:+.3f} ± {margin:.3f} a hand")
    assert abs(mean) < TOLERANCE


if __name__ == "__main__":
    main()
