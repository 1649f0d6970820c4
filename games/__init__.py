"""Games behind one protocol (`protocol.py`), each in a folder of its own with a single-position and a batched form.

grid        a rectangular board as bit masks: neighbours, names of points, drawings
symmetries  the symmetries of a board as permutations of the actions of any game on it
chains, chain_batch
            stones, chains and liberties of one position and of many, the common part of NoGo and Go
openings    openings of games that have no usual ones
gomoku, nogo, go
            the games
for_people  what the window and the terminal say about NoGo and Go: why a point is refused, captures, territory, the score
"""
