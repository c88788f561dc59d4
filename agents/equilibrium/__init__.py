"""Small decks that are solved: their public tree, and strategies on it."""
