"""The checks of the assignment: pytest tests with points. To add one, write it here and give its points in assignment.toml.

`test_training.py` itself needs a correct search and network, so it is in `grader/judge/trusted/`.
"""
