"""Write what is computed into the documents: `python docs/generate.py`.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end of generated -->` in the handout and the theory, in
both languages; BLOCKS says which function makes it. The SVG pictures in docs/pictures/ are drawn as well. `--check` changes
nothing and fails if a part or a picture is not up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common.errors import UsageError
from common.files import write_whole
from common.program_ends import Parser
from docs.examples import alphabeta, bandits, limits, loss, pitfalls, records, rollout_by_hand
from docs.examples.text import Language
from docs.pictures import board_pictures, network_pictures, training_pictures, tree_pictures
from docs.pictures.drawing import Drawing
from grader.assignment import ROOT

TEXTS: dict[str, Language] = {
    "docs/handout.md": "en",
    "docs/handout.zh.md": "zh",
    "docs/theory.md": "en",
    "docs/theory.zh.md": "zh",
}
PLACE = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end of generated -->)", re.DOTALL)
BLOCKS: dict[str, dict[str, Callable[[Language], str]]] = {
    "handout": {"limits": limits.table_of_limits},
    "theory": {
        "improvement": records.improvement,
        "ucb": bandits.comparison,
        "rollout": rollout_by_hand.by_hand,
        "alphabeta": alphabeta.trace,
        "nodes": alphabeta.node_counts,
        "deepening": alphabeta.deepening,
        "steps": records.steps,
        "rungs": records.rungs,
        "milestones": records.milestones,
        "augmentation": records.augmentation,
        "gumbel": records.gumbel,
        "positions": loss.positions,
        "loss": loss.by_numbers,
        "losses": loss.readings,
        "pitfalls": pitfalls.gallery,
    },
}
"""The first part of the name of a document -> its generated parts."""

LANGUAGES: tuple[Language, ...] = ("en", "zh")
PICTURES: dict[str, Callable[[Language], Drawing]] = {
    "board": board_pictures.board,
    "planes": board_pictures.planes,
    "network": network_pictures.network,
    "residual": network_pictures.residual_block,
    "batchnorm": network_pictures.batch_norm,
    "playout": tree_pictures.playout,
    "tree": tree_pictures.worked_tree,
    "alphabeta": tree_pictures.alphabeta_tree,
    "loop": training_pictures.loop,
    "curves": training_pictures.curves,
}
ENGLISH_PICTURES: dict[str, Callable[[], Drawing]] = {"family": training_pictures.family_curves}
"""The pictures of documents that exist in English only."""


def rendered(text: str, language: Language, name: str) -> str:
    """Return a document with its generated parts made again.

    Raises:
        UsageError: a part is missing, is not closed, or occurs twice.
    """
    blocks = BLOCKS[Path(name).name.split(".")[0]]
    places = [found[2] for found in PLACE.finditer(text)]
    if sorted(places) != sorted(blocks) or text.count("<!-- generated:") != len(places):
        odd = sorted(place for place in {*places, *blocks} if places.count(place) != 1 or place not in blocks)
        raise UsageError(f"expected each generated part once in {name}, with an end; look for {', '.join(odd) or 'an end'}")
    return PLACE.sub(lambda found: f"{found[1]}\n{blocks[found[2]](language)}\n{found[4]}", text)


def pictures() -> dict[str, str]:
    """Return the pictures: file name without its ending -> SVG."""
    found = {name: draw().svg() for name, draw in ENGLISH_PICTURES.items()}
    for language in LANGUAGES:
        ending = "" if language == "en" else f".{language}"
        found |= {f"{name}{ending}": draw(language).svg() for name, draw in PICTURES.items()}
    return found


def fresh() -> dict[Path, str]:
    """Return every generated file with the content that it should have."""
    files = {ROOT / "docs" / "pictures" / f"{name}.svg": svg for name, svg in pictures().items()}
    for name, language in TEXTS.items():
        path = ROOT / name
        files[path] = rendered(path.read_text(encoding="utf-8"), language, name)
    return files


def main(arguments: list[str] | None = None) -> int:
    """Write or check everything that is generated.

    Returns:
        1 if something differs under --check, 2 if something cannot be made, else 0.
    """
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if something is not up to date")
    options = parser.parse_args(arguments)
    try:
        files = fresh()
    except UsageError as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 2
    differing = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in differing:
        if options.check:
            print(f"generate.py: {path.relative_to(ROOT)} is not up to date; run python docs/generate.py", file=sys.stderr)
        else:
            write_whole(path, files[path])
            print(path.relative_to(ROOT))
    return int(options.check and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
