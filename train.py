"""Training by self-play: `python train.py` takes tic-tac-toe from nothing to an agent that does not lose (handout 5.5).

The loop of AlphaZero (Silver et al. 2017), readable from top to bottom in TrainPipeline: the network plays itself under its
own search, every position of those games becomes a sample, the network learns from random samples of the latest ones, and
now and then the average of its latest weights is measured: against pure MCTS and, where every game can be played, against
every line of replies. There the training ends once no line is lost. Values and results are seen by the side to move.

It writes tmp/current_policy.model, model/best_policy.model and a CSV of what happened, tmp/training.csv.
"""

import argparse
import csv
import os
import pickle
import random
import secrets
import sys
from collections import deque
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

from Board.symmetries import Symmetries
from common.unwritten import first_unwritten
from training.exact import play_all_games, remembered, searching_player_agent


@dataclass(frozen=True)
class Preset:
    """Hyper-parameters of one board; see TrainPipeline for what they mean."""

    board_width: int
    board_height: int
    n_in_row: int
    resnet_block: int
    n_playout: int
    first_n_moves: int
    remember_games: int
    buffer_size: int
    batch_size: int
    check_freq: int
    game_batch_num: int
    pure_mcts_playout_num: int
    verify_playouts: tuple[int, ...]  # none where there are too many games to play them all
    verify_from: int
    torch_threads: int | None  # on a small network several only wait for each other; None leaves it to torch


PRESETS = {
    "tictactoe": Preset(
        board_width=3,
        board_height=3,
        n_in_row=3,
        resnet_block=1,
        n_playout=25,
        first_n_moves=9,
        remember_games=5,
        buffer_size=5000,
        batch_size=64,
        check_freq=25,
        game_batch_num=2000,
        pure_mcts_playout_num=25,
        verify_playouts=(100, 400, 800, 1600),
        verify_from=150,
        torch_threads=1,
    ),
    "gomoku_11": Preset(
        board_width=11,
        board_height=11,
        n_in_row=5,
        resnet_block=19,
        n_playout=400,
        first_n_moves=12,
        remember_games=0,
        buffer_size=500_000,
        batch_size=512,
        check_freq=50,
        game_batch_num=100_000,
        pure_mcts_playout_num=1000,
        verify_playouts=(),
        verify_from=0,
        torch_threads=None,
    ),
}


