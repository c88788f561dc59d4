"""A session at the table: its rules, store, opponents."""
