"""After the hand: analysis, accuracy, replay, hints, puzzles."""
