"""Computed examples of docs/theory.md: each module computes one, and `python docs/generate.py` writes them into the text."""
