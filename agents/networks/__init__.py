"""Networks that play without torch: MLP inference, policy, value and belief networks."""
