"""The checks of the assignment: pytest tests with points. Add one here and name its points in assignment.toml.

The one that needs a right search and network itself, `test_training.py`, lies with them in `grader/judge/trusted/`.
"""
