"""Matches between engines: rules, processes and protocols, referee, records, statistics, a suite of positions.

The rules come from Board/. Apart from that, the arena needs only the standard library, plus Ray for matches on a cluster. It
knows nothing of the grader, score formulas or neural networks, and it talks to engines only through a line protocol.
docs/arena.md says what it guarantees.
"""
