"""A student's searches play NoGo as they are: the reference's, and those that a variant brings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference" / "AlphaZero"
VARIANTS = ROOT / "instructor" / "submissions" / "variants"
SEARCHES = sorted((path.parent.parent.name, path.stem) for path in VARIANTS.glob("*/AlphaZero/mcts_*.py"))
# Its rollout lists the legal moves once and draws all moves from that list. In Gomoku these are the moves that remain; in NoGo
# each move changes which ones are legal.
ONE_LIST = "pure-shares-by-move"
ALL = os.environ.get("TRUST") == "all"
PLAYING = [("", "mcts_pure"), ("", "mcts_alphaZero"), *(kind for kind in SEARCHES if kind[0] != ONE_LIST)]
FEW = ("", "pure-published-layout", "search-published-layout", "search-recursive")  # of the variants that play by default

# Plays games against random moves with both colours, then one of self-play; prints how many of the games were won.
PROGRAM = """
import importlib, random, sys
import numpy as np
from Board.game_board import Game
from games.nogo.rules import NoGoRules

games, size, playouts = map(int, sys.argv[2:])
module = importlib.import_module("AlphaZero." + sys.argv[1])
random.seed(games); np.random.seed(games)
rules = NoGoRules(size, size)

class Random:
    def set_player_ind(self, p): pass
    def reset_player(self): pass
    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        return random.choice(board.availables), None

def rollout(board, *_, **__):  # in place of a network: the result of one random game
    priors = [(move, 1 / len(board.availables)) for move in board.availables]
    end, side = board.copy(), board.get_current_player()
    while not end.game_end()[0]:
        end.do_move(random.choice(end.availables))
    return iter(priors), np.array([[1.0 if end.game_end()[1] == side else -1.0]])

if sys.argv[1] == "mcts_pure":
    player = module.MCTSPlayer(c_puct=2, n_playout=playouts)
else:
    player = module.MCTSPlayer(rollout, 2, 3, c_puct=2, n_playout=playouts)
    learner = module.MCTSPlayer(rollout, 2, 3, n_playout=playouts, is_selfplay=1)
    _, samples = Game(rules.position()).start_self_play(learner)
    samples = list(samples)
    assert {z for *_, z in samples} == {1, -1} and samples[-1][2] == 1, "whoever moves last has won"
won = 0
for game in range(games):
    winner = Game(rules.position()).start_play(player, Random(), start_player=game % 2, is_shown=0, print_prob=False)
    won += winner == 1
print("won", won)
"""


def games_won(tmp_path, variant, module, games, size, playouts):
    """How many games a student's search wins against random moves."""
    shutil.copytree(REFERENCE, tmp_path / "AlphaZero")
    if variant:
        shutil.copytree(VARIANTS / variant / "AlphaZero", tmp_path / "AlphaZero", dirs_exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, str(games), str(size), str(playouts)],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("won ")[-1])


def test_the_variants_bring_searches_of_both_kinds():
    assert {module for _, module in SEARCHES} == {"mcts_pure", "mcts_alphaZero"} and len(SEARCHES) > 10
    assert {variant for variant, _ in PLAYING} >= set(FEW)


@pytest.mark.parametrize(("variant", "module"), [kind for kind in PLAYING if ALL or kind[0] in FEW])
def test_a_students_search_plays_nogo_unchanged(tmp_path, variant, module):
    assert games_won(tmp_path, variant, module, games=4, size=4, playouts=60) >= 3


@pytest.mark.thorough("50 games for each search")
@pytest.mark.parametrize(("variant", "module"), PLAYING)
def test_a_students_search_wins_nearly_all_games_of_nogo_against_random_moves(tmp_path, variant, module):
    """On a board this small, random moves are now and then the best ones."""
    won = games_won(tmp_path, variant, module, games=50, size=4, playouts=150)
    print(variant or "reference", module, won)
    assert won >= 46


def test_a_rollout_that_asks_only_once_what_is_legal_is_stopped(tmp_path):
    with pytest.raises(AssertionError, match="expected a legal move"):
        games_won(tmp_path, ONE_LIST, "mcts_pure", games=1, size=4, playouts=60)
