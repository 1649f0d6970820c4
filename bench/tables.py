"""Write the tables of recorded results into the documents: `python bench/tables.py`.

A table stands between two comments, `<!-- table: NAME -->` and `<!-- end of table -->`. TABLES says for each name which
function makes the table, and from which records (bench/records/, see recording.py) and manifests (model/*.json). `--check`
changes nothing and fails if a document is not up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_tables import ablation, ablation_nodes, coverage, ladder_matches, ladder_ratings, milestones, stopping
from family_tables import family_curves, family_lines, family_matches, family_methods, family_networks
from judge_tables import class_costs, load, right_variants
from network_tables import (
    after_self_play,
    alphago,
    alphago_seeds,
    alphago_value,
    go_passes,
    killed_run,
    losing_lines,
    matches,
    muzero_accuracy,
    muzero_losing_lines,
    muzero_reanalysis,
    selfplay_5x5x4,
    selfplay_runs,
    selfplay_tictactoe,
    selfplay_without_gate,
    supervised,
    train_3x3,
    train_3x3_averaging,
    train_3x3_settings,
    training_ablation,
)
from recording import ROOT, read_json
from speed_tables import inference, int8, one_game

from common.errors import UsageError
from common.files import write_whole
from common.program_ends import Parser

DOCUMENTS = (
    "docs/training.md",
    "docs/engines.md",
    "docs/arena.md",
    "docs/family.md",
    "docs/instructor.md",
    "model/README.md",
)
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


class Table(NamedTuple):
    """A function that returns a table in Markdown, and the files whose contents are its arguments.

    `unless_recorded` stands in place of the table until all these files are there; where it is empty, they must be.
    """

    render: Callable[..., str]
    sources: tuple[str, ...]
    unless_recorded: str = ""


def of_record(render: Callable[..., str], name: str, unless_recorded: str = "") -> Table:
    """Return a table made from a record."""
    return Table(render, (f"bench/records/{name}.json",), unless_recorded)


def of_manifests(render: Callable[..., str], *names: str) -> Table:
    """Return a table made from manifests of weights."""
    return Table(render, tuple(f"model/{name}.json" for name in names))


TABLES = {
    "train-3x3": of_record(train_3x3, "train_3x3"),
    "train-3x3-settings": of_record(train_3x3_settings, "train_3x3"),
    "train-3x3-averaging": of_record(train_3x3_averaging, "train_3x3"),
    "losing-lines": of_manifests(losing_lines, "3_3_3"),
    "supervised": of_manifests(supervised, "11_11_5", "15_15_5"),
    "after-self-play": of_manifests(after_self_play, "11_11_5"),
    "matches": of_manifests(matches, "11_11_5", "15_15_5"),
    "matches-5x5x4": of_manifests(matches, "5_5_4"),
    "selfplay-11x11": of_manifests(selfplay_without_gate, "11_11_5"),
    "from-nothing-9x9": of_manifests(selfplay_without_gate, "from_nothing/gomoku_9x9"),
    "from-nothing-11x11": of_manifests(partial(selfplay_runs, supervised="model/11_11_5.pt"), "from_nothing/gomoku_11x11"),
    "selfplay-5x5x4": of_manifests(selfplay_5x5x4, "5_5_4"),
    "selfplay-tictactoe": of_record(selfplay_tictactoe, "selfplay_tictactoe"),
    "muzero-losing-lines": of_record(muzero_losing_lines, "muzero_tictactoe"),
    "muzero-accuracy": of_record(muzero_accuracy, "muzero_tictactoe"),
    "muzero-reanalysis": Table(
        muzero_reanalysis,
        ("bench/records/muzero_tictactoe.json", "bench/records/muzero_without_reanalysis.json"),
        unless_recorded="Not measured yet.",
    ),
    "family-networks": of_record(family_networks, "family"),
    "family-curves": of_record(family_curves, "family"),
    "family-lines": of_record(family_lines, "family"),
    "family-methods-5x5x4": of_record(partial(family_methods, board="5x5x4"), "family"),
    "family-matches-5x5x4": of_record(partial(family_matches, board="5x5x4"), "family"),
    "family-methods-6x6x4": of_record(partial(family_methods, board="6x6x4"), "family"),
    "family-matches-6x6x4": of_record(partial(family_matches, board="6x6x4"), "family"),
    "family-methods-nogo-5x5": of_record(partial(family_methods, board="nogo 5x5"), "family"),
    "family-matches-nogo-5x5": of_record(partial(family_matches, board="nogo 5x5"), "family"),
    "training-ablation": of_record(training_ablation, "training_ablation", unless_recorded="Not measured yet."),
    "go-passes": of_record(go_passes, "go_passes", unless_recorded="Not measured yet."),
    "killed-run": of_record(killed_run, "killed_run"),
    "alphago": of_record(alphago, "alphago_9"),
    "alphago-value": of_record(alphago_value, "alphago_9"),
    "alphago-nogo": of_record(alphago_seeds, "alphago_nogo_7", unless_recorded="Not measured yet."),
    "ladder-matches": of_record(ladder_matches, "ladder"),
    "ladder-ratings": of_record(ladder_ratings, "ladder"),
    "nogo-ladder-matches": of_record(ladder_matches, "nogo_ladder", unless_recorded="Not measured yet."),
    "nogo-ladder-ratings": of_record(ladder_ratings, "nogo_ladder", unless_recorded="Not measured yet."),
    "milestones": of_record(milestones, "milestones"),
    "ablation": of_record(ablation, "ablation"),
    "ablation-nodes": of_record(ablation_nodes, "ablation_nodes"),
    "stopping": of_record(stopping, "stopping"),
    "coverage": of_record(coverage, "coverage"),
    "right-variants": of_record(right_variants, "right_variants"),
    "load": of_record(load, "load"),
    "class-costs": of_record(class_costs, "class_costs"),
    "inference": of_record(inference, "inference"),
    "one-game": of_record(one_game, "one_game"),
    "int8": of_record(int8, "int8"),
}


def rendered(name: str) -> str:
    """Return a table in Markdown.

    Raises:
        UsageError: a source is missing or lacks a value.
    """
    render, sources, unless_recorded = TABLES[name]
    if unless_recorded and not all((ROOT / source).exists() for source in sources):
        return f"{unless_recorded}\n"
    contents = [read_json(ROOT / source) for source in sources]
    try:
        return render(*contents)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise UsageError(
            f"expected in {' and '.join(sources)} what the table {name} shows; {type(error).__name__}: {error}"
        ) from error


def tables_in(document: str, text: str) -> dict[str, str]:
    """Return the tables of a document by name, as they stand there.

    Raises:
        UsageError: a table has no end, or its name is unknown or occurs twice.
    """
    found: dict[str, str] = {}
    for _, name, table, _ in PLACE.findall(text):
        if name not in TABLES or name in found or "<!-- table:" in table:
            raise UsageError(f"expected one table {name} of bench/tables.py in {document}, with an end")
        found[name] = table
    if len(found) != text.count("<!-- table:"):
        raise UsageError(f"expected `<!-- end of table -->` after each table in {document}; after the last one it is missing")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the tables of all documents."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if a table is not up to date")
    options = parser.parse_args(arguments)
    try:
        texts = {document: (ROOT / document).read_text(encoding="utf-8") for document in DOCUMENTS}
        standing = {document: tables_in(document, text) for document, text in texts.items()}
        places = [name for tables in standing.values() for name in tables]
        if sorted(places) != sorted(TABLES):
            odd = [name for name in TABLES if places.count(name) != 1]
            raise UsageError(f"expected each table of bench/tables.py once in the documents; look for {', '.join(odd)}")
        tables = {name: f"\n{rendered(name)}\n" for name in TABLES}
    except UsageError as error:
        print(f"tables.py: {error}", file=sys.stderr)
        return 2
    for document, text in texts.items():
        differing = [name for name, table in standing[document].items() if table != tables[name]]
        if differing and options.check:
            sources = " and ".join(TABLES[differing[0]].sources)
            print(
                f"tables.py: the table {differing[0]} in {document} differs from {sources}; run `python bench/tables.py`",
                file=sys.stderr,
            )
            return 1
        if differing:
            write_whole(ROOT / document, PLACE.sub(lambda found: found[1] + tables[found[2]] + found[4], text))
            print(f"{document}: {', '.join(differing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
