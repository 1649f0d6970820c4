"""Training beyond the loop of train.py. It knows a board and a network by their methods, and no grader.

A student's kit has two of these modules, since the others contain correct searches: `exact` plays an agent against every line
of replies, and `losing_lines` does so with the weights of a file.

The others play many games side by side. Their searches run in lockstep, so that the leaves of all games form one batch of the
network. From the rules upwards:

    boards                      games as arrays
    inference, rollouts         evaluators: a fast copy of the network, a cache of positions; random games instead of a network
    tree, puct, gumbel          search trees as arrays; PUCT (Silver et al. 2017); Gumbel AlphaZero (Danihelka et al. 2022)
    selfplay, samples, fast     games without end; their compact form; train.py --fast
    matches, ratings            games between two agents; Elo of several
    selfplay_run                the command for long runs, over presets, learner, replay_buffer, workers (on this machine) or
                                ray_workers (on a cluster), run_report; old_settings reads the folders of earlier runs
    dataset, supervised         supervised training on the games of an engine
    export, export_run          weights with a manifest
    alphago                     the stages of AlphaGo (Silver et al. 2016)

Of the student's modules they use only the network.
"""

import sys
from importlib.util import find_spec


def _expect_program(arguments: list[str]) -> None:
    """End `python -m training.NAME` with a sentence if a student's kit lacks that program.

    Args:
        arguments: of the interpreter, which imports this package before it looks for the program.
    """
    if "-m" not in arguments[:-1]:
        return
    program = arguments[arguments.index("-m") + 1]
    if program.split(".")[0] == __name__ and program != __name__ and find_spec(program) is None:
        sys.stderr.write(
            f"{program} is not part of this tree: a student's kit has only training.losing_lines. "
            "Train with train.py (docs/handout.md, section 5.5).\n"
        )
        raise SystemExit(2)


if sys.argv[:1] == ["-m"]:
    _expect_program(sys.orig_argv)
