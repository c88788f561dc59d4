"""What trainers share: rollout and replay buffers, networks, compiled kernels, backends."""
