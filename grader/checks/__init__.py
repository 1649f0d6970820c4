"""The checks of the assignment: pytest tests with points. Add one here and name its points in assignment.toml."""
