"""Labels and sentences of the table."""
