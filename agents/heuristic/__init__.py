"""Rule-based agents: random, threshold, upcard value, counting."""
