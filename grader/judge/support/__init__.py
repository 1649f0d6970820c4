"""Code shared by the checks: positions, trees, random draws, engines, and the source of correct answers."""
