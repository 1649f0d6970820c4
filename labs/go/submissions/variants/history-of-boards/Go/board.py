"""Go with the whole history; a board is a tuple of 0, 1 and 2."""


class Board(object):
    def __init__(self, width=9, height=9, komi=7.5, superko=False):
        self.width = width
        self.height = height
        self.komi = komi
        self.superko = superko
        self.players = [1, 2]
        self.init_board()

    def init_board(self, start_player=0):
        self.first_player = self.players[start_player]
        self.history = [(0,) * (self.width * self.height)]
        self.actions = []
        self.kos = [-1]
        self.counted = 0
        self.searching = None
        self.captures = {1: 0, 2: 0}

    @property
    def current_player(self):
        return self.first_player if len(self.actions) % 2 == 0 else 3 - self.first_player

    def get_current_player(self):
        return self.current_player

    @property
    def last_move(self):
        return self.actions[-1] if self.actions else -1

    @property
    def states(self):
        return {p: s for p, s in enumerate(self.history[-1]) if s}

    def near(self, p):
        if p % self.width:
            yield p - 1
        if (p + 1) % self.width:
            yield p + 1
        if p >= self.width:
            yield p - self.width
        if p + self.width < len(self.history[0]):
            yield p + self.width

    def flood(self, board, p):
        """All points of p's colour connected with it, and the colours around them."""
        found, around, i = [p], set(), 0
        while i < len(found):
            for q in self.near(found[i]):
                if board[q] != board[p]:
                    around.add((q, board[q]))
                elif q not in found:
                    found.append(q)
            i += 1
        return found, around

    def after(self, p, player):
        board = list(self.history[-1])
        if board[p]:
            return None, 0
        board[p] = player
        taken = set()
        for q in self.near(p):
            if board[q] == 3 - player:
                group, around = self.flood(board, q)
                if 0 not in [colour for _, colour in around]:
                    taken.update(group)
        for q in taken:
            board[q] = 0
        if 0 not in [colour for _, colour in self.flood(board, p)[1]]:
            return None, 0
        return tuple(board), len(taken)

    @property
    def availables(self):
        if self.game_end()[0]:
            return []
        moves = []
        for p in range(len(self.history[0])):
            board, _ = self.after(p, self.current_player)
            if board is not None and p != self.kos[-1] and not (self.superko and board in self.history):
                moves.append(p)
        return moves + [len(self.history[0])]

    def do_move(self, move):
        if move not in self.availables:
            raise ValueError(move)
        player = self.current_player
        self.actions.append(move)
        if move == len(self.history[0]):
            self.counted += 1
            self.kos.append(-1)
            if self.counted == 2 and self.searching is not None and self.something_left():
                self.counted = 0
                self.kos.append(self.kos[-3])
            return
        board, taken = self.after(move, player)
        self.captures[player] += taken
        ko = -1
        group, around = self.flood(board, move)
        liberties = [q for q, colour in around if colour == 0]
        if taken == 1 and len(group) == 1 and len(liberties) == 1 and self.history[-1][liberties[0]]:
            ko = liberties[0]
        self.kos.append(ko)
        self.history.append(board)
        self.counted = 0

    def owner(self, p):
        board = self.history[-1]
        if board[p]:
            return board[p]
        colours = {colour for _, colour in self.flood(board, p)[1]}
        return colours.pop() if len(colours) == 1 else 0

    def score(self):
        owners = [self.owner(p) for p in range(len(self.history[0]))]
        return owners.count(self.first_player) - owners.count(3 - self.first_player) - self.komi

    def something_left(self):
        for p in range(len(self.history[0])):
            if self.owner(p) == 0 and (self.after(p, 1)[0] or self.after(p, 2)[0]):
                return True
        return False

    def game_end(self):
        if self.counted == 2:
            points = self.score()
            if points > 0:
                return True, self.first_player
            return True, 3 - self.first_player if points < 0 else -1
        if self.searching is not None:
            begin, limit = self.searching
            return len(self.actions) - begin >= limit, -1
        return False, -1

    def for_search(self, depth_limit):
        board = self.copy()
        board.searching = (len(self.actions), depth_limit)
        return board

    def copy(self):
        board = Board(self.width, self.height, self.komi, self.superko)
        board.first_player = self.first_player
        board.history, board.actions, board.kos = self.history[:], self.actions[:], self.kos[:]
        board.counted, board.searching, board.captures = self.counted, self.searching, dict(self.captures)
        return board
