"""Training beyond the loop of train.py; knows a board and a network by their methods, and no grader.

`exact` plays an agent against every line of replies, `losing_lines` asks it of a weights file. A student's kit has these two
alone, since the others hold searches that are right. The rest is self-play at speed, many games side by side, their searches
in lockstep, the leaves of all in one batch of the network. From the rules upwards: `boards` (games as arrays), `symmetries`,
`inference` (the network made fast, a cache of positions), `tree` (the search trees of all games as arrays), `search` (PUCT,
Silver et al. 2017), `gumbel` (Danihelka et al. 2022), `selfplay` (games without end), `samples` (what is kept of them),
`rollouts` (random games in the place of a network), `matches` (games between two agents, with statistics of the arena). A run
that lasts is `run` (the command) over `presets`, `replay` (its games on the disk), `workers` (who plays, here or by
`ray_workers` on a cluster), `learner` (what it knows), `ratings` and `report`. Of the student's modules these use only the
network. `dataset`, `supervised` and `export` teach it an engine's games; `alphago` goes on from there in the stages of Silver
et al. 2016.
"""

import sys
from importlib.util import find_spec


def _expect_program(arguments: list[str]) -> None:
    """End `python -m training.NAME` with a sentence where a student's kit lacks that program.

    Args:
        arguments: of the interpreter, which imports this package before it looks for the program.
    """
    if "-m" not in arguments[:-1]:
        return
    program = arguments[arguments.index("-m") + 1]
    if program.split(".")[0] == __name__ and program != __name__ and find_spec(program) is None:
        sys.stderr.write(
            f"{program} is not part of this tree: a student's kit has training.losing_lines alone. "
            "Train with train.py (docs/handout.md, section 5.5).\n"
        )
        raise SystemExit(2)


if sys.argv[:1] == ["-m"]:
    _expect_program(sys.orig_argv)
