"""Environments: PettingZoo AEC, Gymnasium, vectors, self-play, Stable-Baselines3, OpenSpiel."""

from __future__ import annotations

from ..common.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
