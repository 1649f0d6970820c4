"""The tables about the speed of networks and of a single game: each function makes one from a record."""

from __future__ import annotations

from recording import Record
from table_text import markdown, rounded


def one_game(record: Record) -> str:
    """Return the playouts per second of one game, as a student's loop evaluates the network and in the faster ways."""
    rows = []
    for row in record["rows"]:
        rates = row["playouts_per_s"]
        same = f"{row['same']['float32']} and {row['same']['fastest']} of {row['moves']}"
        rows.append([row["board"], *map(rounded, rates.values()), rounded(rates["leaves"] / rates["all blocks"], 1), same])
    header = ["board", "student's loop", "idle blocks left out", "float32", "fastest", f"{row['leaves']} leaves", "Gumbel"]
    return markdown([*header, "ratio", "same visits in float32, fastest"], rows, "lrrrrrrrr")


def inference(record: Record) -> str:
    """Return the evaluations per second of each library and type, for each board and batch size."""
    rows: dict[tuple[str, int, int], list[str]] = {}
    ways = list(dict.fromkeys((row["library"], row["dtype"]) for row in record["rows"]))
    for row in record["rows"]:
        rows.setdefault((row["board"], row["blocks"], row["batch"]), []).append(rounded(row["evaluations_per_s"]))
    header = ["board", "blocks", "batch", *(f"{library}, {dtype}" for library, dtype in ways)]
    return markdown(header, ([*case, *rates] for case, rates in rows.items()))


def int8(record: Record) -> str:
    """Return for each type the speed, and how far the outputs are from those in float32."""
    header = ["convolutions in", "evaluations/s", "divergence of the policy", "same first choice", "values off by"]
    return markdown(
        header,
        (
            [
                row["type"],
                rounded(row["evaluations_per_s"]),
                f"{row['divergence']:.4f}",
                f"{100 * row['same_first']:.1f} %",
                f"{row['value_off']:.3f}",
            ]
            for row in record["rows"]
        ),
    )
