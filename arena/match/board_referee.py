"""The referee of a game of games/ between two players that speak GTP.

Our own rules decide: they check every move, find the end of the game and name the winner. What the players think of the
position is never read. A player that has no legal move left in NoGo is not asked any more. A player hears its opponent's move
when it is its turn, and the time for a move covers both commands; so a player that refuses a legal move loses by that. Of an
imposed opening, it hears all but that last move at the start.
"""

from __future__ import annotations

import threading
import time

from arena.engine.engine_process import EngineFailure
from arena.engine.gtp import vertex
from arena.engine.gtp_engine import BoardOffer, GtpEngine
from arena.engine.stopwatch import Spent
from arena.match.board_game import BoardGame
from arena.match.game_record import GameEnd, GameRecord, SeatFault, seat_seed
from arena.match.setup import GameTask
from arena.rules import Action, Termination
from games.go.position import GoPosition
from games.protocol import NOBODY


def play_board_game(task: GameTask, stopping: threading.Event | None = None) -> GameRecord:
    """Play a game once; it may be undecided.

    Args:
        task: the game; its `game` must not be None.
        stopping: when set, the game ends with MatchStopped and without a record.
    """
    started_s = time.monotonic()
    attempt = _BoardGame(task, stopping)
    end = attempt.play()
    names = (attempt.engines[0].name, attempt.engines[1].name)
    return GameRecord.of(task, end, attempt.moves, attempt.spent, names=names, seconds=time.monotonic() - started_s)


class _BoardGame:
    """One attempt at a game.

    Attributes:
        moves: all moves so far, as points or PASS.
        spent: the time that each answer took, including one that was a fault.
    """

    def __init__(self, task: GameTask, stopping: threading.Event | None) -> None:
        assert task.game is not None
        self._game: BoardGame = task.game
        self._rules = task.game.rules()
        self._position = self._rules.position()
        self._imposed = task.imposed
        self.moves: list[Action] = []
        self.spent: list[Spent] = []
        self.engines = []
        for seat, spec in enumerate((task.black, task.white)):
            seed = None if task.seed is None else seat_seed(task.seed, seat)
            offer = BoardOffer(self._game.size, self._game.komi, seed)
            self.engines.append(GtpEngine(spec, task.limits, offer, stopping))

    def play(self) -> GameEnd:
        """Play to the end. Whatever happens, the engines are closed."""
        try:
            self._start_engines()
            self._impose()
            while not self._position.game_end()[0]:
                seat = self._position.current_player - 1
                move = self._ask(seat)
                if move is None:
                    return GameEnd(Termination.RESIGNED, 1 - seat)
                self._carry_out(seat, move)
        except SeatFault as fault:
            return fault.end
        finally:
            for engine in self.engines:
                engine.close()
        return self._end()

    def _start_engines(self) -> None:
        for seat, engine in enumerate(self.engines):
            try:
                engine.start()
            except EngineFailure as failure:
                raise SeatFault(seat, failure.termination, str(failure)) from failure

    def _impose(self) -> None:
        """Carry out the opening and tell it to the players; whoever moves next hears the last stone with its first question."""
        for number, move in enumerate(self._imposed):
            self._carry_out(number % 2, move)
            self.spent.append(Spent())
        to_move = len(self._imposed) % 2
        for seat, engine in enumerate(self.engines):
            for number, move in enumerate(self._imposed[:-1] if seat == to_move else self._imposed):
                try:
                    engine.play(number % 2, move)
                except EngineFailure as failure:
                    raise SeatFault(seat, failure.termination, str(failure), failure.answer) from failure

    def _ask(self, seat: int) -> Action | None:
        engine = self.engines[seat]
        try:
            return engine.answer(seat, self.moves[-1] if self.moves else None)
        except EngineFailure as failure:
            raise SeatFault(seat, failure.termination, str(failure), failure.answer) from failure
        finally:
            self.spent.append(engine.spent)

    def _carry_out(self, seat: int, move: Action) -> None:
        action = self._game.action(move)
        if action is None or action not in self._position.availables:
            name, ply = vertex(move), len(self.moves) + 1
            is_taken = action is not None and action in self._position.states
            why = "a point already taken" if is_taken else f"which the rules of {self._game.name} forbid there"
            raise SeatFault(seat, Termination.ILLEGAL_MOVE, f'answered "{name}" at ply {ply}, {why}', name)
        self._position.do_move(action)
        self.moves.append(move)

    def _end(self) -> GameEnd:
        _, player = self._position.game_end()
        winner = None if player == NOBODY else player - 1
        if not isinstance(self._position, GoPosition):
            return GameEnd(Termination.NO_MOVE, winner)
        limited = len(self.moves) >= self._rules.longest_game
        return GameEnd(Termination.MOVE_LIMIT if limited else Termination.SCORE, winner)
