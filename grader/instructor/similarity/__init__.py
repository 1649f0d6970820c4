"""`python -m grader similarity`: compare the submissions of a class with each other and with those of earlier years."""
