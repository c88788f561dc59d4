"""Policies in tables: files of solved strategies, the agent `nash`, tabular checkpoints."""
