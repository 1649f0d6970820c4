"""Training by self-play: `python train.py` learns tic-tac-toe from scratch until it no longer loses (handout 5.5).

This is the AlphaZero loop (Silver et al. 2017); read TrainPipeline from top to bottom. The network plays against itself, guided
by the search. Every position of those games becomes a sample, and the network learns from random batches of the latest
samples. A second network, whose weights are an average of the latest ones, is measured from time to time: against pure MCTS
and, if the board is small enough, against every line of replies. Training ends when it loses no line. Values and results are
for the side to move.

The program writes tmp/current_policy.model, model/best_policy.model and the learning curves, tmp/training.csv and training.svg.
After an interruption, `python train.py --resume` continues. A better network of an earlier run stays where it is; the new one
is then saved as model/best_policy.1.model, 2 and so on. What is not part of the algorithm is in training/loop/.
"""

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted before the first game.")  # torch takes seconds to import
    expect_packages("train.py", "numpy", "torch", "tqdm")

import os
import random
import sys
from collections import deque
from dataclasses import dataclass

import numpy as np

from Board.symmetries import Symmetries
from training.exact import remembered
from training.loop.command import train_by_command, what_next
from training.loop.following import CURRENT, PICTURE, TABLE, AboutRun, Following
from training.loop.kept_networks import BestNetwork, Strength
from training.loop.verifying import Measurement, verify

BEST = "model/best_policy.model"


@dataclass(kw_only=True)
class HyperParameters:
    """The settings of a training run. A TrainPipeline has them as attributes, which may be changed before `run`.

    Attributes:
        board_width, board_height, n_in_row: the size of the board, and how many stones in a row win.
        resnet_block: the number of residual blocks in the network.
        learn_rate: the optimiser's initial learning rate; it falls linearly to a tenth of that over `game_batch_num` games.
        n_playout, c_puct: the number of playouts for each move, and the weight of the search's exploration bonus.
        first_n_moves: the number of moves at the start of a self-play game that are drawn at temperature 1. On 3x3 this covers
            all moves: a network that makes no mistakes in its games does not learn to answer the mistakes of others.
        remember_games: for this many games, reuse the evaluation of a position even though the network keeps learning; 0
            evaluates every position each time. This helps on a board so small that the same positions occur again and again.
        buffer_size: how many of the latest samples to learn from; each symmetric image of a position is one sample.
        batch_size, updates_per_game: the number of samples in an update, and the number of updates after each game.
        play_batch_size: the number of games to play before the updates.
        averaging: the share of the averaged weights that remains after each update; 0.98 averages over about 50 updates.
        check_freq: save the current network every `check_freq` games; after every second save, measure the averaged network.
        game_batch_num: the number of games in the whole training run.
        pure_mcts_playout_num: the number of playouts of the opponent in the evaluation; it gets 100 more after it has lost ten
            games out of ten.
        verify_playouts: the numbers of playouts at which a network must lose no line of replies to be verified, both with
            policy_value_fn and with policy_value_fn_random; empty if there are too many games to play them all.
        verify_from: the number of games before the first verification. A beginner's search visits everything, so finding its
            losses takes the longest.
        stop_when_verified: whether training ends as soon as a network is verified.
        torch_threads: the number of threads that torch uses, or None for torch's default. With a small network several threads
            only wait for each other.
    """

    board_width: int
    board_height: int
    n_in_row: int
    resnet_block: int
    learn_rate: float = 1e-3
    n_playout: int
    c_puct: float = 5
    first_n_moves: int
    remember_games: int
    buffer_size: int
    batch_size: int
    updates_per_game: int = 3
    play_batch_size: int = 1
    averaging: float = 0.98
    check_freq: int
    game_batch_num: int
    pure_mcts_playout_num: int
    verify_playouts: tuple[int, ...]
    verify_from: int
    stop_when_verified: bool = True
    torch_threads: int | None


