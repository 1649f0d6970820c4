"""Games as SGF."""

import re

from match_tools import played, record_of
from misbehaving import misbehaving

from arena.engine.engine_process import Limits
from arena.match.setup import MatchSetup
from arena.match.sgf import game_to_sgf, write_sgf
from arena.rules import SWAP


def test_sgf_holds_the_moves_and_the_colours_after_a_swap(tmp_path):
    result = played(MatchSetup((misbehaving("win"), misbehaving("swap", 2)), 1, 1, Limits(move_s=2)))
    game = result.games[0]
    assert game.moves[3] == SWAP and write_sgf(result, tmp_path / "sgf") == 1
    text = game_to_sgf(game)
    assert (tmp_path / "sgf/game_0000.sgf").read_text() == text
    letters = [chr(97 + x) + chr(97 + 14 - y) for x, y in game.moves if (x, y) != SWAP]
    assert re.findall(r";[BW]\[(..)\]", text) == letters
    swap = re.search(r";C\[White swaps\]AB(\S*?)AW(\S*?)PL\[B\]", text)
    assert swap[1] == f"[{letters[1]}]" and sorted(swap[2][1:-1].split("][")) == sorted([letters[0], letters[2]])
    assert "PB[win]PW[swap]RE[B+]" in text


def test_sgf_gives_no_winner_to_a_game_that_could_not_be_decided():
    assert "RE[Void]GC[undecided white gave no answer]" in game_to_sgf(record_of(0, decided=False))
