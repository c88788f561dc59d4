"""The game itself: cards, rules, deals, play, views, observations, determinizations, records."""
