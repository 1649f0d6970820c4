"""Training beyond the loop of train.py. This package uses boards and networks through their methods and knows no grader.

A student's kit contains only a few of these modules, since the others contain correct searches: `exact` plays an agent against
every line of replies, `losing_lines` does so with weights loaded from a file, `look` shows a search as a page, and `loop` is
what train.py needs besides the algorithm. A student runs `losing_lines` and `look` as programs.

The other modules play many games side by side. Their searches run in lockstep, so that the leaves of all games form one batch
for the network. The rules are those of a game of `games/`, about which they know no more than its protocol. From there upwards:

    samples                     positions and games in a compact form
    inference                   networks, and how they are computed fast
    search                      search trees as arrays; PUCT, Gumbel AlphaZero, and search in a learnt model
    selfplay                    an endless stream of games, and the long runs that learn from it
    muzero                      MuZero with reanalysis (Schrittwieser et al. 2020)
    searched_lines              any of these searches against every line of replies
    matches, ratings            games between two agents; Elo ratings of several players
    single_game                 a network or a search as the player of one game
    supervised                  supervised training on the games of an engine
    alphago                     the stages of AlphaGo (Silver et al. 2016)
    export, export_run          weights with a manifest
    quantise                    the convolutions of a trained network in 8-bit integers
    metrics, old_settings       the rows of metrics.csv; settings of earlier runs that have another name now

Of the student's modules, they use only the network.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

from common.near_names import meant


def _programs() -> list[str]:
    """Return what `python -m` can run in this tree; a student's kit has only a few of these programs."""
    folder = Path(__file__).parent
    modules = [path.stem for path in folder.glob("*.py") if '\nif __name__ == "__main__"' in path.read_text(encoding="utf-8")]
    return sorted([*modules, *(path.parent.name for path in folder.glob("*/__main__.py"))])


def _expect_program(arguments: list[str]) -> None:
    """End `python -m training.NAME` with a clear message if this tree lacks that program.

    Args:
        arguments: the interpreter's command line. The interpreter imports this package before it looks for the program.
    """
    if "-m" not in arguments[:-1]:
        return
    program = arguments[arguments.index("-m") + 1]
    if program.split(".")[0] == __name__ and program != __name__ and find_spec(program) is None:
        programs = _programs()
        by_hand = "" if "selfplay" in programs else " Train with train.py (docs/handout.md, section 5.5)."
        sys.stderr.write(
            f"expected python -m training. with one of the programs of this tree, {', '.join(programs)}; got {program}"
            f"{meant(program.removeprefix('training.'), programs)}.{by_hand}\n"
        )
        raise SystemExit(2)


if sys.argv[:1] == ["-m"]:
    _expect_program(sys.orig_argv)
