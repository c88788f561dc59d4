"""A run: its folder, loop, lock, warm start and presets, and the API to start one."""
