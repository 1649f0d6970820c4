"""The stopping rules err no more often than promised; errors are counted exactly if possible and simulated otherwise."""

import itertools
import math
from fractions import Fraction
from random import Random

import pytest

from arena.statistics.estimates import GameResult, expected_score
from arena.statistics.stopping import (
    Decided,
    InOrder,
    MatchSequence,
    RateSequence,
    Sprt,
)
from common.errors import UsageError
from common.scoring import formula_named

SHIFTED, STRAIGHT = formula_named("shifted_score"), formula_named("straight")


def results(values, linked=False):
    return [GameResult(value, pair=i // 2 if linked else None) for i, value in enumerate(values)]


def play(rule, games):
    """Return the number of games that the rule needed, and the reason it gave or None."""
    for number, game in enumerate(games, 1):
        if (reason := rule.add(game)) is not None:
            return number, reason
    return len(games), None


def drawn(rng, rate, draws=0.0):
    """Draw the value of one game from a distribution with this mean."""
    u = rng.random()
    return 1.0 if u < rate - draws / 2 else 0.5 if u < rate + draws / 2 else 0.0


def at_most(errors, runs, promised):
    """Return whether the errors are compatible with a probability of at most `promised`; falsely denied 1 time in 1000."""
    return errors <= runs * promised + 3.1 * math.sqrt(runs * promised * (1 - promised))


# -------------------------------------------------------------------------------------------- intervals at any time


def test_nothing_is_known_before_the_first_game():
    assert RateSequence().interval() == (0, 1)
    assert MatchSequence(8, linked=False).interval() == (0, 1)


def test_the_rate_interval_has_the_mean_inside_and_shrinks():
    sequence, widths = RateSequence(), []
    for _ in range(100):
        for value in (1, 1, 0):
            sequence.add(value)
        low, high = sequence.interval()
        assert low < 2 / 3 < high
        assert sequence.log_evidence(low) == pytest.approx(math.log(20), abs=1e-6)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True) and widths[-1] < 0.21
    clean = RateSequence()
    for _ in range(50):
        clean.add(1)
    assert clean.interval()[1] == 1 and clean.interval()[0] > 0.85


@pytest.mark.parametrize(("rate", "draws"), [(0.5, 0.0), (0.9, 0.0), (0.98, 0.0), (0.5, 0.6), (0.7, 0.3)])
def test_the_rate_interval_ever_misses_the_truth_as_seldom_as_promised(rate, draws):
    rng, missed, runs = Random(11), 0, 1500
    for _ in range(runs):
        sequence = RateSequence(alpha=0.1)
        for _ in range(150):
            sequence.add(drawn(rng, rate, draws))
            if sequence.log_evidence(rate) > math.log(10):
                missed += 1
                break
    assert at_most(missed, runs, 0.1)


@pytest.mark.parametrize("linked", [False, True])
def test_the_match_interval_holds_what_is_possible_and_ends_at_the_truth(linked):
    rng = Random(3)
    for planned in (1, 2, 7, 8, 13):
        for _ in range(20):
            values = [rng.choice((0, 0.5, 1)) for _ in range(planned)]
            sequence = MatchSequence(planned, linked=linked)
            for value in values:
                sequence.add(value)
                (low, high), (lowest, highest) = sequence.interval(), sequence.possible()
                assert lowest <= low <= high <= highest
            assert sequence.interval() == (Fraction(sum(values)) / planned,) * 2
            with pytest.raises(ValueError, match="one more"):
                sequence.add(1)


@pytest.mark.parametrize(("planned", "values", "linked"), [(12, (0, 1), False), (8, (0, 0.5, 1), False), (12, (0, 1), True)])
def test_the_match_interval_ever_misses_the_final_mean_as_seldom_as_promised_by_exact_count(planned, values, linked):
    """Enumerate all matches of this length and weight them by their probability at many rates of the two colours."""
    alpha, matches = 0.25, []
    for outcome in itertools.product(values, repeat=planned):
        sequence, final, missed = MatchSequence(planned, linked=linked, alpha=alpha), Fraction(sum(outcome)) / planned, False
        for value in outcome:
            sequence.add(value)
            low, high = sequence.interval()
            missed = missed or not low <= final <= high
        if missed:
            matches.append(outcome)
    assert matches, "an interval that never misses at 25 % is no test"
    worst = 0.0
    for rates in itertools.product((0.05, 0.2, 0.5, 0.7, 0.9, 0.97), repeat=2):
        for draws in (0.0, 0.3) if 0.5 in values else (0.0,):
            chances = [{1: r * (1 - draws), 0.5: draws, 0: (1 - r) * (1 - draws)} for r in rates]
            worst = max(worst, sum(math.prod(chances[i % 2][value] for i, value in enumerate(m)) for m in matches))
    assert 0 < worst <= alpha


# ------------------------------------------------------------------------------------------------- decided matches


def test_a_match_that_cannot_change_its_points_ends_without_error():
    # The only point requires a score rate of .9, so after 7 losses in 64 games it is out of reach.
    rule = Decided(SHIFTED, 1, 64, alpha=1e-9)
    number, reason = play(rule, results([0] * 7 + [1] * 57))
    assert (number, rule.points) == (7, 0)
    assert reason == "Ended after 7 of 64 games: the other 57 cannot change the 0 of 1 points."


@pytest.mark.parametrize("linked", [False, True])
def test_an_agent_that_wins_everything_is_done_early(linked):
    rule = Decided(SHIFTED, 30, 64)
    number, reason = play(rule, results([1] * 64, linked))
    assert number == (44 if linked else 29) and rule.points == 30
    assert reason.startswith(
        f"Ended after {number} of 64 games: 30 of 30 points, since the score rate of all 64 games is from 0.9"
    )
    assert reason.endswith("to 1.000 with 95 % confidence at any time.")


def test_the_last_planned_game_is_no_early_end_and_has_the_points_of_all_games():
    rule = Decided(SHIFTED, 30, 1)
    assert play(rule, results([0.5])) == (1, None)
    assert rule.points == SHIFTED.points(0, 0, 1, 30)


def test_straight_points_are_decided_by_wins_and_need_nearly_every_game():
    rule = Decided(STRAIGHT, 30, 8)
    assert play(rule, results([0.5, 1] * 4)) == (8, None)
    assert rule.points == STRAIGHT.points(4, 0, 8, 30)


def test_the_true_rates_points_need_more_games_than_the_matchs():
    rule = Decided(SHIFTED, 30, 200, about="rate")
    number, reason = play(rule, results([1] * 200))
    assert 29 < number < 64 and rule.points == 30 and "in the long run" in reason


def test_a_repeated_game_counts_in_the_match_but_says_nothing_of_the_rate():
    same = [GameResult(1, identity="x")] * 64
    assert play(Decided(SHIFTED, 30, 64), same)[0] == 29
    assert play(Decided(SHIFTED, 30, 64, about="rate"), same) == (64, None)
    test = Sprt(0, 70)
    assert play(test, same) == (64, None) and test.verdict == "undecided"


def test_a_match_of_pairs_and_single_games_is_refused():
    rule = Decided(SHIFTED, 30, 4)
    rule.add(GameResult(1, pair=0))
    with pytest.raises(ValueError, match="either every game"):
        rule.add(GameResult(1))


@pytest.mark.parametrize(
    ("full", "black", "white", "draws", "linked"),
    [
        (3, 0.6, 0.6, 0.0, False),  # at the edge between two numbers of points
        (3, 0.9, 0.9, 0.0, False),
        (3, 0.95, 0.75, 0.0, True),
        (30, 0.95, 0.95, 0.0, False),
        (30, 0.9, 0.9, 0.2, False),
    ],
)
def test_points_given_early_differ_from_those_of_all_games_as_seldom_as_promised(full, black, white, draws, linked):
    rng, runs, wrong, early = Random(5), 200, 0, 0
    for _ in range(runs):
        if linked:  # the two games of a pair depend on each other
            luck = [rng.random() for _ in range(16) for _ in (0, 1)]
            values = [float(u < (black, white)[i % 2]) for i, u in enumerate(luck)]
        else:
            values = [drawn(rng, (black, white)[i % 2], draws) for i in range(32)]
        rule = Decided(SHIFTED, full, 32, alpha=0.1)
        number, _ = play(rule, results(values, linked))
        early += number < 32
        wrong += rule.points != SHIFTED.points(values.count(1), values.count(0), 32, full)
    assert at_most(wrong, runs, 0.1) and early


@pytest.mark.parametrize("rate", [0.47, 0.7, 0.86])  # with 2 points, the edges are .45 and .9
def test_points_of_the_true_rate_are_wrong_as_seldom_as_promised(rate):
    rng, runs, wrong, ended = Random(6), 100, 0, 0
    for _ in range(runs):
        rule = Decided(SHIFTED, 2, 81, alpha=0.1, about="rate")
        number, _ = play(rule, results([drawn(rng, rate) for _ in range(80)]))
        ended += number < 80
        wrong += number < 80 and rule.points != SHIFTED.points_at(Fraction(rate), 2)
    assert at_most(wrong, runs, 0.1) and (ended or rate != 0.7)


# ------------------------------------------------------------------------------------------------------------ SPRT


@pytest.mark.parametrize("linked", [False, True])
def test_games_of_one_colour_alone_decide_nothing(linked):
    # As black the agent always loses in the same way, as white it wins in ever new ways: it is worth half a win.
    games = [
        GameResult(i % 2, identity="lost" if i % 2 == 0 else f"won {i}", pair=i // 2 if linked else None) for i in range(400)
    ]
    test = Sprt(0, 70)
    assert play(test, games) == (400, None) and test.verdict == "undecided"
    low, high = _rate_of(games)
    assert low < 0.5 < high


def _rate_of(games):
    rule = Decided(STRAIGHT, 1, len(games) + 1, about="rate")
    play(rule, games)
    return rule.interval()


def test_the_ratio_is_walds():
    test, rate0, rate1 = Sprt(0, 70.44, 0.05, 0.1), 0.5, expected_score(70.44)
    assert (test.lower, test.upper) == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))
    assert play(test, results([1, 1, 0, 0.5])) == (4, None)
    ratio = 2.5 * math.log(rate1 / rate0) + 1.5 * math.log((1 - rate1) / (1 - rate0))
    assert test.llr == pytest.approx(ratio)