class TrainPipeline:
    """Self-play, updates and evaluation, with all hyper-parameters as attributes.

    Attributes:
        learn_rate: of the optimiser at the start; it falls linearly to a tenth over `game_batch_num` games.
        n_playout, c_puct: of the search in self-play.
        temp: temperature of the first `first_n_moves` moves of a self-play game. On 3x3 these are all moves: a network that
            never errs in its games does not learn to answer the errors of others.
        remember_games: so many games evaluate a position once for all, while the network learns on; 0: never. That suits a
            board so small that the same positions come again and again.
        buffer_size: latest samples to learn from, each position counted with its eight symmetries.
        batch_size, updates_per_game: samples an update, and updates after each game.
        play_batch_size: games played before the updates.
        averaging: how much of the averaged weights each update leaves; 0.98 averages over some 50 updates.
        check_freq: games between two saves of the current network; every second one it is evaluated.
        game_batch_num: games of the whole training.
        policy_value_net, average_net: the network that plays itself and learns, and the average of its latest weights, which
            is steadier: single updates throw the weights about. The average is what is measured and kept as the best.
        pure_mcts_playout_num: playouts of the opponent in evaluation; it gets 100 more when it has lost ten of ten.
        verify_playouts: playouts at which the network must lose no line of replies, with policy_value_fn and with
            policy_value_fn_random, to be verified.
        verify_from: games before the first try: a beginner's search goes everywhere, and takes the longest to be found losing.
        stop_when_verified: whether the training then ends.

    Args:
        init_model: weights to start from.
        transfer_model: weights of another board to take what fits from.
        preset: a name of PRESETS.
    """

    def __init__(self, init_model=None, transfer_model=None, preset="tictactoe"):
        import torch

        from AlphaZero.mcts_alphaZero import MCTSPlayer
        from AlphaZero.mcts_pure import MCTSPlayer as PureMCTSPlayer
        from AlphaZero.policy_value_net_torch import PolicyValueNet
        from Board.game_board import Board, Game

        sizes = PRESETS[preset]
        if sizes.torch_threads:
            torch.set_num_threads(sizes.torch_threads)
        self.board_width = sizes.board_width
        self.board_height = sizes.board_height
        self.n_in_row = sizes.n_in_row
        self.resnet_block = sizes.resnet_block
        self.learn_rate = 1e-3
        self.n_playout = sizes.n_playout
        self.c_puct = 5
        self.temp = 1.0
        self.first_n_moves = sizes.first_n_moves
        self.remember_games = sizes.remember_games
        self.buffer_size = sizes.buffer_size
        self.batch_size = sizes.batch_size
        self.updates_per_game = 3
        self.play_batch_size = 1
        self.averaging = 0.98
        self.check_freq = sizes.check_freq
        self.game_batch_num = sizes.game_batch_num
        self.pure_mcts_playout_num = sizes.pure_mcts_playout_num
        self.verify_playouts = sizes.verify_playouts
        self.verify_from = sizes.verify_from
        self.stop_when_verified = True
        self.verified = False
        self.best_exact = (0, float("-inf"))
        self.best_win_ratio = 0.0
        self.best = ""
        self.fast_games = None
        self.show = lambda text: None
        self.games_played = 0
        self.data_buffer: deque = deque(maxlen=self.buffer_size)
        self.board = Board(width=self.board_width, height=self.board_height, n_in_row=self.n_in_row)
        self.game = Game(self.board)
        self.policy_value_net = PolicyValueNet(
            self.board_width, self.board_height, self.resnet_block, init_model=init_model, transfer_model=transfer_model
        )
        self.average_net = PolicyValueNet(self.board_width, self.board_height, self.resnet_block)
        self.average_net.model.load_state_dict(self.policy_value_net.model.state_dict())
        self.pure_player_class = PureMCTSPlayer
        self.player_class = MCTSPlayer
        self.mcts_player = self.new_selfplay_player()

    def make_player(self, policy_value_fn, is_selfplay, n_playout=None):
        """The student's AlphaZero player with this training's settings, or with another number of playouts."""
        # A network may refuse other handles than these two, in self-play too: batch norm is in eval mode either way.
        handles = self.policy_value_net.action_fc_test, self.policy_value_net.evaluation_fc2_test
        player = self.player_class(
            policy_value_fn, *handles, c_puct=self.c_puct, n_playout=n_playout or self.n_playout, is_selfplay=is_selfplay
        )
        player.first_n_moves = self.first_n_moves
        return player

    def new_selfplay_player(self):
        """Who plays itself: the student's player with random symmetries, by what the network has learnt up to now or later."""
        evaluate = self.policy_value_net.policy_value_fn_random
        return self.make_player(remembered(evaluate) if self.remember_games else evaluate, is_selfplay=1)

    def play_fast(self):
        """From now on self-play is that of training/, many games side by side, in place of the student's search."""
        from training.fast import fast_games
        from training.puct import PuctSettings

        search = PuctSettings(self.n_playout, self.c_puct, self.first_n_moves)
        rng = np.random.default_rng(np.random.randint(2**31))
        self.fast_games = fast_games(self.policy_value_net, self.board_width, self.board_height, self.n_in_row, search, rng)

    def get_equi_data(self, play_data):
        """Each sample in all symmetries of the board: eight if it is square, else four.

        Args:
            play_data: iterable of (state [9, H, W], move probabilities [W*H], z).

        Returns:
            list of the same triples, the sample itself as the first of its images.
        """
        symmetries = Symmetries(self.board_width, self.board_height)
        # Each rotation and then its mirror image: in this order a seed repeats the trainings of docs/training.md.
        which = np.arange(symmetries.count).reshape(2, -1).T.reshape(-1)
        extended = []
        for state, move_probs, z in play_data:
            states = symmetries.turn_states(np.stack([state] * len(which)), which)
            probs = symmetries.turn_policies(np.stack([move_probs] * len(which)), which)
            extended += [(*images, z) for images in zip(states, probs, strict=True)]
        return extended

    def collect_selfplay_data(self, n_games=1):
        """Play games of the network against itself and put their positions into the buffer."""
        for _ in range(n_games):
            if self.games_played % max(1, self.remember_games) == 0:
                self.mcts_player = self.new_selfplay_player()
            if self.fast_games is not None:
                play_data = next(self.fast_games)
            else:
                _, play_data = self.game.start_self_play(self.mcts_player)
            self.data_buffer.extend(self.get_equi_data(play_data))
            self.games_played += 1

    def policy_update(self):
        """`updates_per_game` training steps, each on a random batch of the buffer.

        Returns:
            (mean loss, mean entropy)
        """
        progress = min(1.0, self.games_played / self.game_batch_num)
        learn_rate = self.learn_rate * (1 - 0.9 * progress)
        results = []
        for _ in range(self.updates_per_game * self.play_batch_size):
            states, probs, winners = zip(*random.sample(self.data_buffer, self.batch_size), strict=True)
            results.append(self.policy_value_net.train_step(states, probs, np.array(winners, dtype=np.float32), learn_rate))
            self.update_average()
        loss, entropy = np.mean(results, axis=0)
        return float(loss), float(entropy)

    def update_average(self):
        """Move the averaged weights, and batch norm's statistics, a little towards those of the network that learns."""
        latest = self.policy_value_net.model.state_dict()
        for name, average in self.average_net.model.state_dict().items():
            if average.is_floating_point():  # all but batch norm's count of batches, which nothing is computed from
                average.lerp_(latest[name], 1 - self.averaging)

    def step(self):
        """`play_batch_size` games and what is learnt from them.

        Returns:
            (mean loss, mean entropy), or None while the buffer holds less than a batch.
        """
        self.collect_selfplay_data(self.play_batch_size)
        if len(self.data_buffer) < self.batch_size:
            return None
        return self.policy_update()

    def policy_evaluate(self, n_games=10):
        """Games against pure MCTS, beginning in turn.

        Returns:
            The share of wins, a draw counting half.
        """
        player = self.make_player(self.average_net.policy_value_fn, is_selfplay=0)
        opponent = self.pure_player_class(c_puct=self.c_puct, n_playout=self.pure_mcts_playout_num)
        points = 0.0
        for number in range(n_games):
            winner = self.game.start_play(player, opponent, start_player=number % 2, is_shown=0, print_prob=False)
            points += {1: 1.0, 2: 0.0, -1: 0.5}[winner]
        return points / n_games

    def find_losing_lines(self):
        """Play against every line of replies, at each number of playouts with both evaluation functions, until one loses.

        policy_value_fn_random draws a symmetry for each position, and that draw is kept throughout: what is counted is an
        agent that always answers alike. This function comes first, because lines that are images of each other are then
        one, and a network that loses is found out sooner.

        Returns:
            (counts without a losing line, losing lines of the last count, its playouts)
        """
        net = self.average_net
        size = (self.board_width, self.board_height, self.n_in_row)
        functions = ((remembered(net.policy_value_fn_random), True), (remembered(net.policy_value_fn), False))
        passed = 0
        for n_playout in self.verify_playouts:
            for policy_value_fn, alike in functions:
                self.show(f"playing every line of replies at {n_playout} playouts")
                new_player = partial(self.make_player, policy_value_fn, 0, n_playout)
                losing = play_all_games(searching_player_agent(new_player, size, alike), size).losing_lines
                if losing:
                    return passed, losing, n_playout
                passed += 1
        return passed, 0, n_playout

    def check(self):
        """Measure the network, keep it if it is the best, and make the opponent stronger when it cannot win.

        Fewer losing lines are better and decide first; ten games are few, and their win ratio decides between equals.

        Returns:
            (win ratio, losing lines, playouts of those), the latter two None where not every line was played.
        """
        win_ratio = self.policy_evaluate()
        losing, n_playout, exact = None, None, self.best_exact
        if self.verify_playouts and self.games_played >= self.verify_from:
            passed, losing, n_playout = self.find_losing_lines()
            exact = (passed, -losing)
        # An equal result, by a network that learnt more against an opponent at least as strong, counts as better.
        if (exact, win_ratio) >= (self.best_exact, self.best_win_ratio):
            self.best_exact, self.best_win_ratio = exact, win_ratio
            self.verified = losing == 0
            self.best = f"after {self.games_played} games: {self.describe(win_ratio, losing, n_playout)}"
            self.average_net.save_model("model/best_policy.model")
        if win_ratio == 1.0 and self.pure_mcts_playout_num < 5000:
            self.pure_mcts_playout_num += 100
            self.best_win_ratio = 0.0
        return win_ratio, losing, n_playout

    @staticmethod
    def describe(win_ratio, losing, n_playout):
        """What `check` returns, as text."""
        exact = "" if losing is None else f", {losing} losing lines at {n_playout} playouts"
        return f"win ratio {win_ratio:.2f}{exact}"

    def run(self):
        """Train for `game_batch_num` games or until verified; Ctrl-C saves and ends."""
        from tqdm import tqdm

        os.makedirs("tmp", exist_ok=True)
        os.makedirs("model", exist_ok=True)
        with open("tmp/training.csv", "w", newline="", encoding="utf-8") as file:
            log = csv.writer(file)
            log.writerow(["games", "loss", "entropy", "opponent_playouts", "win_ratio", "losing_lines", "exact_playouts"])
            with tqdm(total=self.game_batch_num, unit="game", disable=None) as bar:
                self.show = bar.set_postfix_str
                try:
                    while self.games_played < self.game_batch_num and not (self.verified and self.stop_when_verified):
                        learnt = self.step()
                        bar.update(self.play_batch_size)
                        opponent_playouts, measured = self.pure_mcts_playout_num, ("", "", "")
                        if self.games_played % self.check_freq == 0:
                            self.policy_value_net.save_model("tmp/current_policy.model")
                        if self.games_played % (2 * self.check_freq) == 0:
                            measured = self.check()
                            self.show(self.describe(*measured))
                        if learnt:
                            loss, entropy = learnt
                            log.writerow([self.games_played, f"{loss:.4f}", f"{entropy:.4f}", opponent_playouts, *measured])
                            file.flush()
                except KeyboardInterrupt:
                    print(f"\nInterrupted after {self.games_played} games.", file=sys.stderr)
        self.policy_value_net.save_model("tmp/current_policy.model")
        print("The latest network is tmp/current_policy.model, what happened is in tmp/training.csv.")
        if self.best:
            print(f"The best one is model/best_policy.model, {self.best}.")
        if self.verified:
            playouts = ", ".join(map(str, self.verify_playouts))
            print(f"Verified: it loses no line of replies at {playouts} playouts, with either evaluation function.")


