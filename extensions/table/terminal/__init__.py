"""The table in a terminal: by keys and colors, or line by line."""
