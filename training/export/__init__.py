"""Checkpoints for other programs: ONNX graphs, and folders with a model card."""
