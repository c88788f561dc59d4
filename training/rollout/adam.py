"""Torch's Adam without torch's compiler.

The first call of an optimizer's method loads torch's compiler, only to exclude the method from
compilation: one and a half seconds at the start of every training, which compiles nothing.
"""

from __future__ import annotations

from inspect import unwrap

import torch


class Adam(torch.optim.Adam):
    """Adam (Kingma and Ba 2015) without the decorators that load the compiler."""

    add_param_group = unwrap(torch.optim.Adam.add_param_group)
    load_state_dict = unwrap(torch.optim.Adam.load_state_dict)
    state_dict = unwrap(torch.optim.Adam.state_dict)
    zero_grad = unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))
