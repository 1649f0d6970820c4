"""Matches between engines that speak the course protocol: process, rules, referee, match, statistics.

Standard library only; it knows no grader and no neural network. Engines meet it at the line protocol alone.
"""
