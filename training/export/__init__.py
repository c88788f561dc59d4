"""Checkpoints for other programs: ONNX graphs, half precision."""
