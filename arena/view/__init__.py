"""Games to look at again: pages for a browser, from the records of a match, from SGF, or inside a report of the grader."""
