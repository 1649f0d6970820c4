"""The tables of docs/family.md, each made from bench/records/family.json (see bench/family.py)."""

from __future__ import annotations

from collections.abc import Sequence

from recording import Record
from table_text import markdown, rounded, without_zero

PURE = "uct"
METHODS = {
    PURE: "pure UCT",
    "puct": "PUCT",
    "gumbel": "Gumbel",
    "muzero": "MuZero",
    "mixed": "AlphaGo's mix",
}
"""The methods in the order of the tables."""
EQUAL_TIME = "equal CPU time"
SHARE = 0.5  # of the rollout in the mix, AlphaGo's lambda
BOARDS = {"3x3x3": "tic-tac-toe", "5x5x4": "5x5, four in a row", "6x6x4": "6x6, four in a row", "nogo 5x5": "NoGo on 5x5"}
SEARCHES = {"puct": "AlphaZero, PUCT", "gumbel": "AlphaZero, Gumbel", "muzero": "MuZero"}


def _rows(record: Record, kind: str, **wanted: str) -> list[Record]:
    return [row for row in record["rows"] if row["kind"] == kind and wanted.items() <= row.items()]


def family_networks(record: Record) -> str:
    """Return where the networks come from, those of one kind on one board in a row."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for row in sorted(_rows(record, "network"), key=lambda row: (list(BOARDS).index(row["board"]), row["seed"])):
        groups.setdefault((row["board"], row["method"]), []).append(row)
    order = sorted(groups, key=lambda group: (list(BOARDS).index(group[0]), list(SEARCHES).index(group[1])))
    table = []
    for board, method in order:
        rows = groups[board, method]
        cells = (_alternatives([row[name] for row in rows]) for name in ("games", "playouts"))
        seeds, times = ([row["seed"] for row in rows], [_seconds(row["cpu_s"]) for row in rows])
        table.append([BOARDS[board], SEARCHES[method], ", ".join(map(str, seeds)), *cells, ", ".join(times)])
    header = ["board", "trained as", "seeds", "self-play games", "playouts per move", "CPU s"]
    return markdown(header, table, "lllr")


def _seconds(cpu_s: float | None) -> str:
    return "not recorded" if cpu_s is None else rounded(cpu_s)


def _alternatives(values: Sequence[object]) -> str:
    """Return one value if all are equal, else all of them."""
    return ", ".join(map(str, values if len(set(values)) > 1 else values[:1]))


def family_curves(record: Record) -> str:
    """Return the losing lines of tic-tac-toe in the course of AlphaZero's runs, one number for each seed."""
    rows = sorted(_rows(record, "curve"), key=lambda row: row["seed"])
    columns = [(method, playouts) for method in SEARCHES for playouts in ("100", "400")]
    cells: dict[tuple[int, str, str], list[str]] = {}
    for row in rows:
        # A network is evaluated when the games in progress have ended, a few after it was due.
        for playouts, lines in row["losing_lines"].items():
            cells.setdefault((row["games"] // 128 * 128, row["method"], playouts), []).append(str(lines))
    columns = [column for column in columns if any(key[1:] == column for key in cells)]
    table = [[games, *(" / ".join(cells[games, *column]) for column in columns)] for games in sorted({key[0] for key in cells})]
    header = ["games", *(f"{METHODS[method]}, {playouts} playouts" for method, playouts in columns)]
    return markdown(header, table)


def family_lines(record: Record) -> str:
    """Return the losing lines of tic-tac-toe by method and number of playouts, one number for each seed."""
    playouts = sorted({row["playouts"] for row in _rows(record, "lines")})
    table = []
    for method, name in METHODS.items():
        rows = sorted(_rows(record, "lines", method=method), key=lambda row: row["seed"])
        counts = [[row["losing_lines"] for row in rows if row["playouts"] == number] for number in playouts]
        if rows:
            seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
            table.append([name, seeds, *(" / ".join(map(str, found)) for found in counts)])
    header = ["", "seeds", *(f"{number} playouts" for number in playouts)]
    return markdown(header, table, "llr")


def _budgets(record: Record, board: str) -> list[str]:
    """Return the budgets of a board, numbers of playouts first."""
    return sorted({row["budget"] for row in _rows(record, "match", board=board)}, key=lambda budget: budget == EQUAL_TIME)


def _won_share(rows: Sequence[Record], method: str) -> str:
    """Return a method's points per game in all its matches."""
    points = games = 0.0
    for row in rows:
        if method in (row["first"], row["second"]):
            own = row["won"] if method == row["first"] else row["lost"]
            points, games = points + own + row["drawn"] / 2, games + row["games"]
    return without_zero(points / games)


def family_methods(record: Record, board: str) -> str:
    """Return for each method what a move costs, how many playouts it gets, and its score over all opponents."""
    table, budgets = [], _budgets(record, board)
    for method, name in METHODS.items():
        cells: list[object] = [name]
        for budget in budgets:
            rows = _rows(record, "match", board=board, budget=budget)
            own = [(row, side) for row in rows for side in (0, 1) if method == (row["first"], row["second"])[side]]
            playouts = [row["playouts"][side] for row, side in own[:1]] if budget == EQUAL_TIME else []
            costs = [row["cpu_ms_a_move"][side] for row, side in own]
            cells += [*playouts, rounded(sum(costs) / len(costs), 1), _won_share(rows, method)] if own else []
        if len(cells) > 1:
            table.append(cells)
    header = [""]
    for budget in budgets:
        columns = [*(["playouts"] if budget == EQUAL_TIME else []), "CPU ms per move", "score against all others"]
        header += [f"{budget}: {columns[0]}", *columns[1:]]
    return markdown(header, [cells + ["-"] * (len(header) - len(cells)) for cells in table])


def family_matches(record: Record, board: str) -> str:
    """Return the pairings of a board, with equal numbers of playouts and with equal CPU time."""
    budgets = _budgets(record, board)
    found = {(row["budget"], row["first"], row["second"]): row for row in _rows(record, "match", board=board)}
    table = []
    for first, second in dict.fromkeys((first, second) for _, first, second in found):
        cells: list[object] = [METHODS[first], METHODS[second]]
        for budget in budgets:
            row = found.get((budget, first, second))
            cells += ["-", "-"] if row is None else _result(row)
        table.append(cells)
    header = [(f"{budget}: won / drawn / lost", "score, 95 %") for budget in budgets]
    return markdown(["first", "second", *(cell for cells in header for cell in cells)], table, "llr")


def _result(row: Record) -> list[str]:
    low, high = (without_zero(row[end]) for end in ("low_95", "high_95"))
    return [f"{row['won']} / {row['drawn']} / {row['lost']}", f"{without_zero(row['score'])}, {low} to {high}"]
