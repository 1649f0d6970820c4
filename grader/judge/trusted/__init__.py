"""The correct answers: the grader's own search and network, and the check that needs them. Never part of a kit."""
