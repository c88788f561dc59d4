"""The game itself: cards, rules, deals, play, views, observations, worlds, records."""