def test_it_looks_after_pairs_of_games_and_takes_a_linked_pair_as_one_observation():
    test = Sprt(0, 400)
    assert play(test, results([1])) == (1, None)
    assert test.llr == 0
    single, linked = Sprt(0, 70), Sprt(0, 70)
    play(single, results([1, 0.5]))
    play(linked, results([1, 0.5], linked=True))
    assert linked.llr == pytest.approx(single.llr / 2)


def test_its_verdict_is_a_sentence():
    test = Sprt.parse("0,200,0.05,0.05")
    number, reason = play(test, results([1] * 64))
    assert (number, test.verdict) == (8, "accept_h1")
    assert reason == (
        "Ended after 8 games: the SPRT accepts H1, a difference of +200 Elo rather than +0 "
        "(LLR 3.35, bounds -2.94 and 2.94; errors 5 % and 5 %)."
    )
    weaker = Sprt.parse("0,200,0.05,0.05")
    play(weaker, results([0] * 64))
    assert weaker.verdict == "accept_h0"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0,70,0.05", "expected four numbers ELO0,ELO1,ALPHA,BETA"),
        ("0,70,0.05,0.05,1", "expected four numbers"),
        ("0,seventy,0.05,0.05", "got '0,seventy,0.05,0.05'"),
        ("", "expected four numbers"),
        ("70,70,0.05,0.05", "expected ELO0 below ELO1; got 70 and 70"),
        ("0,nan,0.05,0.05", "expected ELO1 from -2000 to 2000; got nan"),
        ("0,1e9,0.05,0.05", "expected ELO1 from -2000 to 2000"),
        ("0,70,0,0.05", "expected ALPHA above 0 and below 0.5; got 0"),
        ("0,70,0.05,0.5", "expected BETA above 0 and below 0.5; got 0.5"),
        ("0,70,nan,0.05", "expected ALPHA above 0"),
    ],
)
def test_a_wrong_sprt_is_one_sentence(text, sentence):
    with pytest.raises(UsageError, match="expected") as caught:
        Sprt.parse(text)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rate", "draws", "colours", "wrong"),
    [
        (0.5, 0.0, 0.0, "accept_h1"),
        (0.5, 0.4, 0.0, "accept_h1"),
        (0.5, 0.0, 0.3, "accept_h1"),  # .8 as black, .2 as white
        (0.45, 0.0, 0.0, "accept_h1"),
        (expected_score(120), 0.0, 0.0, "accept_h0"),
        (expected_score(120), 0.3, 0.0, "accept_h0"),
        (0.75, 0.0, 0.0, "accept_h0"),
    ],
)
def test_the_sprt_errs_as_seldom_as_promised(rate, draws, colours, wrong):
    rng, runs, errors = Random(8), 1500, 0
    for _ in range(runs):
        test = Sprt(0, 120, 0.05, 0.05)
        for number in range(2000):
            if test.add(GameResult(drawn(rng, rate + (colours, -colours)[number % 2], draws))) is not None:
                break
        assert test.verdict != "undecided"
        errors += test.verdict == wrong
    assert at_most(errors, runs, 0.05 / 0.95)


# -------------------------------------------------------------------------------------- games that finish out of order


def test_the_order_in_which_games_finish_changes_nothing():
    games = results([1] * 40)
    in_turn = InOrder(Decided(SHIFTED, 30, 64))
    for index, game in enumerate(games):
        if in_turn.add(index, game):
            break
    assert in_turn.counted == 29
    for seed in range(5):
        order = list(range(40))
        Random(seed).shuffle(order)
        shuffled = InOrder(Decided(SHIFTED, 30, 64))
        for index in order:
            shuffled.add(index, games[index])
        assert (shuffled.counted, shuffled.reason) == (in_turn.counted, in_turn.reason)


def test_a_game_that_is_missing_holds_the_answer_back_and_one_that_comes_twice_is_a_mistake():
    order = InOrder(Sprt(0, 200))
    for index in range(1, 20):
        assert order.add(index, GameResult(1)) is None
    with pytest.raises(ValueError, match="game 3 came again"):
        order.add(3, GameResult(1))
    assert order.add(0, GameResult(1)).startswith("Ended after 8 games")
    assert order.counted == 8
    assert order.add(25, GameResult(0)) == order.reason
