"""Supervised training on the games of an engine (`python -m training.supervised`): the data set, and learning from it."""
