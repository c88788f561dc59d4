"""Learning and measuring: trainers, checkpoints, the arena, ratings."""
