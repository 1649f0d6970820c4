"""Matches between engines that speak the course protocol: process, rules, referee, match, statistics.

Standard library only, but for Ray where a match is to be played on a cluster; it knows no grader and no neural network.
Engines meet it at a line protocol alone. docs/arena.md says what it promises.
"""
