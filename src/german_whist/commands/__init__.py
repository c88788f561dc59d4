# pyright: strict
"""The sub-commands of `german-whist`, a module each."""
