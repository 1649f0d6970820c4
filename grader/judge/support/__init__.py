"""What the checks share: positions, trees, draws, engines, and the source of right answers."""
