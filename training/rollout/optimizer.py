"""Optimizer of networks."""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import torch
from torch import Tensor


class Adam(torch.optim.Adam):
    """Adam (Kingma and Ba 2015) without torch's compiler.

    The first call of an optimizer's method loads the compiler, only to exclude the method from
    compilation: one and a half seconds at the start of every training, which compiles nothing.
    """

    def __init__(self, params: Any, lr: float, eps: float = 1e-8, on_gpu: bool = False) -> None:
        """`on_gpu`: a kernel a group, which a CUDA graph may replay with another learning rate."""
        super().__init__(params, lr, eps=eps, fused=on_gpu or None, capturable=on_gpu)
        for group in self.param_groups:
            if on_gpu:
                device = group["params"][0].device
                group["lr"] = torch.tensor(lr, dtype=torch.float32, device=device)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate, times the `lr_scale` of each group."""
        for group in self.param_groups:
            rate = lr * group["lr_scale"]
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    add_param_group = unwrap(torch.optim.Adam.add_param_group)
    load_state_dict = unwrap(torch.optim.Adam.load_state_dict)
    state_dict = unwrap(torch.optim.Adam.state_dict)
    zero_grad = unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))
