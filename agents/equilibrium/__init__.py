"""Solved small decks: their public tree, and strategies on it."""
