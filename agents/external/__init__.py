"""External policies as agents: functions, ONNX files, Stable-Baselines3 models."""
