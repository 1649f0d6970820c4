"""Matches between engines: rules, processes and protocols, referee, records, statistics, a suite of positions.

The rules come from Board/ and games/. Apart from that, the arena needs only the standard library, plus Ray for matches on a
cluster. It knows nothing of the grader, score formulas or neural networks, and it talks to engines only by lines of text.
docs/arena.md says what it guarantees.
"""
