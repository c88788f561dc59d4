"""Learning what the searches know: hands played by a policy, and networks fitted to them."""
