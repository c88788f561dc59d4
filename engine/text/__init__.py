"""Text for language models: what a player knows, and the actions that an answer names."""
