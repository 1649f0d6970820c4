"""NoGo: whoever captures a stone, their own or the opponent's, or has no move left, has lost."""
