"""Rule players: random, threshold, upcard value, counting."""
