"""What the checks have in common: positions, trees, draws, engines, and where right answers come from."""
