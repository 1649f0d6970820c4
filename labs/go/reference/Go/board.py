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
        ### BEGIN SOLUTION 2.1
        self._passes = 0  # in a row
        self._ko = self._ko_before_passes = -1  # where a ko may not be taken back
        self._earlier = {frozenset()}  # arrangements of stones
        self._depth = 0  # actions since the position that is searched
        self._depth_limit = None  # None in a real game
        self.availables = self._legal_actions()
        ### END SOLUTION

    def pass_action(self):
        """Return the number of the pass."""
        ### BEGIN SOLUTION 2.1
        return self.width * self.height
        ### END SOLUTION

    def do_move(self, move):
        """Play an action of the side to move, and pass the turn.

        Raises:
            ValueError: the action is not legal, or the game is over; the board stays as it was.
        """
        ### BEGIN SOLUTION 2.1
        if move not in self.availables:
            raise ValueError(f"expected a legal action; got {move}")
        if move == self.pass_action():
            self._pass()
        else:
            self._place(move)
        self._depth += 1
        self.last_move = move
        self.current_player = 3 - self.current_player
        self.availables = self._legal_actions()
        ### END SOLUTION

    def _place(self, move):
        """Place a stone, take captured stones off the board, and note a ko."""
        ### BEGIN SOLUTION 2.2
        after, captured = self._after(move, self.current_player)
        self.states = after
        self.captures[self.current_player] += len(captured)
        self._passes = 0
        self._ko = -1
        stones, liberties = self._chain(move, after)
        if len(captured) == 1 and len(stones) == 1 and liberties == captured:
            self._ko = next(iter(captured))
        self._earlier.add(frozenset(after.items()))
        ### END SOLUTION

    def _pass(self):
        """Count a pass; in a simulation, take two passes back while a point is worth playing (handout section 3)."""
        ### BEGIN SOLUTION 3.1
        if self._passes == 0:
            self._ko_before_passes = self._ko
        self._passes += 1
        self._ko = -1
        if self._passes == 2 and self._depth_limit is not None and self._points_worth_playing():
            self._passes = 0
            self._ko = self._ko_before_passes
        ### END SOLUTION

    def _after(self, move, player):
        """Return (stones, captured points) after a stone on this empty point; None for the stones if it is suicide."""
        ### BEGIN SOLUTION 2.2
        after, captured = dict(self.states), set()
        after[move] = player
        for point in self._beside(move):
            if after.get(point) == 3 - player:
                stones, liberties = self._chain(point, after)
                if not liberties:
                    captured |= stones
        for point in captured:
            del after[point]
        if not self._chain(move, after)[1]:
            return None, captured
        return after, captured
        ### END SOLUTION

    def _legal_actions(self):
        """Return the legal actions of the side to move, in ascending order; none when the game is over."""
        ### BEGIN SOLUTION 2.3
        if self.game_end()[0]:
            return []
        legal = []
        for point in range(self.width * self.height):
            if point in self.states or point == self._ko:
                continue
            after, _ = self._after(point, self.current_player)
            if after is None:
                continue
            if self.superko and frozenset(after.items()) in self._earlier:
                continue
            legal.append(point)
        return [*legal, self.pass_action()]
        ### END SOLUTION

    def score(self):
        """Return black's area minus white's area and the komi."""
        ### BEGIN SOLUTION 2.4
        areas = self._areas()
        black = sum(owner == self.first_player for owner in areas.values())
        white = sum(owner == 3 - self.first_player for owner in areas.values())
        return black - white - self.komi
        ### END SOLUTION

    def _areas(self):
        """Return dict point -> the player to whom it belongs, 0 for nobody: stones, and empty points that reach only theirs."""
        ### BEGIN SOLUTION 2.4
        areas = dict(self.states)
        for start in range(self.width * self.height):
            if start in areas:
                continue
            region, touched, waiting = {start}, set(), [start]
            while waiting:
                for point in self._beside(waiting.pop()):
                    if point in self.states:
                        touched.add(self.states[point])
                    elif point not in region:
                        region.add(point)
                        waiting.append(point)
            owner = touched.pop() if len(touched) == 1 else 0
            areas.update((point, owner) for point in region)
        return areas
        ### END SOLUTION

    def game_end(self):
        """Return (whether the game is over, the winner); the winner is -1 while the game goes on, and for a draw."""
        ### BEGIN SOLUTION 2.5
        if self._passes == 2:
            score = self.score()
            if score == 0:
                return True, -1
            return True, self.first_player if score > 0 else 3 - self.first_player
        if self._depth_limit is not None and self._depth >= self._depth_limit:
            return True, -1
        return False, -1
        ### END SOLUTION

    def for_search(self, depth_limit):
        """Return a copy for a search to play on; copies of it follow the same rules (handout section 3).

        Args:
            depth_limit: the number of actions, counted from this position, after which a game is a draw.
        """
        ### BEGIN SOLUTION 3.2
        twin = self.copy()
        twin._depth_limit = depth_limit
        twin._depth = 0
        twin.availables = twin._legal_actions()
        return twin
        ### END SOLUTION

    def _points_worth_playing(self):
        """Return whether some point belongs to nobody and one of the players may play there, whatever ko and superko say."""
        ### BEGIN SOLUTION 3.1
        neutral = [point for point, owner in self._areas().items() if owner == 0]
        return any(self._after(point, player)[0] is not None for point in neutral for player in self.players)
        ### END SOLUTION

    def has_a_winner(self):
        """Return (True, player) if a player has won, otherwise (False, -1) (provided)."""
        over, winner = self.game_end()
        return (True, winner) if over and winner != -1 else (False, -1)

    def get_current_player(self):
        """Return the player to move (provided)."""
        return self.current_player

    def copy(self):
        """Return a board that is independent of this one: moves on one do not show on the other."""
        ### BEGIN SOLUTION 2.6
        twin = Board.__new__(Board)
        twin.__dict__.update(self.__dict__)
        twin.states, twin.captures = dict(self.states), dict(self.captures)
        twin.availables, twin._earlier = list(self.availables), set(self._earlier)
        return twin
        ### END SOLUTION

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
