"""The code that knows the correct answers; no kit contains it."""