PRESETS = {
    "tictactoe": HyperParameters(
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
    "gomoku_11": HyperParameters(
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


class TrainPipeline(HyperParameters):
    """Self-play, updates and evaluation; all hyper-parameters are attributes (see HyperParameters).

    Attributes:
        policy_value_net: the network that plays itself and learns.
        average_net: a network whose weights are the average of the latest weights. It is steadier, because a single update can
            move the weights far. This network is measured, and the best one is kept.
        data_buffer: the latest samples, each (state [9, H, W], move probabilities [W*H], z).
        verified: whether the best network loses no line of replies.
        best: a description of the best network; empty until a network has been measured.

    Args:
        init_model: a file of weights to start from.
        transfer_model: a file of weights for another board; only the layers that fit are used.
        preset: a name in PRESETS.
        cuda: whether the networks compute on the GPU.
    """

    def __init__(self, init_model=None, transfer_model=None, preset="tictactoe", cuda=False):
        import torch

        from AlphaZero.mcts_alphaZero import MCTSPlayer
        from AlphaZero.policy_value_net_torch import PolicyValueNet
        from Board.game_board import Board, Game

        super().__init__(**vars(PRESETS[preset]))
        if self.torch_threads:
            torch.set_num_threads(self.torch_threads)
        self.board = Board(width=self.board_width, height=self.board_height, n_in_row=self.n_in_row)
        self.game = Game(self.board)
        size = self.board_width, self.board_height, self.resnet_block
        self.policy_value_net = PolicyValueNet(*size, init_model=init_model, transfer_model=transfer_model, cuda=cuda)
        self.average_net = PolicyValueNet(*size, cuda=cuda)
        self.average_net.model.load_state_dict(self.policy_value_net.model.state_dict())
        self.player_class = MCTSPlayer
        self.mcts_player = self.new_selfplay_player()
        self.fast_games = None
        self.data_buffer: deque = deque(maxlen=self.buffer_size)
        self.games_played = 0
        self.verified = False
        self.best = ""
        self.best_exact = (0, float("-inf"))
        self.best_win_ratio = 0.0
        self.about = AboutRun(preset)
        self.best_network = BestNetwork(BEST, self.about.run)
        self.show = lambda text: None

    def run(self):
        """Train for `game_batch_num` games or until a network is verified; Ctrl-C saves the network and stops."""
        os.makedirs("tmp", exist_ok=True)
        os.makedirs("model", exist_ok=True)
        with Following(self) as following:
            try:
                while not self.is_over():
                    opponent_playouts, measured = self.pure_mcts_playout_num, None
                    learnt = self.step()
                    following.played()
                    if self.games_played % self.check_freq == 0:
                        self.policy_value_net.save_model(CURRENT)
                    if self.games_played % (2 * self.check_freq) == 0:
                        measured = self.check()
                    following.add(learnt, opponent_playouts, measured)
            except KeyboardInterrupt:
                following.interrupted()
        self.policy_value_net.save_model(CURRENT)
        self.print_summary()

    def is_over(self):
        """Return whether all games have been played, or the best network is verified and `stop_when_verified` is set."""
        return self.games_played >= self.game_batch_num or (self.verified and self.stop_when_verified)

    def step(self):
        """Play `play_batch_size` games and learn from them.

        Returns:
            (mean loss, mean entropy), or None while the buffer holds fewer samples than a batch.
        """
        self.collect_selfplay_data(self.play_batch_size)
        if len(self.data_buffer) < self.batch_size:
            return None
        return self.policy_update()

    def make_player(self, policy_value_fn, is_selfplay, playouts=None):
        """Make the student's AlphaZero player with this run's settings, or with another number of playouts."""
        # A network may refuse all handles but these two. Self-play uses them too: batch norm is in eval mode either way.
        handles = self.policy_value_net.action_fc_test, self.policy_value_net.evaluation_fc2_test
        player = self.player_class(
            policy_value_fn, *handles, c_puct=self.c_puct, n_playout=playouts or self.n_playout, is_selfplay=is_selfplay
        )
        player.first_n_moves = self.first_n_moves
        return player

    def new_selfplay_player(self):
        """Make the self-play player: the student's player, which sees each position through a random symmetry."""
        evaluate = self.policy_value_net.policy_value_fn_random
        return self.make_player(remembered(evaluate) if self.remember_games else evaluate, is_selfplay=1)

    def play_fast(self, backend="auto"):
        """Switch from the student's search to the self-play in training/, which plays many games side by side.

        Args:
            backend: the library that computes the network in these games: torch, openvino, or auto for the faster one.

        Returns:
            How the network is computed, such as `torch, float32 on cpu`.
        """
        from training.search.puct import PuctSettings
        from training.selfplay.fast import fast_games, fast_network

        size = self.board_width, self.board_height, self.n_in_row
        search = PuctSettings(self.n_playout, self.c_puct, self.first_n_moves)
        rng = np.random.default_rng(np.random.randint(2**31))
        network = fast_network(self.policy_value_net, size, self.n_playout, backend)
        self.fast_games = fast_games(self.policy_value_net, network, size, search, rng)
        return network.description

    def get_equi_data(self, play_data):
        """Return each sample in all symmetries of the board: eight if it is square, otherwise four.

        Args:
            play_data: iterable of (state [9, H, W], move probabilities [W*H], z).

        Returns:
            A list of such triples; each sample is followed by its other images.

        Raises:
            ValueError: a sample holds anything but W*H probabilities.
        """
        symmetries = Symmetries(self.board_width, self.board_height)
        # Each rotation is followed by its mirror image. Only in this order do seeds repeat our recorded runs.
        which = np.arange(symmetries.count).reshape(2, -1).T.reshape(-1)
        points, extended = self.board_width * self.board_height, []
        for state, move_probs, z in play_data:
            if np.shape(move_probs) != (points,):
                raise ValueError(
                    f"expected get_action to return (move, probs) in self-play, with {points} probabilities; got "
                    f"{type(move_probs).__name__} of shape {list(np.shape(move_probs))}"
                )
            states = symmetries.turn_states(np.stack([state] * len(which)), which)
            probs = symmetries.turn_policies(np.stack([move_probs] * len(which)), which)
            extended += [(*images, z) for images in zip(states, probs, strict=True)]
        return extended

    def collect_selfplay_data(self, n_games=1):
        """Let the network play against itself, and add the positions of these games to the buffer in all symmetries."""
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
        """Take `updates_per_game` training steps for each game, each on a random batch from the buffer.

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
        loss, entropy = np.mean([[float(part) for part in step] for step in results], axis=0)
        return float(loss), float(entropy)

    def update_average(self):
        """Move the averaged weights and batch-norm statistics a little towards those of the network that learns."""
        latest = self.policy_value_net.model.state_dict()
        for name, average in self.average_net.model.state_dict().items():
            if average.is_floating_point():  # all but batch norm's batch count, which affects no result
                average.lerp_(latest[name], 1 - self.averaging)

    def policy_evaluate(self, n_games=10):
        """Let the averaged network play against pure MCTS, moving first in every other game.

        Returns:
            The share of wins; a draw counts as half a win.
        """
        from AlphaZero.mcts_pure import MCTSPlayer as PureMCTSPlayer

        player = self.make_player(self.average_net.policy_value_fn, is_selfplay=0)
        opponent = PureMCTSPlayer(c_puct=self.c_puct, n_playout=self.pure_mcts_playout_num)
        points = 0.0
        for number in range(n_games):
            winner = self.game.start_play(player, opponent, start_player=number % 2, is_shown=0, print_prob=False)
            points += {1: 1.0, 2: 0.0, -1: 0.5}[winner]
        return points / n_games

    def find_losing_lines(self):
        """Verify the averaged network (see `verify`).

        Returns:
            (number of counts without a losing line, losing lines in the last count, playouts in the last count)
        """
        size = (self.board_width, self.board_height, self.n_in_row)
        return verify(self.average_net, self.make_player, size, self.verify_playouts, self.show)

    def check(self):
        """Measure the averaged network, save it if it is the best so far, and strengthen the opponent if it lost every game.

        A network is better if it passes more counts or, after that, loses fewer lines. Ten games are few, so the win ratio only
        breaks ties.
        """
        win_ratio = self.policy_evaluate()
        measured, exact, passed = Measurement(win_ratio), self.best_exact, 0
        if self.verify_playouts and self.games_played >= self.verify_from:
            passed, losing_lines, playouts = self.find_losing_lines()
            measured, exact = Measurement(win_ratio, losing_lines, playouts), (passed, -losing_lines)
        # If the results are equal, prefer the later network: it has learnt more, and its opponent was at least as strong.
        if (exact, win_ratio) >= (self.best_exact, self.best_win_ratio):
            self.best_exact, self.best_win_ratio = exact, win_ratio
            self.verified = measured.losing_lines == 0
            self.best = f"after {self.games_played} games: {measured}"
            self.save_best(measured, passed)
        if win_ratio == 1.0 and self.pure_mcts_playout_num < 5000:
            self.pure_mcts_playout_num += 100
            self.best_win_ratio = 0.0
        return measured

    def save_best(self, measured, passed):
        """Save the averaged network as the best of this run."""
        strength = Strength(
            board=(self.board_width, self.board_height, self.n_in_row),
            games=self.games_played,
            passed=passed,
            losing_lines=-1 if measured.losing_lines is None else measured.losing_lines,
            verified=self.verified,
            win_ratio=measured.win_ratio,
            opponent_playouts=self.pure_mcts_playout_num,
        )
        self.best_network.save(self.average_net.save_model, strength)

    def print_summary(self):
        """Print where the networks and the learning curves are, how good the best network is, and how to go on."""
        print(f"The latest network is in {CURRENT}, the learning curves are in {PICTURE} and {TABLE}.")
        if self.best:
            print(f"The best network is in {self.best_network.saved_in}, {self.best}.")
        if self.verified:
            playouts = ", ".join(map(str, self.verify_playouts))
            print(f"Verified: it loses no line of replies at {playouts} playouts, with either evaluation function.")
        for sentence in what_next(self):
            print(sentence)


if __name__ == "__main__":
    sys.exit(train_by_command(TrainPipeline, PRESETS, __file__))
