"""Solved strategies: their files, and the agent `nash` that plays them."""
