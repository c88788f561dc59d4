"""Determinizations: full deals drawn in keeping with a view."""
