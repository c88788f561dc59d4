"""Multilayer perceptrons, their gradients and Adam a second time: NumPy alone, in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Weights = dict[str, Array]


def float64_copy(weights: Mapping[str, Array]) -> Weights:
    return {name: weight.astype(np.float64) for name, weight in weights.items()}


def forward(weights: Weights, layers: Sequence[str], x: Array) -> list[Array]:
    """The input of each linear layer, with ReLUs between them, and the output of the last."""
    activations = [x]
    for number, layer in enumerate(layers, 1):
        out = activations[-1] @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"]
        activations.append(out if number == len(layers) else np.maximum(out, 0))
    return activations


def add_gradients(
    gradients: Weights,
    weights: Weights,
    layers: Sequence[str],
    activations: Sequence[Array],
    d_output: Array,
) -> None:
    """Add to `gradients` those of each layer, by backpropagation from the output's."""
    for layer, x in zip(reversed(layers), reversed(activations[:-1]), strict=True):
        for name, gradient in (
            (f"{layer}.weight", d_output.T @ x),
            (f"{layer}.bias", d_output.sum(axis=0)),
        ):
            gradients[name] = gradients.get(name, 0) + gradient
        d_output = (d_output @ weights[f"{layer}.weight"]) * (x > 0)


def masked_log_softmax(logits: Array, action_masks: Array) -> Array:
    """Logarithms of the probabilities of legal actions, minus infinity elsewhere."""
    legal = np.where(action_masks > 0, logits, -np.inf)
    legal = legal - legal.max(axis=1, keepdims=True)
    return legal - np.log(np.exp(legal).sum(axis=1, keepdims=True))


def seat_by_seat(
    seats: Array,
    rewards: Array,
    ended: Array,
    values: Array,
    after: Array,
    gamma: float,
    gae_lambda: float,
) -> Array:
    """Generalized advantages of one game, each seat by itself.

    `after`: value for each seat after the last step.
    """
    out = np.zeros(len(seats))
    for seat in range(2):
        own_steps = [step for step in range(len(seats)) if seats[step] == seat]
        advantage, next_value = 0.0, float(after[seat])
        stop = len(seats)
        for step in reversed(own_steps):
            ends = np.flatnonzero(ended[step:stop])
            last = step + int(ends[0]) + 1 if len(ends) else stop
            if len(ends):
                advantage, next_value = 0.0, 0.0
            td_error = rewards[step:last, seat].sum() + gamma * next_value - values[step]
            advantage = td_error + gamma * gae_lambda * advantage
            out[step], next_value, stop = advantage, values[step], step
    return out


class PlainAdam:
    """Kingma and Ba 2015, algorithm 1."""

    def __init__(self, weights: Weights, eps: float) -> None:
        self.first = {name: np.zeros_like(weight) for name, weight in weights.items()}
        self.second = {name: np.zeros_like(weight) for name, weight in weights.items()}
        self.eps, self.steps = eps, 0

    def step(self, weights: Weights, gradients: Weights, lr: float) -> None:
        self.steps += 1
        for name, gradient in gradients.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * gradient
            self.second[name] = 0.999 * self.second[name] + 0.001 * gradient**2
            mean = self.first[name] / (1 - 0.9**self.steps)
            spread = self.second[name] / (1 - 0.999**self.steps)
            weights[name] = weights[name] - lr * mean / (np.sqrt(spread) + self.eps)
