"""The page of a search: its numbers on the board, its tree, and its first playouts with the formula filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.view.drawn_boards import DrawnBoard, Mark, drawn_position, point_of
from arena.view.page import TEMPLATES as VIEWER
from Board.game_board import Board
from common.pages import policy_for, template_environment
from common.search_tree import SeenNode
from training.look.recorded_search import Playout, nodes_on
from training.look.tree_drawing import Label, TreeDrawing, draw_tree

TEMPLATES = Path(__file__).with_name("templates")
SHOWN_CANDIDATES = 5
SHOWN_PRIORS = 6
DRAWN_CHILDREN = 4  # of a node of the whole tree
GENERATOR = "training.look"
SIDES = ("black", "white")


@dataclass(frozen=True)
class Choice:
    """A child that selection compares: its name, the formula with its numbers, and whether it was taken."""

    name: str
    formula: str
    is_taken: bool


@dataclass(frozen=True)
class Frame:
    """A playout in words and as a picture.

    Attributes:
        select: for each node above the leaf, whose turn it is there and the children compared.
        expand, evaluate: a sentence each.
        backup: a sentence for each node on the path, from the leaf upwards.
    """

    number: int
    path: str
    select: tuple[tuple[str, tuple[Choice, ...]], ...]
    expand: str
    evaluate: str
    backup: tuple[str, ...]
    tree: TreeDrawing


@dataclass(frozen=True)
class Subject:
    """What was searched.

    Attributes:
        title: the heading of the page.
        board: the position at the root.
        c_puct: the weight of the bonus.
        name: how moves are named.
        rolls_out: whether leaves are evaluated by random games.
    """

    title: str
    board: Board
    c_puct: float
    name: Label = str
    rolls_out: bool = False

    def side(self, plies: int) -> str:
        """Return who is to move this many moves below the root."""
        return SIDES[(len(self.board.states) + plies) % 2]


def formula(child: SeenNode, parent_visits: int, c_puct: float) -> str:
    """Return Q + c_puct * P * sqrt(N) / (1 + n) of a child with its numbers."""
    numbers = f"{child.mean_value:+.3f} + {c_puct:g} · {child.prior:.3f} · √{parent_visits} / (1 + {child.visits})"
    return f"{numbers} = {child.score:.3f}"


def make_frame(playout: Playout, subject: Subject) -> Frame:
    """Return a playout in words and as a picture."""
    name, path = subject.name, playout.path
    before, after = nodes_on(playout.before, path), nodes_on(playout.after, path)
    select = []
    for depth, (node, move) in enumerate(zip(before, path, strict=False)):
        ranked = sorted(node.children, key=lambda child: -child.score)
        shown = [c for place, c in enumerate(ranked) if place < SHOWN_CANDIDATES or c.move == move]
        choices = (Choice(name(c.move or 0), formula(c, node.visits, subject.c_puct), c.move == move) for c in shown)
        select.append((f"At {_node_name(node, name)}, {subject.side(depth)} to move:", tuple(choices)))
    mover = subject.side(len(path))
    value = playout.leaf_value + 0.0
    return Frame(
        number=playout.number,
        path=" ".join(["root", *map(name, path)]),
        select=tuple(select),
        expand=_expansion(playout, after[-1], name),
        evaluate=_evaluation(playout, mover, value, subject.rolls_out),
        backup=tuple(_backup_line(before[depth], after[depth], depth, subject) for depth in range(len(path), -1, -1)),
        tree=draw_tree(playout.after, name, len(path) + 1, playout.before, path),
    )


def _node_name(node: SeenNode, name: Label) -> str:
    return "the root" if node.move is None else f"node {name(node.move)}"


def _expansion(playout: Playout, leaf: SeenNode, name: Label) -> str:
    if playout.ended:
        return "The game is over here, so the leaf gets no children."
    if not leaf.children:
        return "The leaf got no children."
    ranked = sorted(leaf.children, key=lambda child: -child.prior)
    shown = ", ".join(f"{name(child.move or 0)} with P = {child.prior:.3f}" for child in ranked[:SHOWN_PRIORS])
    more = f" and {len(ranked) - SHOWN_PRIORS} more" if len(ranked) > SHOWN_PRIORS else ""
    return f"The leaf gets a child for each move that the policy names: {shown}{more}."


def _evaluation(playout: Playout, mover: str, value: float, rolls_out: bool) -> str:
    how = "A game of random moves from here gives" if rolls_out else "The network gives"
    if playout.ended:
        how = "The game is over, so its result counts:"
    return f"{how} v = {value:+.3f}, for {mover}, who is to move at the leaf."


def _backup_line(before: SeenNode, after: SeenNode, depth: int, subject: Subject) -> str:
    share = after.mean_value * after.visits - before.mean_value * before.visits
    mean = f"Q = ({before.visits} · {before.mean_value:+.3f} {'+' if share >= 0 else '−'} {abs(share):.3f}) / {after.visits}"
    who = subject.side(depth + 1)
    whose = f"for {who}, who moved here" if depth else "for the player who is not to move"
    where = _node_name(after, subject.name)
    return f"At {where}: N {before.visits} → {after.visits}, {mean} = {after.mean_value:+.3f}, {whose}."


def number_boards(tree: SeenNode, subject: Subject) -> list[DrawnBoard]:
    """Return four boards with N, Q, P and U of each move at the root."""
    board, total = subject.board, max(1, sum(child.visits for child in tree.children))
    most = {key: max((abs(getattr(c, key)) for c in tree.children), default=0) or 1 for key in ("visits", "prior", "bonus")}
    kinds = (
        ("N: share of the visits in percent", lambda c: (c.visits / most["visits"], f"{100 * c.visits / total:.0f}")),
        ("Q: mean value, from -1 to 1, for the side to move", lambda c: ((c.mean_value + 1) / 2, f"{c.mean_value:+.1f}")),
        ("P: prior in percent", lambda c: (c.prior / most["prior"], f"{100 * c.prior:.0f}")),
        ("U: bonus", lambda c: (c.bonus / most["bonus"], f"{c.bonus:.1f}")),
    )
    found = []
    for caption, read in kinds:
        marks = []
        for child in tree.children:
            share, text = read(child)
            shown = text if child.visits or not caption.startswith(("N", "Q")) else ""
            marks.append(Mark("heat", *point_of(child.move or 0, board.width), min(1.0, max(0.0, share)), shown))
        found.append(drawn_position(board, tuple(marks), caption=caption, label=f"{caption}; see the table"))
    return found


def search_script() -> str:
    """Return the page's script as it is embedded in the page."""
    return template_environment(TEMPLATES).get_template("search.js.j2").render()


def render_search(tree: SeenNode, playouts: Sequence[Playout], subject: Subject, depth: int) -> str:
    """Return the page.

    Args:
        tree: the tree of the whole search.
        playouts: its first playouts.
        depth: how many moves below the root the tree is shown.
    """
    environment = template_environment(TEMPLATES, VIEWER)
    return environment.get_template("search.html.j2").render(
        subject=subject,
        tree=tree,
        total=max(1, sum(child.visits for child in tree.children)),
        boards=number_boards(tree, subject),
        frames=[make_frame(playout, subject) for playout in playouts],
        drawing=draw_tree(tree, subject.name, min(depth, 2), tree, most=DRAWN_CHILDREN),
        depth=depth,
        best=[subject.name(move) for move in tree.principal_line()],
        policy=policy_for(search_script()),
        generator=GENERATOR,
    )


def render_tree(tree: SeenNode, subject: Subject, depth: int) -> str:
    """Return the tree as a picture of its own (SVG), down to `depth` moves below the root."""
    drawing = draw_tree(tree, subject.name, depth, tree, most=DRAWN_CHILDREN)
    template = template_environment(TEMPLATES).get_template("tree.svg.j2")
    return template.render(drawing=drawing, title=subject.title, generator=GENERATOR)
