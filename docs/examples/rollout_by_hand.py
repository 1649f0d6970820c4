"""Three rollouts from one leaf of tic-tac-toe, played on the course's own board."""

from __future__ import annotations

from docs.examples.text import Language, fenced, picture_of, signed, small_board

ROOT_MOVES = (4, 1)
LEAF_MOVE = 0
ROLLOUTS = ((3, 6, 5, 8), (8, 2, 3, 6), (8, 2, 6, 5, 7))
"""The moves that were drawn, from the leaf to the end of the game."""


def results() -> list[int]:
    """Return v of each rollout for the side to move at the leaf.

    Raises:
        ValueError: a move is illegal, or a rollout goes on after the end of the game or stops before it.
    """
    found = []
    for moves in ROLLOUTS:
        board = small_board((*ROOT_MOVES, LEAF_MOVE))
        side = board.get_current_player()
        for move in moves:
            if board.game_end()[0]:
                raise ValueError(f"the game is over before {move}")
            board.do_move(move)
        over, winner = board.game_end()
        if not over:
            raise ValueError(f"the game is not over after {moves}")
        found.append(0 if winner == -1 else 1 if winner == side else -1)
    return found


def by_hand(_: Language) -> str:
    """Return the leaf and the three rollouts with their backups."""
    leaf = picture_of(small_board((*ROOT_MOVES, LEAF_MOVE)))
    lines = ["leaf, O to move", *leaf, "", "random moves    result     v for O   node 0 (X) gets   root (O) gets"]
    values = results()
    names = {-1: "X wins", 0: "draw", 1: "O wins"}
    for moves, value in zip(ROLLOUTS, values, strict=True):
        drawn = " ".join(map(str, moves))
        lines.append(f"{drawn:<15} {names[value]:<10} {signed(value):<9} {signed(-value):<17} {signed(value)}")
    mean = -sum(values) / len(values)
    total = " + ".join(f"({signed(-value)})" for value in values)
    lines += ["", f"node 0:  N = {len(values)}   Q = ({total}) / {len(values)} = {signed(mean, 2)}"]
    return fenced(lines)
