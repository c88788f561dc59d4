"""The table in a terminal: by keys and colours, or line by line."""
