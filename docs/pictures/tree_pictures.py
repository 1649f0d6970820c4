"""Pictures of search trees: alpha-beta, the worked example of handout 5.4, and one playout of it in four steps."""

from __future__ import annotations

from docs.examples import alphabeta
from docs.examples.text import Language, chosen, signed
from docs.examples.worked_search import EVALUATIONS, Seen, nodes_after, puct
from docs.pictures.drawing import Drawing


def alphabeta_tree(language: Language) -> Drawing:
    """The drawn tree, with what alpha-beta leaves out."""
    title = chosen(
        language,
        "Alpha-beta on a tree with nine leaves, three of them left out",
        "有九个叶节点的 alpha-beta 树，其中三个没有看",
    )
    picture = Drawing(700, 330, title)
    visits = alphabeta.visits()
    best = max(visit.value for visit in visits)
    columns = [130 + 220 * number for number in range(len(visits))]
    picture.text(20, 55, chosen(language, "Black: max", "黑方：最大"), anchor="start", colour="soft", size=13)
    picture.text(20, 150, chosen(language, "White: min", "白方：最小"), anchor="start", colour="soft", size=13)
    for column, visit in zip(columns, visits, strict=True):
        chosen_line = visit.value == best
        picture.line([(350, 78), (column, 128)], colour="accent" if chosen_line else "edge", width=2.5 if chosen_line else 1.5)
        middle = (350 + column) / 2
        picture.text(middle + (14 if column >= 350 else -14), 96, visit.move, style="bold")
        for number, leaf in enumerate(visit.seen + visit.left_out):
            x = column - 62 + 62 * number
            out = number >= len(visit.seen)
            picture.line([(column, 172), (x, 222)], dashed=out)
            picture.rect(x - 20, 222, 40, 34, fill="paper" if out else "fill")
            picture.text(x, 239, str(leaf), size=17, colour="edge" if out else "ink")
            if out:
                picture.line([(x - 16, 252), (x + 16, 226)], colour="bad", width=2)
        picture.circle(column, 150, 22, edge="accent" if chosen_line else "edge")
        picture.text(column, 150, f"{'≤ ' if visit.left_out else ''}{visit.value}", size=16, style="bold")
        alpha = "-" if visit.alpha is None else str(visit.alpha)
        picture.text(column, 280, f"alpha = {alpha}", size=13, colour="soft", style="mono")
    picture.rect(322, 34, 56, 44, edge="accent")
    picture.text(350, 56, str(best), size=18, style="bold")
    legend = chosen(language, "crossed out: never looked at", "划掉的：没有看过")
    picture.text(350, 312, legend, size=13, colour="bad")
    return picture


def _node(picture: Drawing, x: float, y: float, name: str, lines: list[str], colour: str = "edge") -> None:
    """A node with its name and what it holds."""
    height = 27 + 17 * len(lines)
    picture.rect(x - 56, y, 112, height, edge=colour)
    picture.text(x, y + 14, name, style="bold")
    for number, content in enumerate(lines):
        picture.text(x, y + 32 + 17 * number, content, size=12, style="mono")


def _numbers(node: Seen, root: bool = False) -> list[str]:
    """What the tree holds of a node."""
    if root:
        return [f"N = {node.visits}"]
    return [f"P = {node.prior:g}  N = {node.visits}", f"Q = {signed(node.mean_value, 1)}"]


def worked_tree(language: Language) -> Drawing:
    """The tree after four playouts and the choice of the fifth."""
    title = chosen(language, "The tree of the worked example after four playouts", "例子中四次模拟之后的树")
    picture = Drawing(640, 370, title)
    nodes = nodes_after(4)
    root, a, c, b = nodes[""], nodes["a"], nodes["c"], nodes["ab"]
    for start, end in (((320, 66), (190, 118)), ((320, 66), (450, 118)), ((190, 179), (190, 232))):
        picture.line([start, end], width=2)
    _node(picture, 320, 22, chosen(language, "root", "根节点"), _numbers(root, root=True))
    _node(picture, 190, 118, "a", _numbers(a), "accent")
    _node(picture, 450, 118, "c", _numbers(c))
    _node(picture, 190, 232, "b", _numbers(b))
    movers = (
        (42, chosen(language, "black to move", "轮到黑方")),
        (146, chosen(language, "white to move", "轮到白方")),
        (260, chosen(language, "black to move", "轮到黑方")),
    )
    for y, label in movers:
        picture.text(12, y, label, anchor="start", colour="soft", size=12.5)
    for x, node in ((190, a), (450, c)):
        colour = "accent" if node is a else "soft"
        picture.text(x + 62, 148, f"PUCT {puct(root, node):.1f}", size=13, colour=colour, anchor="start", style="mono")
    picture.text(450, 228, chosen(language, "Q: for the player", "Q 的视角："), size=12.5, colour="soft")
    picture.text(450, 246, chosen(language, "who moved into the node", "走到该节点的一方"), size=12.5, colour="soft")
    bonus = "{:.1f} + 5 * {:g} * sqrt({}) / (1 + {})"
    lines = [f"{n.name}:  {bonus.format(n.mean_value, n.prior, root.visits, n.visits)} = {puct(root, n):.1f}" for n in (a, c)]
    for number, content in enumerate(lines):
        picture.text(320, 320 + 22 * number, content, size=14, style="mono", colour="accent" if number == 0 else "ink")
    return picture


