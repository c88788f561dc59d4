"""Exact endgames."""
