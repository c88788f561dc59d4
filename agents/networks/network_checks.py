"""What a custom network has to respect, tried on made-up observations before it is trained.

Its policy has to be the same function of the observations for whoever trains, plays or measures
it: the guide has the rules (`docs/guide/network.md`).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...common.plugins import error_location, error_text
from .custom_network import CustomNetwork

_ROWS = 5
"""Observations that are tried."""
_ROUNDING, _LEAST_DIFFERENCE, _HUGE_LOGIT = 0.01, 1e-5, 1e4


@torch.no_grad()
def check_answers(network: CustomNetwork, twin: CustomNetwork) -> None:
    """Refuse what answers by hidden cards, or otherwise when asked again or beside others.

    Its probabilities could be neither stated nor measured. `twin` is made with the same seed,
    and has to be the same network when it has the same weights, as one from a checkpoint has.
    Do not train them afterwards: asking may change what `forward` keeps, and weights of zero,
    which would hide all, become others.
    """
    names = {*network.state_dict()}
    _check_without_hidden_cards(network)
    generator = torch.Generator().manual_seed(0)
    shape = _ROWS, network.width
    observations = torch.randint(2, shape, generator=generator).float()
    _check_same_answers(network, observations, names)
    for param in network.parameters():
        if param.requires_grad and param.numel() and not param.any():
            # As large as usual: a recurrence with larger weights would amplify rounding.
            std = param[0].numel() ** -0.5 if param.ndim > 1 else 1.0
            param.normal_(std=std, generator=generator)
    _check_same_answers(network, observations, names)
    shape = _ROWS, network.n_hidden_inputs
    hidden_cards = torch.randint(2, shape, generator=generator).float()
    _check_equal(
        network,
        observations,
        lambda seen: network(seen, hidden_cards),
        "gives other logits when it is given hidden cards: let the values alone depend on "
        "them, since whoever plays does not see them",
    )
    twin.load_weights(network.weights())
    _check_equal(
        network,
        observations,
        twin,
        "is another network when it is made again with the same weights: keep what __init__ "
        "draws at random in a buffer, or draw it from torch's generator, which has the run's "
        "seed",
    )


def _check_same_answers(network: CustomNetwork, observations: Tensor, names: set[str]) -> None:
    """Refuse answers that are random or of other rows, and weights beside those of `names`."""
    seen = observations.clone()
    try:
        logits, again = network(seen)[0], network(observations.clone())[0]
    except Exception:
        return  # It is told where it learns, with the lines of the class.
    if not seen.equal(observations):
        raise ValueError(
            f"{network.name} changes its observations in place: let forward work on a copy"
        )
    if made := {*network.state_dict()} - names:
        made_names = ", ".join(sorted(name.removeprefix("module.") for name in made))
        raise ValueError(
            f"{network.name} makes {made_names} in forward, where no optimizer knows of it: make "
            "all parameters and buffers in __init__"
        )
    if not _alike(logits, again):
        raise ValueError(
            f"{network.name} answers the same observations otherwise when it is asked again: "
            "leave out random numbers, and state between calls; dropout is off where it is "
            "an nn.Dropout, or F.dropout with training=self.training"
        )
    try:
        backwards, alone = network(observations.flip(0))[0].flip(0), network(observations[:1])[0]
    except Exception as error:
        raise ValueError(
            f"{network.name} does not answer observations in another order, or one alone: "
            f"{error_text(error)} ({error_location(error)})"
        ) from error
    if not (_alike(logits, backwards) and _alike(logits[:1], alone)):
        raise ValueError(
            f"{network.name} answers an observation otherwise beside other ones: let each row of "
            "the answer depend on the same row of the observations alone"
        )


def _check_equal(
    network: CustomNetwork,
    observations: Tensor,
    ask: Callable[[Tensor], tuple[Tensor, Tensor]],
    fault: str,
) -> None:
    """Refuse other logits where the same are needed."""
    try:
        logits, others = network(observations)[0], ask(observations)[0]
    except Exception:
        return  # It is told where it learns, with the lines of the class.
    if not _alike(logits, others):
        raise ValueError(f"{network.name} {fault}")


def _check_without_hidden_cards(network: CustomNetwork) -> None:
    """Refuse what answers while it learns, and could not play afterwards.

    Without a privileged critic, the hidden cards of the training have no columns.
    """
    observations = torch.zeros(2, network.width)
    hidden_cards = torch.zeros(2, network.n_hidden_inputs)
    with torch.random.fork_rng(devices=[]):
        try:
            network(observations, hidden_cards)
        except Exception:
            return  # It is told where it learns, with the lines of the class.
        try:
            network(observations)
        except Exception as error:
            raise ValueError(
                f"{network.name} gives no logits without hidden cards: forward(observations, "
                f"None) raised {error_text(error)} ({error_location(error)}), and whoever "
                "plays does not see hidden cards"
            ) from error


def _alike(logits: Tensor, others: Tensor) -> bool:
    """Whether logits differ by rounding at most, which is coarse in half precision."""
    # Those of actions that a class rules out itself are equal, or huge.
    differ = ~logits.isclose(others, rtol=0, atol=0, equal_nan=True)
    small = differ & (logits.abs() < _HUGE_LOGIT) & (others.abs() < _HUGE_LOGIT)
    if small.any():
        difference = (logits - others)[small].abs().max()
        # Logits that begin at zero as a difference of large numbers are rounding alone.
        if difference > max(_ROUNDING * logits[small].abs().max(), _LEAST_DIFFERENCE):
            return False
    # Each by its own size, too: large ones would hide random small ones.
    return torch.allclose(logits, others, rtol=_ROUNDING, atol=10 * _ROUNDING, equal_nan=True)
