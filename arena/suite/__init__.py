"""Positions with known best moves, for engines to solve."""
