"""A person and players at one board: whose turn it is, what was played, what can be taken back, clocks and score.

Nothing here draws or waits. A window calls `tick` many times a second, and the other methods when a person does something. What
the rules forbid raises `Refused`, whose key names a sentence in `Board.play.words`. The traceback of a bug in a player goes to
standard error once.

`actions` holds the whole game, including what was taken back; the first `live` of them are on the board. Side 0 is black: it
moves at every even ply, even after a swap, because a swap passes the turn. What differs from game to game is asked of a
`GameForPeople`; a pass is an action like any other, and a player may also return RESIGN.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from Board.play.for_people import GameForPeople, Gomoku, Position
from Board.play.game_file import GameFile, game_file
from Board.play.people import RESIGN, Participant, Refused, Rules, Sentence, Trouble, central
from Board.play.thinking import Analysis, Search
from Board.rules import SWAP_STONES, Board, Player
from common.player_faults import fault_words, show_traceback

Action = int | str
LEAST_PAUSE_S = 0.35  # between the moves of two players, so that a person can follow


class Session:
    """Games between two participants.

    Args:
        board: the board to play on; it always shows the live position.
        participants: who plays.
        black: the index of the participant who is black in the first game.
        rules: the rules of Gomoku besides n in a row.
        clock: a function that returns seconds; tests pass their own.
        game: the game that the board is a position of; None for Gomoku.

    Attributes:
        live: the number of actions on the board.
        viewed: the number of actions in the position that is shown, or None if it is the live one.
        paused: whether clocks and players are stopped.
        trouble: why the game cannot go on; None while all is well.
        counts: whether the game on the board counts in the score once it has ended; one that was opened does not.
        hint: the answer to the last request for a hint, until the position changes.
        analyses: ply -> the result of the search before that action.
        seconds: the time that each participant has used in this game.

    Raises:
        ValueError: the board cannot be set up.
    """

    def __init__(
        self,
        board: Position,
        participants: tuple[Participant, Participant],
        black: int = 0,
        rules: Rules | None = None,
        clock: Callable[[], float] = time.monotonic,
        game: GameForPeople | None = None,
    ) -> None:
        self.game: GameForPeople = game or Gomoku(board.width, board.height, board.n_in_row)
        self.board, self.participants, self.black, self.rules = board, participants, black, rules or Rules()
        self._clock = clock
        self._tally = [0, 0, 0]
        self._leaving: list[Search] = []
        self._known: dict[int, tuple[Action, ...]] = {}  # id of a player -> the game up to its last move
        self._search: Search | None = None
        self._hinting: Search | None = None
        self._begin()

    def _begin(self) -> None:
        self.board.init_board(0)
        self.actions: list[Action] = []
        self.live = 0
        self.viewed: int | None = None
        self.paused = False
        self.trouble: Trouble | None = None
        self.hint: Action | None = None
        self.analyses: dict[int, Analysis] = {}
        self.seconds = [0.0, 0.0]
        self.counts = True
        self._ticked_s = self._clock()
        self._rested_s = self._ticked_s

    # --------------------------------------------------------------------------------------- the state of the game

    def participant_at(self, ply: int) -> int:
        """Return the index of the participant who moves at a ply, counted from 0."""
        return self.black if ply % 2 == 0 else 1 - self.black

    @property
    def turn(self) -> int:
        """The index of the participant who is to move in the live position."""
        return self.participant_at(self.live)

    @property
    def has_ended(self) -> bool:
        """Whether the live position is the end of a game."""
        return self.has_resigned or self.board.game_end()[0]

    @property
    def has_resigned(self) -> bool:
        """Whether a player has given up the live game."""
        return self.live > 0 and self.actions[self.live - 1] == RESIGN

    @property
    def winner(self) -> int | None:
        """The index of the participant who has won the live game; None for a draw or a game that goes on."""
        if self.has_resigned:
            return self.turn
        won, player = self.board.has_a_winner()
        return self.participant_at(self.board.players.index(player)) if won else None

    @property
    def is_persons_turn(self) -> bool:
        """Whether a person is to move."""
        return not self.has_ended and self.participants[self.turn].player is None

    @property
    def is_thinking(self) -> bool:
        """Whether a player is to move and may think."""
        return not self.has_ended and not self.is_persons_turn and self.trouble is None and not self.paused

    @property
    def thinking_s(self) -> float | None:
        """The seconds since the search for a move or a hint began; None if no player is searching."""
        search = self._search or self._hinting
        return search.seconds if search else None

    @property
    def is_hinting(self) -> bool:
        """Whether a hint is on its way."""
        return self._hinting is not None

    @property
    def can_swap(self) -> bool:
        """Whether the side to move may swap."""
        swapped = Board.SWAP in self.actions[: self.live]
        return self.rules.may_swap and self.live == SWAP_STONES and not swapped and not self.has_ended

    @property
    def score(self) -> tuple[int, int, int]:
        """The games won by each participant, and the draws; the game on the board counts once it has ended."""
        score = list(self._tally)
        if self.counts and self.has_ended:
            score[2 if self.winner is None else self.winner] += 1
        return score[0], score[1], score[2]

    @property
    def shown(self) -> int:
        """The number of actions in the position that is shown."""
        return self.live if self.viewed is None else self.viewed

    def position(self, ply: int) -> Position:
        """Return a copy of the position after the first `ply` actions."""
        board = self.game.new_position()
        for action in self.actions[:ply]:
            _carry_out(board, action)
        return board

    def look(self) -> Analysis | None:
        """Return what the current search says; None if no search is running or it has no tree."""
        search = self._search or self._hinting
        return search.look() if search else None

    # ------------------------------------------------------------------------------------------ what a person does

    def play(self, action: Action) -> None:
        """Place a person's stone, pass or swap.

        Raises:
            Refused: it is not a person's turn, or the action is not legal.
        """
        self._expect_persons_turn()
        if action == Board.SWAP:
            if not self.can_swap:
                raise Refused("no_swap" if self.rules.may_swap else "no_swap_here")
        else:
            self._check_point(action)
        self._quit_searching()
        self._do(action)
        self.paused = False

    def pass_turn(self) -> None:
        """Let a person pass.

        Raises:
            Refused: it is not a person's turn, or the game has no pass.
        """
        if self.game.pass_action is None:
            raise Refused("no_pass_here")
        self.play(self.game.pass_action)

    def _expect_persons_turn(self) -> None:
        if self.viewed is not None:
            raise Refused("viewing")
        if self.has_ended:
            raise Refused("has_ended")
        if self.trouble is not None:
            raise Refused("in_trouble")
        if not self.is_persons_turn:
            raise Refused("not_your_turn")

    def _check_point(self, move: Action) -> None:
        board = self.board
        if self.game.pass_action is not None and move == self.game.pass_action:
            return
        if not isinstance(move, int) or not 0 <= move < board.width * board.height:
            raise Refused("off_board", width=board.width, height=board.height)
        refusal = self.game.refusal(board, move)
        if refusal is not None:
            raise Refused(refusal[0], **refusal[1])
        h, w = divmod(move, board.width)
        if self.rules.central_opening and self.live == 0 and not (h in central(board.height) and w in central(board.width)):
            rows = central(board.height)
            raise Refused("not_central", first=rows[0], last=rows[-1])

    def undo(self) -> None:
        """Take back moves until a person is to move again, or one move if two players or two persons play.

        Raises:
            Refused: there is nothing to take back.
        """
        target = self.live - 1
        if self._persons == 1:
            while target >= 0 and self.participants[self.participant_at(target)].player is not None:
                target -= 1
        if target < 0:
            raise Refused("nothing_to_undo")
        self._go_to(target)

    def redo(self) -> None:
        """Play again what was taken back, up to the next turn of a person.

        Raises:
            Refused: nothing was taken back.
        """
        if self.live == len(self.actions):
            raise Refused("nothing_to_redo")
        target = self.live + 1
        while self._persons == 1 and target < len(self.actions):
            if self.participants[self.participant_at(target)].player is None:
                break
            target += 1
        self._go_to(target)

    def go_on_from_here(self) -> None:
        """Make the position that is shown the live one; what follows can be played again with `redo`.

        Raises:
            Refused: the live position is shown already.
        """
        if self.viewed is None:
            raise Refused("not_viewing")
        self._go_to(self.viewed)
        self.paused = not self.is_persons_turn

    def view(self, ply: int) -> None:
        """Show the position after `ply` actions; the game itself goes on. Plies out of range mean the first or live one."""
        ply = max(0, ply)
        self.viewed = ply if ply < self.live else None

    def new_game(self) -> None:
        """Start a new game with the same sides."""
        self._tally = list(self.score)
        self._quit_searching()
        self._begin()

    def switch_sides(self) -> None:
        """Start a new game in which the other participant is black."""
        self.new_game()
        self.black = 1 - self.black

    def reset_score(self) -> None:
        """Set the score to zero; a game that has ended already does not count again."""
        self._tally = [0, 0, 0]
        self.counts = not self.has_ended

    def toggle_pause(self) -> None:
        """Stop clocks and players, or let them go on.

        Raises:
            Refused: the game has ended.
        """
        if self.has_ended:
            raise Refused("has_ended")
        self.paused = not self.paused
        if self.paused:
            self._quit_searching()

    def ask_for_hint(self) -> None:
        """Let a player search the person's position; `hint` holds the answer later.

        Raises:
            Refused: it is not a person's turn, or nobody is there to ask.
        """
        self._expect_persons_turn()
        people = (self.participants[1 - self.turn], self.participants[self.turn])
        adviser = next((found for one in people for found in (one.adviser, one.player) if found is not None), None)
        if adviser is None:
            raise Refused("no_hint")
        if self._hinting is None and not self._leaving:
            self.hint = None
            self.paused = False
            self._known.pop(id(adviser), None)
            self._hinting = Search(adviser, self.board.copy(), forget=True)

    def load(self, game: GameFile) -> None:
        """Replace the game by a loaded one, and pause at its end.

        Raises:
            Refused: the game was played on another board.
        """
        difference = self.game.difference(game.played)
        if difference is not None:
            raise Refused(difference[0], **difference[1])
        self.new_game()
        self.actions = list(game.actions)
        self._go_to(len(self.actions))
        self.counts, self.paused = False, not self.has_ended

    def to_file(self) -> GameFile:
        """Return the game on the board as it is saved, without what was taken back."""
        black, white = (self.participants[self.participant_at(ply)].name for ply in (0, 1))
        margin = "R" if self.has_resigned else self.game.margin(self.board)
        result = "" if not self.has_ended else "0" if self.winner is None else "BW"[self.winner != self.black] + "+" + margin
        actions = tuple(action for action in self.actions[: self.live] if action != RESIGN)
        return game_file(self.game, actions, black, white, result)

    # ------------------------------------------------------------------------------------------ what goes on

    def tick(self) -> None:
        """Advance the clocks, start a player's search when it is to move, and play its answer once it has one.

        Raises:
            Refused: the hint that a person asked for could not be given; the game is as it was.
        """
        now = self._clock()
        if not self.paused and not self.has_ended and self.trouble is None:
            self.seconds[self.turn] += max(0.0, now - self._ticked_s)
        self._ticked_s = now
        self._leaving = [search for search in self._leaving if not search.has_ended]
        for search in self._leaving:
            search.cancel()
        if self._search is not None and self._search.has_ended:
            self._take_answer(self._search)
        if self._hinting is not None and self._hinting.has_ended:
            self._take_hint(self._hinting)
        rests = self._persons == 0 and now - self._rested_s < LEAST_PAUSE_S
        if self.is_thinking and self._search is None and not self._leaving and not rests:
            player = self.participants[self.turn].player
            assert player is not None
            self._search = Search(player, self.board.copy(), forget=not self._continues(player))

    def close(self, timeout_s: float = 2.0) -> bool:
        """Cancel all searches, wait for them, and reset all players; return whether all searches have ended."""
        self._quit_searching()
        limit = time.monotonic() + timeout_s
        ended = all(search.wait(max(0.0, limit - time.monotonic())) for search in self._leaving)
        for participant in self.participants if ended else ():
            for player in (participant.player, participant.adviser):
                if player is not None:
                    player.reset_player()
        return ended

    @property
    def _persons(self) -> int:
        return sum(one.player is None for one in self.participants)

    def _continues(self, player: Player) -> bool:
        """Whether the live game is the one that the player knows, plus one action of the opponent.

        After a swap this is so only for a player that says `follows_swaps`: a search tree keeps the colours from before.
        """
        known = self._known.get(id(player))
        now = tuple(self.actions[: self.live])
        if known is None or known != now[:-1]:
            return False
        return Board.SWAP not in (*known[-1:], *now[-1:]) or bool(getattr(player, "follows_swaps", False))

    def _take_answer(self, search: Search) -> None:
        self._search = None
        ply, name = self.live, self.participants[self.turn].name
        self._known.pop(id(search.player), None)  # after a fault, the player is reset
        if search.error is not None:
            show_traceback(search.error)
            self.trouble = Trouble(name, search.error)
            return
        if search.analysis is not None:
            self.analyses[ply] = search.analysis
        try:
            self._do(self._legal(search.action))
        except (TypeError, ValueError) as error:
            self.trouble = Trouble(name, error, is_illegal=True, refusal=self._why_illegal(search.action))
            return
        self._known[id(search.player)] = tuple(self.actions[: self.live])

    def _legal(self, answer: Any) -> Action:
        """Return a player's answer as an action; TypeError or ValueError if it is not legal in the live position."""
        if answer == Board.SWAP and not self.can_swap:
            raise ValueError("a swap is not allowed now")
        _carry_out(self.board.copy(), answer)
        return answer if answer in (Board.SWAP, RESIGN) else int(answer)

    def _why_illegal(self, action: object) -> Sentence | None:
        """Return why a player's move is illegal in the words that a person would hear; None if it is not even a point."""
        if isinstance(action, int) and 0 <= action < self.game.width * self.game.height:
            return self.game.refusal(self.board, action)
        return None

    def _take_hint(self, search: Search) -> None:
        self._hinting = None
        if search.error is not None:
            show_traceback(search.error)
            raise Refused("hint_failed", error=fault_words(search.error))
        try:
            self.hint = self._legal(search.action)
        except (TypeError, ValueError) as error:
            raise Refused("hint_failed", error=error) from error
        if search.analysis is not None:
            self.analyses[self.live] = search.analysis

    def _do(self, action: Action) -> None:
        _carry_out(self.board, action)
        if self.actions[self.live : self.live + 1] != [action]:
            del self.actions[self.live :]
            self.actions.append(action)
            self.analyses = {ply: analysis for ply, analysis in self.analyses.items() if ply <= self.live}
        self.live += 1
        self.hint = None
        self._rested_s = self._clock()

    def _go_to(self, ply: int) -> None:
        self._quit_searching()
        self._set_up(self.actions[:ply])
        self.live, self.viewed, self.hint, self.trouble = ply, None, None, None
        if self._persons == 0:
            self.paused = True

    def _set_up(self, actions: Iterable[Action]) -> None:
        self.board.init_board(0)
        for action in actions:
            _carry_out(self.board, action)

    def _quit_searching(self) -> None:
        for search in (self._search, self._hinting):
            if search is not None:
                search.cancel()
                self._known.pop(id(search.player), None)
                self._leaving.append(search)
        self._search = self._hinting = None


def _carry_out(board: Position, action: Action) -> None:
    """Play an action; ValueError if it is not legal, and then nothing changes. A resignation leaves the board as it is."""
    if action == Board.SWAP:
        board.swap_colours()
    elif action != RESIGN:
        board.do_move(action)