def seed_everything(seed):
    """Make random, numpy and torch repeat themselves."""
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main():
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--preset", choices=sorted(PRESETS), default="tictactoe")
    parser.add_argument("--games", type=int, help="self-play games (default: the preset's)")
    parser.add_argument("--seed", type=int, help="repeat a training (default: drawn and printed)")
    parser.add_argument("--init-model", metavar="FILE", help="weights to go on from")
    parser.add_argument(
        "--fast", action="store_true", help="self-play by training/ in place of the own search, where training/ has it"
    )
    options = parser.parse_args()
    if options.games is not None and options.games < 1:
        parser.error(f"expected --games of at least 1; got {options.games}")
    if options.fast and find_spec("training.fast") is None:
        parser.error("expected the fast self-play of training/ for --fast; this tree has none: leave --fast out")
    if options.init_model and not os.path.isfile(options.init_model):
        parser.error(f"expected weights at {options.init_model}; nothing is there")
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    pipeline = None
    try:
        seed_everything(seed)
        pipeline = TrainPipeline(init_model=options.init_model, preset=options.preset)
        if options.games is not None:
            pipeline.game_batch_num = options.games
        if options.fast:
            pipeline.play_fast()
        print(f"Seed {seed}, {pipeline.game_batch_num} games of {options.preset}")
        pipeline.run()
    except NotImplementedError as error:
        print(f"train.py: {first_unwritten(error)}.", file=sys.stderr)
        return 2
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        if options.init_model is None or pipeline is not None:
            raise
        reason = str(error).splitlines()[-1].strip() if "state_dict" in str(error) else "it holds something else"
        print(f"train.py: expected weights of this board in {options.init_model}: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
