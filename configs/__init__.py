"""Presets as YAML files: rule sets, trainings, arena ladders."""
