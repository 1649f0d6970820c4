"""Matches between engines that speak the course protocol: process, rules, referee, match, statistics.

The rules come from Board/. Beyond that it needs the standard library alone, and Ray for a match on a cluster; it knows no
grader, no score formula and no neural network. Engines meet it only at a line protocol. docs/arena.md says what it promises.
"""
