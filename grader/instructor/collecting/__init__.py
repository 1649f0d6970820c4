"""`python -m grader collect`: the submissions of a class, taken out of the downloads of a platform."""
