"""Checkpoints: their schema, reading and writing, and the bundled weights."""
