"""Connect four behind the protocol: what a further game takes. An action is a column, so it is not a point."""

from functools import cached_property

import numpy as np

from Board.symmetries import Symmetries
from games.grid import COLUMNS, grid
from games.protocol import NO_MOVE, NOBODY
from games.symmetries import ActionSymmetries

FOUR = 4
PLANES = 3


def completes_four(stones):
    """Whether there are four in a row of ones in each picture [G, H, W]."""
    height, width = stones.shape[1:]
    found = np.zeros(len(stones), dtype=bool)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        rows, columns = height - 3 * down, width - 3 * abs(right)
        if rows > 0 and columns > 0:
            left = 3 if right < 0 else 0
            window = [stones[:, i * down :, left + i * right :][:, :rows, :columns] for i in range(FOUR)]
            found |= np.logical_and.reduce(window).any(axis=(1, 2))
    return found


class ConnectFourBatch:
    pass_action = NO_MOVE

    def __init__(self, games, width, height):
        self.stones = np.zeros((games, height, width), dtype=np.int8)  # bottom row first
        self.length, self.last_move = np.zeros(games, dtype=np.int64), np.full(games, NO_MOVE)
        self.winner, self.over = np.full(games, NOBODY, dtype=np.int8), np.zeros(games, dtype=bool)

    def __len__(self):
        return len(self.length)

    @property
    def side_to_move(self):
        return (1 + self.length % 2).astype(np.int8)

    @property
    def legal(self):
        return self.stones[:, -1] == 0

    def take(self, games):
        some = object.__new__(type(self))
        some.__dict__.update({name: array[games].copy() for name, array in self.__dict__.items()})
        return some

    def for_search(self, depth_limit):
        return self.take(slice(None))

    def restart(self, games):
        for name, start in (("stones", 0), ("length", 0), ("last_move", NO_MOVE), ("winner", NOBODY), ("over", False)):
            getattr(self, name)[games] = start

    def put(self, games, others):
        for name, array in self.__dict__.items():
            array[games] = getattr(others, name)

    def play(self, actions):
        actions = np.asarray(actions)
        width = self.legal.shape[1]
        if ((actions < 0) | (actions >= width)).any():
            raise ValueError(f"expected actions among 0..{width - 1}; got {actions}")
        if (self.over | ~self.legal[np.arange(len(self)), actions]).any():
            raise ValueError(f"expected a legal action in every game, none of them over; got {actions}")
        self.play_lines(actions[:, None], np.ones(len(self), dtype=int))

    def play_lines(self, lines, lengths):
        for depth in range(int(lengths.max(initial=0))):
            games = np.flatnonzero(lengths > depth)
            column = lines[games, depth]
            row = (self.stones[games, :, column] != 0).sum(axis=1)
            self.stones[games, row, column] = self.side_to_move[games]
            self.last_move[games], self.length[games] = column, self.length[games] + 1
        mover = 3 - self.side_to_move
        won = completes_four(self.stones == mover[:, None, None])
        self.winner[won] = mover[won]
        self.over = won | ~self.legal.any(axis=1)

    def feature_planes(self):
        side = self.side_to_move[:, None, None]
        planes = [self.stones == side, self.stones == 3 - side, np.broadcast_to(side == 1, self.stones.shape)]
        return np.ascontiguousarray(np.stack(planes, axis=1)[:, :, ::-1], dtype=np.float32)


class ConnectFourPosition:
    """A batch of one game with the students' methods."""

    def __init__(self, width, height):
        self.width, self.height, self.players = width, height, [1, 2]
        self.init_board()

    def init_board(self, start_player=0):
        self._batch, self._first = ConnectFourBatch(1, self.width, self.height), start_player
        self._listed = None

    @property
    def availables(self):
        if self._listed is None:
            self._listed = [] if self._batch.over[0] else np.flatnonzero(self._batch.legal[0]).tolist()
        return self._listed

    @property
    def states(self):
        flat = self._batch.stones.reshape(-1)
        return {int(point): self._player(flat[point]) for point in np.flatnonzero(flat)}

    def _player(self, player):
        return int(player if player == NOBODY or self._first == 0 else 3 - player)

    @property
    def current_player(self):
        return self._player(self._batch.side_to_move[0])

    @property
    def last_move(self):
        return int(self._batch.last_move[0])

    def do_move(self, move):
        self._batch.play([move])
        self._listed = None

    def game_end(self):
        return bool(self._batch.over[0]), self._player(self._batch.winner[0])

    def has_a_winner(self):
        return self.game_end()[1] != NOBODY, self.game_end()[1]

    def get_current_player(self):
        return self.current_player

    def current_state(self):
        return self._batch.feature_planes()[0]

    def copy(self):
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _batch=self._batch.take(slice(None)), players=self.players[:], _listed=None)
        return twin

    def __deepcopy__(self, memo):
        return self.copy()


class ConnectFourRules:
    name, planes = "connect_four", PLANES

    def __init__(self, width=7, height=6):
        self.width, self.height, self.actions, self.longest_game = width, height, width, width * height

    @cached_property
    def symmetries(self):
        # Gravity leaves the mirror image alone.
        board, mirrored = Symmetries(self.width, self.height), np.arange(self.width)[::-1]
        mirror = next(row for row in board.moves if row[: self.width].tolist() == mirrored.tolist())
        which = [0, board.moves.tolist().index(mirror.tolist())]
        return ActionSymmetries(board.places[which], np.stack([mirrored[::-1], mirrored]))

    def position(self):
        return ConnectFourPosition(self.width, self.height)

    def batch(self, games):
        return ConnectFourBatch(games, self.width, self.height)

    def action_name(self, action):
        return COLUMNS[action]

    def action_of(self, name):
        if name and name.lower() in COLUMNS[: self.width]:
            return COLUMNS.index(name.lower())
        raise ValueError(f"expected a point's column from a to {COLUMNS[self.width - 1]}; got {name!r}")

    def text(self, position):
        return grid(self.width, self.height).text(position.states, NO_MOVE)
