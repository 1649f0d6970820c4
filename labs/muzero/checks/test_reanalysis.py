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
SEARCHED = ("searched", "passed_on", "searched_visits", "searched_values")
PASSED_ON = ("model", "n_simulations", "c_puct")


def reanalysed(worker: Worker, case: Case, watch: tuple[str, ...]) -> Values:
    """Return what the submission's reanalysis makes of a case's game."""
    told = {"winner": int(case["winner"]), "n_simulations": int(case["simulations"]), "c_puct": float(case["c_puct"])}
    return probed(worker, "Reanalysed", watch, game=part_of(case, "game"), **model_in(case), **told)


def own_searches(worker: Worker, case: Case) -> list[tuple[np.ndarray, float]]:
    """Return the visits [A] and the value of the submission's own search before each move of a case's game.

    They are made one after another in a new process. So whatever a search keeps for the next one, such as q_min and q_max, is
    what reanalyse found in a new process of its own; search.visits judges it.

    Raises:
        StudentFault: the searches say nothing about the reanalysis, as their visits are too many, too few (one simulation may
            have expanded the root), or others when they are repeated.
    """
    first, again = _in_a_new_process(worker, case), _in_a_new_process(worker, case)
    n_simulations, found = int(case["simulations"]), []
    for t, (values, repeated) in enumerate(zip(first, again, strict=True)):
        visits = expect_numbers(values, "visits", case["policies"].shape[2:], "SearchResult.visits")
        if visits.sum() not in (n_simulations, n_simulations - 1):
            raise StudentFault("The search gives a wrong number of visits, so it cannot renew a game; fix search.visits first.")
        if not np.array_equal(visits, repeated["visits"]):
            raise StudentFault(
                f"The search before move {t} gives other visits when it is repeated in a new process; fix search.visits first."
            )
        found.append((visits, float(expect_numbers(values, "value", (), "SearchResult.value"))))
    return found


def _in_a_new_process(worker: Worker, case: Case) -> list[Values]:
    worker.close()
    settings = {"n_simulations": int(case["simulations"]), "c_puct": float(case["c_puct"]), **model_in(case)}
    roots = zip(case["game planes"], case["game legal"], strict=True)
    return [
        probed(worker, "Searched", ("visits", "value"), planes=planes, availables=np.flatnonzero(legal), **settings)
        for planes, legal in roots
    ]


@pytest.mark.points("reanalysis.fresh")
def test_fresh(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Drawn games under drawn models, judged by what the searches returned to reanalyse; search.visits judges the searches.

    Where reanalyse hands `search` no board of the game, the right answers and the submission's own searches judge it.

    Accepts:
        Games are copied by dataclasses.replace, or put together by hand (reference, search-by-recursion)
        All positions are searched at once, without `search` (searched-in-lockstep)
    """
    ruling.expected = "Each position gets the visit shares and the value of a new search."
    for _ in range(GAMES):
        case = cases.draw("reanalysing", rng)
        values = reanalysed(worker, case, ("policies", "values", *SEARCHED))
        new = _renewed(case, values)
        if all(_are_right(case, t, *each) for t, each in enumerate(new)):
            continue
        if (values["searched"] >= 0).any():
            _expect_results(case, new, _results(case, values))
        else:
            worker.close()
            new = _renewed(case, reanalysed(worker, case, ("policies", "values")))
            _expect_results(case, new, [[own] for own in own_searches(worker, case)])
    ruling.seen = f"The new policies and values of {GAMES} games."


def _renewed(case: Case, values: Values) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the policy [A] and the value [] of each position of the new game."""
    policies = expect_numbers(values, "policies", case["policies"].shape[1:], "The policies of the new game")
    if values["values"].shape == (0,):
        raise StudentFault("The new game has no values; they are those of the new searches.")
    new = expect_numbers(values, "values", case["values"].shape[1:], "The values of the new game")
    return list(zip(policies, new, strict=True))


def _are_right(case: Case, t: int, policy: np.ndarray, value: np.ndarray) -> bool:
    right = zip(case["policies"][:, t], case["values"][:, t], strict=True)
    return any(close(policy, shares) and close(value, mean) for shares, mean in right)


def _results(case: Case, values: Values) -> list[list[tuple[np.ndarray, float]]]:
    """Return for each position the visits [A] and the values that its searches returned."""
    found: list[list[tuple[np.ndarray, float]]] = [[] for _ in case["game moves"]]
    calls = zip(values["searched"].astype(int), values["passed_on"], strict=True)
    for (t, passed_on), visits, value in zip(calls, values["searched_visits"], values["searched_values"], strict=True):
        for passed, what in zip(passed_on, PASSED_ON, strict=True):
            if not passed:
                raise StudentFault(
                    f"reanalyse must search with the {what} that it was given; it does not pass it on to search."
                )
        if t >= 0:
            found[t].append((visits, float(value)))
    for t, results in enumerate(found):
        if not results:
            raise StudentFault(f"reanalyse must search the position before each move; it does not search that before move {t}.")
    return found


def _expect_results(case: Case, new: list[tuple[np.ndarray, np.ndarray]], found: list[list[tuple[np.ndarray, float]]]) -> None:
    """Raise StudentFault unless each position has the visit shares and the value of one of its searches."""
    for t, ((policy, value), results) in enumerate(zip(new, found, strict=True)):
        if _are_right(case, t, policy, value):
            continue
        of_policy = [mean for visits, mean in results if _are_shares(policy, visits, int(case["simulations"]))]
        if not of_policy:
            raise StudentFault(_wrong_policy(case, t, policy, results[-1][0]))
        if not any(close(value, np.array(mean)) for mean in of_policy):
            turned = " It has the wrong sign." if close(-value, np.array(of_policy[-1])) else ""
            told = f"Before move {t} the value of the new search is {of_policy[-1]:.4f}; got {float(value):.4f}."
            raise StudentFault(f"{told}{turned}")


def _are_shares(policy: np.ndarray, visits: np.ndarray, n_simulations: int) -> bool:
    return any(close(policy, visits / total) for total in (visits.sum(), n_simulations))


def _wrong_policy(case: Case, t: int, policy: np.ndarray, visits: np.ndarray) -> str:
    slip = ""
    if close(policy, case["game policies"][t]):
        slip = " These are the old ones."
    elif close(policy, visits):
        slip = " These are the visits, which must be divided by their sum."
    shares = shown(visits / visits.sum())
    return f"Before move {t} the new search gives the visit shares {shares}; got {shown(policy)}.{slip}"


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
