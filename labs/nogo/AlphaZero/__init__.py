"""The search of Part 2, which plays NoGo as it played Gomoku."""
