"""Observations: the flat vector, the history, and the features of a rule set."""
