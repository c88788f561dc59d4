"""Torch's Adam without torch's compiler.

Whatever an optimizer does first asks that nobody compile it, and loads the compiler to ask: one
and a half seconds at the beginning of every training, which compiles nothing.
"""

from __future__ import annotations

from inspect import unwrap

import torch


class Adam(torch.optim.Adam):
    """The same, without that request."""

    add_param_group = unwrap(torch.optim.Adam.add_param_group)
    load_state_dict = unwrap(torch.optim.Adam.load_state_dict)
    state_dict = unwrap(torch.optim.Adam.state_dict)
    zero_grad = unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))
