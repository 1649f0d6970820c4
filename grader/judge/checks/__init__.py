"""The checks of the assignment: pytest tests with points. To add one, write it here and give its points in assignment.toml.

The training checks need a correct search and network, so they are in `grader/judge/trusted/test_training.py`; a kit runs
`test_own_training.py` instead.
"""
