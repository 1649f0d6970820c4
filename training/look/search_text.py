"""A search as text for the terminal: a table of the moves, their visits on the board, and the tree."""

from __future__ import annotations

from collections.abc import Iterator

from Board.game_board import Board
from common.search_tree import SeenNode
from training.look.tree_drawing import Label

MOST_ROWS = 12
MOST_BRANCHES = 4


def table_of_moves(tree: SeenNode, name: Label, most: int = MOST_ROWS) -> Iterator[str]:
    """Yield a line for each move at the root, the most visited first."""
    total = max(1, sum(child.visits for child in tree.children))
    yield f"{'move':>5} {'N':>7} {'share':>7} {'Q':>7} {'P':>7} {'U':>7} {'Q + U':>7}"
    for child in tree.children[:most]:
        share = f"{100 * child.visits / total:.1f} %"
        numbers = f"{child.mean_value:>+7.3f} {child.prior:>7.3f} {child.bonus:>7.3f} {child.score:>7.3f}"
        yield f"{name(child.move or 0):>5} {child.visits:>7} {share:>7} {numbers}"
    if len(tree.children) > most:
        yield f"  and {len(tree.children) - most} more moves"


def heat_map(tree: SeenNode, board: Board) -> Iterator[str]:
    """Yield the rows of the board from the top: X and O for stones, the share of the visits in percent for other points."""
    total = max(1, sum(child.visits for child in tree.children))
    visits = {child.move: child.visits for child in tree.children}
    for h in reversed(range(board.height)):
        cells = []
        for move in range(h * board.width, (h + 1) * board.width):
            if move in board.states:
                cells.append("X" if board.states[move] == board.players[0] else "O")
            else:
                share = 100 * visits.get(move, 0) / total
                cells.append(f"{share:.0f}" if share >= 0.5 else ".")
        yield "".join(f"{cell:>4}" for cell in cells)


def tree_lines(tree: SeenNode, name: Label, depth: int, most: int = MOST_BRANCHES) -> Iterator[str]:
    """Yield the tree down to `depth` moves below its root, with the `most` most visited moves of each node."""
    yield f"root  N {tree.visits}"
    yield from _below(tree, name, depth, most, "")


def _below(node: SeenNode, name: Label, depth: int, most: int, indent: str) -> Iterator[str]:
    shown = [child for child in node.children if child.visits][:most] if depth else []
    for child in shown:
        is_last = child is shown[-1]
        numbers = f"N {child.visits}  Q {child.mean_value:+.3f}  P {child.prior:.3f}  U {child.bonus:.3f}"
        yield f"{indent}{'└─' if is_last else '├─'} {name(child.move or 0)}  {numbers}"
        yield from _below(child, name, depth - 1, most, indent + ("   " if is_last else "│  "))
