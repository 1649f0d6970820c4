"""Labs: further assignments of the course, one folder each, graded by the same grader (`--lab NAME`)."""
