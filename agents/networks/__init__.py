"""Networks without torch: MLP inference, policy, value and belief networks; policies in tables."""
