"""Equilibria and best responses of small decks: CFR+, MCCFR, the public tree and the game tree.

Files of strategies and the agent that plays them are in `agents/tabular`, since they are
checkpoints and an agent; what measures an agent's exploitability is in `evaluation/exploitability`.
"""
