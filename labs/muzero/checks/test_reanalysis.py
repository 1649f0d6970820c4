"""Reanalysis of old games (handout 6)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.muzero.checks.calls import close, expect_numbers, model_in, part_of, probed, shown
from labs.support.boards import Values
from labs.support.cases import Case, Cases

GAMES = 8
KEPT = ("planes", "legal", "moves", "players")


def reanalysed(worker: Worker, case: Case, watch: tuple[str, ...]) -> Values:
    """Return what the submission's reanalysis makes of a case's game."""
    told = {"winner": int(case["winner"]), "n_simulations": int(case["simulations"]), "c_puct": float(case["c_puct"])}
    return probed(worker, "Reanalysed", watch, game=part_of(case, "game"), **model_in(case), **told)


def own_search(worker: Worker, case: Case, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the visits [A] and the value of the submission's own search before move t.

    Raises:
        StudentFault: its visits say nothing about the reanalysis, as they are too many, too few (one simulation may have
            expanded the root), or others when the search is repeated.
    """
    settings = {"n_simulations": int(case["simulations"]), "c_puct": float(case["c_puct"])}
    root = {"planes": case["game planes"][t], "availables": np.flatnonzero(case["game legal"][t])}
    again, values = (probed(worker, "Searched", ("visits", "value"), **model_in(case), **root, **settings) for _ in range(2))
    visits = expect_numbers(values, "visits", case["policies"].shape[2:], "SearchResult.visits")
    if visits.sum() not in (settings["n_simulations"], settings["n_simulations"] - 1):
        raise StudentFault("The search gives a wrong number of visits, so it cannot renew a game; fix search.visits first.")
    if not np.array_equal(visits, again["visits"]):
        raise StudentFault("The search gives other visits when it is repeated; fix search.visits first.")
    return visits, expect_numbers(values, "value", (), "SearchResult.value")


@pytest.mark.points("reanalysis.fresh")
def test_fresh(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Drawn games under drawn models; the submission's own search counts where it differs, as search.visits judges it.

    Accepts:
        Games are copied by dataclasses.replace, or put together by hand (reference, search-by-recursion)
    """
    ruling.expected = "Each position gets the visit shares and the value of a new search."
    for _ in range(GAMES):
        case = cases.draw("reanalysing", rng)
        values = reanalysed(worker, case, ("policies", "values"))
        policies = expect_numbers(values, "policies", case["policies"].shape[1:], "The policies of the new game")
        if values["values"].shape == (0,):
            raise StudentFault("The new game has no values; they are those of the new searches.")
        new = expect_numbers(values, "values", case["values"].shape[1:], "The values of the new game")
        for t, (policy, value) in enumerate(zip(policies, new, strict=True)):
            right = zip(case["policies"][:, t], case["values"][:, t], strict=True)
            if any(close(policy, shares) and close(value, mean) for shares, mean in right):
                continue
            visits, mean = own_search(worker, case, t)
            if not any(close(policy, visits / total) for total in (visits.sum(), int(case["simulations"]))):
                old = " These are the old ones." if close(policy, case["game policies"][t]) else ""
                shares = shown(visits / visits.sum())
                raise StudentFault(f"Before move {t} the new search gives the visit shares {shares}; got {shown(policy)}.{old}")
            if not close(value, mean):
                raise StudentFault(f"Before move {t} the value of the new search is {float(mean):.4f}; got {float(value):.4f}.")
    ruling.seen = f"The new policies and values of {GAMES} games."


@pytest.mark.points("reanalysis.keeps")
def test_keeps(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """What happened in the game stays, and the old game itself stays as it is.

    Accepts:
        Games are copied by dataclasses.replace, or put together by hand (reference, search-by-recursion)
    """
    ruling.expected = "Positions, moves, players and winner stay; the old game is not changed."
    for _ in range(GAMES):
        case = cases.draw("reanalysing", rng)
        game, winner = part_of(case, "game"), int(case["winner"])
        old = [f"old_{name}" for name in (*KEPT, "policies")]
        values = reanalysed(worker, case, ("winners", "old_has_values", "policies", "values", *KEPT, *old))
        for name in KEPT:
            if not np.array_equal(values[name], game[name]):
                raise StudentFault(f"Reanalysis must keep the {name} of a game as they happened; the new game has others.")
        new_winner, old_winner = values["winners"]
        if new_winner != winner:
            got = f"got {new_winner:g}" if np.isfinite(new_winner) else "the new game has none"
            raise StudentFault(f"Reanalysis must keep the winner, {winner}; {got}.")
        changed = [name for name in (*KEPT, "policies") if not np.array_equal(values[f"old_{name}"], game[name])]
        if changed or int(values["old_has_values"]) or old_winner != winner:
            what = ", ".join(changed) or "values"
            raise StudentFault(f"The game that was handed to reanalyse has changed ({what}); return a new game.")
        if not values["values"].size and np.array_equal(values["policies"], game["policies"]):
            raise StudentFault("The new game is a copy of the old one: nothing was searched again.")
    ruling.seen = f"Everything else as it was in {GAMES} games."
