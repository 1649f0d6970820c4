"""The checks of the assignment: pytest tests with points. Add one here and name its points in assignment.toml.

`test_training.py`, which needs a right search and network itself, is next to them in `grader/judge/trusted/`.
"""
