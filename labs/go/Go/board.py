"""The rules of Go (handout sections 2 and 3).

Point (row h from the bottom, column w from the left) is the number `h * width + w`, and the pass is the action after the last
point. Black is the player who began.
"""


class Board:
    """A game of Go.

    Args:
        width, height: the number of columns and rows, at least 2 each.
        komi: what white receives.
        superko: whether a stone must not repeat any earlier arrangement of stones; if False, only a simple ko is forbidden.

    Attributes:
        width, height, komi, superko: see above.
        players: [1, 2].
        states: dict point -> player, with an entry for each stone.
        availables: list of the legal actions of the side to move, in ascending order; empty when the game is over.
        current_player: the player to move.
        first_player: black.
        last_move: the last action; -1 before the first one.
        captures: dict player -> number of stones that this player has captured.
    """

    def __init__(self, width=9, height=9, komi=7.5, superko=False):
        self.width = width
        self.height = height
        self.komi = komi
        self.superko = superko
        self.players = [1, 2]
        self.init_board()

    def init_board(self, start_player=0):
        """Begin a new game; `start_player` is the index in `players` of the player who moves first."""
        self.current_player = self.first_player = self.players[start_player]
        self.last_move = -1
        self.states = {}
        self.captures = {1: 0, 2: 0}
        raise NotImplementedError("Go/board.py: Board.init_board: see handout section 2.1")

    def pass_action(self):
        """Return the number of the pass."""
        raise NotImplementedError("Go/board.py: Board.pass_action: see handout section 2.1")

    def do_move(self, move):
        """Play an action of the side to move, and pass the turn.

        Raises:
            ValueError: the action is not legal, or the game is over; the board stays as it was.
        """
        raise NotImplementedError("Go/board.py: Board.do_move: see handout section 2.1")

    def _place(self, move):
        """Place a stone, take captured stones off the board, and note a ko."""
        raise NotImplementedError("Go/board.py: Board._place: see handout section 2.2")

    def _pass(self):
        """Count a pass; in a simulation, take two passes back while a point is worth playing (handout section 3)."""
        raise NotImplementedError("Go/board.py: Board._pass: see handout section 3.1")

    def _after(self, move, player):
        """Return (stones, captured points) after a stone on this empty point; None for the stones if it is suicide."""
        raise NotImplementedError("Go/board.py: Board._after: see handout section 2.2")

    def _legal_actions(self):
        """Return the legal actions of the side to move, in ascending order; none when the game is over."""
        raise NotImplementedError("Go/board.py: Board._legal_actions: see handout section 2.3")

    def score(self):
        """Return black's area minus white's area and the komi."""
        raise NotImplementedError("Go/board.py: Board.score: see handout section 2.4")

    def _areas(self):
        """Return dict point -> the player to whom it belongs, 0 for nobody: stones, and empty points that reach only theirs."""
        raise NotImplementedError("Go/board.py: Board._areas: see handout section 2.4")

    def game_end(self):
        """Return (whether the game is over, the winner); the winner is -1 while the game goes on, and for a draw."""
        raise NotImplementedError("Go/board.py: Board.game_end: see handout section 2.5")

    def for_search(self, depth_limit):
        """Return a copy for a search to play on; copies of it follow the same rules (handout section 3).

        Args:
            depth_limit: the number of actions, counted from this position, after which a game is a draw.
        """
        raise NotImplementedError("Go/board.py: Board.for_search: see handout section 3.2")

    def _points_worth_playing(self):
        """Return whether some point belongs to nobody and one of the players may play there, whatever ko and superko say."""
        raise NotImplementedError("Go/board.py: Board._points_worth_playing: see handout section 3.1")

    def has_a_winner(self):
        """Return (True, player) if a player has won, otherwise (False, -1) (provided)."""
        over, winner = self.game_end()
        return (True, winner) if over and winner != -1 else (False, -1)

    def get_current_player(self):
        """Return the player to move (provided)."""
        return self.current_player

    def copy(self):
        """Return a board that is independent of this one: moves on one do not show on the other."""
        raise NotImplementedError("Go/board.py: Board.copy: see handout section 2.6")

    def _beside(self, point):
        """Return the points beside a point (provided)."""
        h, w = divmod(point, self.width)
        near = [(h - 1, w), (h + 1, w), (h, w - 1), (h, w + 1)]
        return [y * self.width + x for y, x in near if 0 <= y < self.height and 0 <= x < self.width]

    def _chain(self, point, states):
        """Return (stones, liberties) of the chain of the stone on this point, two sets (provided)."""
        stones, liberties, waiting = {point}, set(), [point]
        while waiting:
            for near in self._beside(waiting.pop()):
                if near not in states:
                    liberties.add(near)
                elif states[near] == states[point] and near not in stones:
                    stones.add(near)
                    waiting.append(near)
        return stones, liberties
