"""The autograder: submission -> workspace -> checks -> grade -> report.

Data travels one way and results are produced on the trusted side alone; student code runs in other processes
(`grader.worker`, engines of `Minimax.arena`), confined by `grader.sandbox`, and only plain values come back.
"""
