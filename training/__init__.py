"""Learning and measuring: trainers, checkpoints, the arena, ratings."""

import os

# Before torch loads: by default waiting threads spin, which slows everything down many times on
# busy cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
