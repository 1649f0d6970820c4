"""The search of Part 2, with one action more than the board has points."""
