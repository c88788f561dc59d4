"""Policies of others as agents: functions, ONNX files, models of Stable-Baselines3."""
