"""Go as a list of immutable positions; everything else is derived from the last of them."""

from collections import namedtuple

from Go.bits import Field

# black, white: bits; turn: 0 if black is to move; ko: a bit or 0; passes in a row; taken: stones taken by (black, white)
Position = namedtuple("Position", "black white turn ko passes taken last")


class Board:
    def __init__(self, width=9, height=9, komi=7.5, superko=False, **more):
        self._given = dict(width=width, height=height, komi=komi, superko=superko)
        self.__dict__.update(self._given)
        self.field = Field(width, height)
        self.init_board()

    @property
    def players(self):
        return [1, 2]

    def init_board(self, start_player=0):
        self.first_player = self.players[start_player]
        self.line = (Position(0, 0, 0, 0, 0, (0, 0), -1),)
        self.limit = float("inf")
        self.patient = False

    @property
    def now(self):
        return self.line[-1]

    @property
    def current_player(self):
        return self.first_player if self.now.turn == 0 else 3 - self.first_player

    @property
    def last_move(self):
        return self.now.last

    @property
    def captures(self):
        black, white = self.now.taken
        return {self.first_player: black, 3 - self.first_player: white}

    @property
    def states(self):
        black = dict.fromkeys(self.field.points(self.now.black), self.first_player)
        white = dict.fromkeys(self.field.points(self.now.white), 3 - self.first_player)
        return {**black, **white}

    @property
    def availables(self):
        if self.game_end()[0]:
            return []
        return [p for p in range(self.pass_action()) if self.next_position(p)] + [self.pass_action()]

    def pass_action(self):
        return self.width * self.height

    def next_position(self, point):
        now, stone = self.now, self.field.bit(point)
        if (now.black | now.white | now.ko) & stone:
            return None
        sides = (now.black, now.white)
        found = self.field.after(sides[now.turn], sides[1 - now.turn], stone)
        if found is None:
            return None
        mine, theirs, gone = found
        black, white = (mine, theirs) if now.turn == 0 else (theirs, mine)
        if self.superko and any((black, white) == (old.black, old.white) for old in self.line):
            return None
        single = gone.bit_count() == 1 and not self.field.grow(stone) & (mine | self.field.all & ~theirs & ~gone)
        taken = list(now.taken)
        taken[now.turn] += gone.bit_count()
        return Position(black, white, 1 - now.turn, gone if single else 0, 0, tuple(taken), point)

    def do_move(self, move):
        if self.game_end()[0] or move not in range(self.pass_action() + 1):
            raise ValueError("no such action")
        if move < self.pass_action():
            following = self.next_position(move)
            if following is None:
                raise ValueError(f"no stone at {move}")
        else:
            following = self.now._replace(turn=1 - self.now.turn, ko=0, passes=self.now.passes + 1, last=move)
            if following.passes == 2 and self.patient and self.worth_playing(following):
                following = self.line[-2]
        self.line += (following,)
        self.limit -= 1

    def areas(self, position):
        """Return (black's area, white's area) as bits."""
        empty = self.field.all & ~position.black & ~position.white
        black = self.field.fill(self.field.grow(position.black) & empty, empty)
        white = self.field.fill(self.field.grow(position.white) & empty, empty)
        return position.black | black & ~white, position.white | white & ~black

    def worth_playing(self, position):
        black, white = self.areas(position)
        for point in self.field.points(self.field.all & ~black & ~white):
            stone = self.field.bit(point)
            if self.field.after(position.black, position.white, stone) or self.field.after(
                position.white, position.black, stone
            ):
                return True
        return False

    def score(self):
        black, white = self.areas(self.now)
        return black.bit_count() - white.bit_count() - self.komi

    def game_end(self):
        if self.now.passes == 2:
            score = self.score()
            if score == 0:
                return True, -1
            return True, self.first_player if score > 0 else 3 - self.first_player
        return self.limit <= 0, -1

    def has_a_winner(self):
        over, winner = self.game_end()
        return (winner != -1, winner)

    def get_current_player(self):
        return self.current_player

    def copy(self):
        other = Board(**self._given)
        other.first_player, other.line, other.limit, other.patient = self.first_player, self.line, self.limit, self.patient
        return other

    def for_search(self, depth_limit):
        other = self.copy()
        other.limit, other.patient = depth_limit, True
        return other