def playout(language: Language) -> Drawing:
    """The fourth playout of the worked example: select, expand, evaluate, back up."""
    title = chosen(
        language, "One playout in four steps: select, expand, evaluate, back up", "一次模拟的四步：选择、展开、评估、回传"
    )
    picture = Drawing(960, 370, title)
    before, after = nodes_after(3), nodes_after(4)
    value = EVALUATIONS[0, 2][1]
    heads = (
        chosen(language, "1 Select", "1 选择"),
        chosen(language, "2 Expand", "2 展开"),
        chosen(language, "3 Evaluate", "3 评估"),
        chosen(language, "4 Back up", "4 回传"),
    )
    for number, head in enumerate(heads):
        left = 240 * number
        state = after if number == 3 else before
        if number:
            picture.line([(left, 20), (left, 350)], colour="fill", width=2)
        picture.text(left + 120, 26, head, size=16, style="bold")
        path: list[list[tuple[float, float]]] = [[(left + 65, 128), (left + 120, 103)], [(left + 65, 220), (left + 65, 190)]]
        for points in path:
            if number == 3:
                picture.line(points, colour="accent", width=2, arrow=True)
            else:
                picture.line(points[::-1], colour="accent", width=2.5)
        picture.line([(left + 120, 102), (left + 182, 128)])
        _node(picture, left + 120, 58, chosen(language, "root", "根节点"), _numbers(state[""], root=True))
        _node(picture, left + 65, 128, "a", _numbers(state["a"]), "accent")
        _node(picture, left + 182, 128, "c", _numbers(state["c"]))
        _node(picture, left + 65, 220, "b", _numbers(state["ab"]), "accent")
        _step(picture, language, left, number, value)
    return picture


def _step(picture: Drawing, language: Language, left: float, number: int, value: float) -> None:
    """What happens in a step, beside the leaf and below it."""
    before, after = nodes_after(3), nodes_after(4)
    if number == 0:
        root = before[""]
        for line, name in enumerate(("a", "c")):
            picture.text(left + 182, 210 + 18 * line, f"{name}: {puct(root, before[name]):.2f}", size=13, style="mono")
        notes = (
            chosen(language, "take the largest PUCT,", "每层取 PUCT 最大的"),
            chosen(language, "level by level, to a leaf", "直到叶节点"),
        )
    elif number == 1:
        for line, (name, child) in enumerate((n, s) for n, s in after.items() if len(n) == 3):
            x = left + 40 + 62 * line
            picture.line([(left + 65, 281), (x, 292)])
            picture.rect(x - 27, 292, 54, 24, fill="paper", edge="accent")
            picture.text(x, 304, f"{name[-1]} {child.prior:g}", size=12, style="mono")
        notes = ("", chosen(language, "children with priors P", "子节点带先验 P"))
    elif number == 2:
        picture.text(left + 182, 218, f"v = {signed(value, 1)}", size=15, colour="accent", style="mono")
        picture.text(left + 182, 238, chosen(language, "for black,", "黑方视角"), size=12, colour="soft")
        picture.text(left + 182, 254, chosen(language, "who is to move", "（轮到黑方）"), size=12, colour="soft")
        notes = (
            chosen(language, "the network, or a rollout", "网络评估，"),
            chosen(language, "in pure MCTS", "纯 MCTS 则随机下完"),
        )
    else:
        for x, y, name, shown in ((left + 126, 250, "b", -value), (left + 126, 205, "a", value)):
            content = f"{name} gets {signed(shown, 1)}" if language == "en" else f"{name} 得到 {signed(shown, 1)}"
            picture.text(x, y, content, size=13, colour="good" if shown > 0 else "bad", anchor="start")
        notes = (chosen(language, "the sign changes", "每上一层"), chosen(language, "at every level", "符号改变一次"))
    for line, note in enumerate(notes):
        picture.text(left + 120, 326 + 18 * line, note, size=12.5, colour="soft")
