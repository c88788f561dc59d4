"""Equilibria and best responses on small decks, by walks over the public tree."""
