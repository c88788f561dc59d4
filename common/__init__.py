"""What knows nothing of the game: files, checked input, console, plugins, settings, executors."""
