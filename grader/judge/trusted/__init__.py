"""The right answers: the grader's own search and network, and the check that cannot do without them. Never in a kit."""
