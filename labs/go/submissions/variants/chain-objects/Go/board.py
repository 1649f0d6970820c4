"""Go with one object for each chain; everything is kept up to date at each action, and a memento undoes the passes."""

import copy

from .group import Group


class IllegalAction(ValueError):
    """Neither a legal point nor a legal pass."""


class Board:
    def __init__(self, width=9, height=9, komi=7.5, superko=False):
        self.width, self.height, self.komi, self.superko = width, height, komi, superko
        self.players = [1, 2]
        self.init_board()

    def init_board(self, start_player=0):
        self.current_player = self.first_player = self.players[start_player]
        self.last_move = -1
        self.states = {}
        self.captures = {1: 0, 2: 0}
        self.groups = {}
        self.ko = None
        self.in_a_row = 0
        self.before_passes = None
        self.end_of_search = None
        self.age = 0
        self.history = {frozenset()}
        self.availables = self._legal_actions()

    def pass_action(self):
        return self.width * self.height

    def get_current_player(self):
        return self.current_player

    def _beside(self, point):
        h, w = divmod(point, self.width)
        near = [(h - 1, w), (h + 1, w), (h, w - 1), (h, w + 1)]
        return [y * self.width + x for y, x in near if 0 <= y < self.height and 0 <= x < self.width]

    def _neighbours(self, point):
        groups = []
        for near in self._beside(point):
            group = self.groups.get(near)
            if group is not None and all(group is not other for other in groups):
                groups.append(group)
        return groups

    def _taken(self, point, player):
        return [g for g in self._neighbours(point) if g.player != player and g.liberties == {point}]

    def _suicide(self, point, player):
        if self._taken(point, player) or any(near not in self.groups for near in self._beside(point)):
            return False
        return not any(g.player == player and len(g.liberties) > 1 for g in self._neighbours(point))

    def _legal_actions(self):
        if self.game_end()[0]:
            return []
        result = []
        for point in range(self.width * self.height):
            if point in self.groups or point == self.ko or self._suicide(point, self.current_player):
                continue
            if self.superko:
                gone = {s for g in self._taken(point, self.current_player) for s in g.stones}
                stones = {item for item in self.states.items() if item[0] not in gone} | {(point, self.current_player)}
                if frozenset(stones) in self.history:
                    continue
            result.append(point)
        return result + [self.pass_action()]

    def do_move(self, move):
        if move not in self.availables:
            raise IllegalAction(f"action {move} is not among {self.availables}")
        if self.in_a_row == 0:
            self.before_passes = (self.ko, self.last_move)
        self.age += 1
        player = self.current_player
        self.ko = None
        self.last_move = move
        self.current_player = 3 - player
        if move == self.pass_action():
            self.in_a_row += 1
            if self.in_a_row == 2 and self.end_of_search is not None and self._points_worth_playing():
                self.ko, self.last_move = self.before_passes
                self.in_a_row = 0
        else:
            self.in_a_row = 0
            self._place(move, player)
        self.availables = self._legal_actions()

    def _place(self, move, player):
        taken = self._taken(move, player)
        new = Group(player, [move], [near for near in self._beside(move) if near not in self.groups])
        for group in self._neighbours(move):
            group.liberties.discard(move)
            if group.player == player:
                new.stones |= group.stones
                new.liberties |= group.liberties
        for stone in new.stones:
            self.groups[stone] = new
        self.states[move] = player
        for group in taken:
            for stone in group.stones:
                del self.groups[stone]
                del self.states[stone]
        for group in taken:
            for stone in group.stones:
                for near in self._neighbours(stone):
                    near.liberties.add(stone)
        count = sum(len(group.stones) for group in taken)
        self.captures[player] += count
        if count == 1 and len(new.stones) == 1 and new.liberties == taken[0].stones:
            self.ko = min(new.liberties)
        self.history.add(frozenset(self.states.items()))

    def _regions(self):
        """Yield (points, colours) of each empty region."""
        left = {p for p in range(self.width * self.height) if p not in self.states}
        while left:
            waiting, points, colours = [left.pop()], set(), set()
            while waiting:
                point = waiting.pop()
                points.add(point)
                for near in self._beside(point):
                    if near in self.states:
                        colours.add(self.states[near])
                    elif near in left:
                        left.remove(near)
                        waiting.append(near)
            yield points, colours

    def score(self):
        area = {1: 0, 2: 0}
        for player in self.states.values():
            area[player] += 1
        for points, colours in self._regions():
            if len(colours) == 1:
                area[min(colours)] += len(points)
        return area[self.first_player] - area[3 - self.first_player] - self.komi

    def _points_worth_playing(self):
        for points, colours in self._regions():
            if len(colours) != 1 and any(not self._suicide(p, player) for p in points for player in (1, 2)):
                return True
        return False

    def game_end(self):
        if self.in_a_row >= 2:
            score = self.score()
            return True, -1 if score == 0 else self.first_player if score > 0 else 3 - self.first_player
        return self.end_of_search is not None and self.age >= self.end_of_search, -1

    def has_a_winner(self):
        over, winner = self.game_end()
        return (True, winner) if winner > 0 else (False, -1)

    def copy(self):
        return copy.deepcopy(self)

    def for_search(self, depth_limit):
        board = copy.deepcopy(self)
        board.end_of_search = board.age + depth_limit
        board.availables = board._legal_actions()
        return board
