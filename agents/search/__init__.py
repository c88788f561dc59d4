"""Search agents: flat Monte Carlo, the thinker, best response, and what they share."""
