"""What a submission repeats of what was handed out is named; right solutions are not; neither are near-copies missed."""

import re
import tracemalloc
from pathlib import Path

import pytest

from grader.assignment_file import load_assignment
from grader.instructor import trust
from grader.instructor.release import collect_kit, find_leaks, likest_secret, read_secrets
from grader.pipeline.handed_out import MOST_INCLUDED, find_resemblances
from grader.pipeline.likeness import GRAM, WINDOW, fingerprints, is_source, tokens
from grader.pipeline.submission import Submission, read_submission
from grader.pipeline.workspace import framework_files

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"
BASELINE = (ROOT / "Minimax/baseline.cpp").read_text()
SAMPLE = (ROOT / "Minimax/sample.cpp").read_text()
HEADER = '#include "AIController.h"\n'


def made(files):
    """A submission of these files."""
    return Submission("s", {path: text.encode() for path, text in files.items()}, reports=(), ignored=(), notes=())


def found(assignment, files):
    return [(one.source, one.included) for one in find_resemblances(made(files), assignment)]


def renamed(text):
    """The same program with other names, numbers, comments and layout."""
    text = re.sub(r"//[^\n]*", "// mine", text)
    text = re.sub(r"\b(board|side|move|cells?|run|best|score|depth|stones?)\b", r"the_\1", text)
    return re.sub(r"\b\d+\b", "7", text).replace("    ", "\t")


# ------------------------------------------------------------------------------------------------------- tokens


def test_names_numbers_comments_and_layout_do_not_count():
    one = "int f(int a) { /* add */ return a + 12; } // end"
    other = "int  g(int bcd)\n{\n  return bcd+0x7F;\n}"
    assert tokens(one, python=False) == tokens(other, python=False)
    assert tokens("a = 7 // 2  # half", python=True) == tokens("b=9//4", python=True)
    assert tokens("#define X 1", python=False)[0] == "#" and tokens('"""a "b" c"""', python=True) == ["text"]


def test_every_shared_run_leaves_a_fingerprint_wherever_it_stands():
    shared = " ".join(["if (a == b) { c[d] += e ? f : g; } else while (h) { i->j(k); }"] * 2)
    assert len(tokens(shared, python=False)) >= GRAM + WINDOW - 1
    for filling in range(12):
        around = fingerprints(f"{'x + ' * filling} {shared} {'- y' * filling}".encode(), "a.cpp")
        assert around.common(fingerprints(f"return 1; {shared};".encode(), "b.h")) > 0


@pytest.mark.parametrize("path", ["a.py", "a.cpp"])
@pytest.mark.parametrize("piece", ["/*", "'''", '"""', '"\\', "'", "#", "//", "((((", "\\\n", "1e+", "\x00", "a" * 50])
def test_hostile_text_is_read_to_its_end(path, piece):
    """Patterns that go back over the text would need hours for these."""
    fingerprints((piece * (1 << 20))[: 1 << 20].encode(), path)


@pytest.mark.parametrize("begin", ['"', "'''", "/*", "1"])
def test_a_long_token_needs_little_memory_beyond_its_own(begin):
    text = begin + "1" * (1 << 20)
    tracemalloc.start()
    try:
        for python in (True, False):
            tokens(text, python)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(text)
    finally:
        tracemalloc.stop()


def test_what_is_too_short_or_nothing_has_no_fingerprint():
    assert len(fingerprints(b"", "a.py")) == len(fingerprints(b"int x;", "a.cpp")) == 0
    assert fingerprints(b"", "a.py").share_in(fingerprints(BASELINE.encode(), "b.cpp")) == 0


# --------------------------------------------------------------------------------------- what was handed out


@pytest.mark.parametrize(
    "line",
    [
        '#include "baseline.cpp"',
        '#include "../Minimax/baseline.cpp"',
        "#include <Minimax/../baseline.cpp>",
        '  # /* my own */ include "./baseline.cpp"',
        '#inc\\\nlude "baseline.cpp"',
        '%:include "baseline.cpp"',
    ],
)
def test_an_included_opponent_is_named_however_it_is_written(assignment, line):
    for text in (f"{HEADER}{line}\n", f"\ufeff{line}\n{HEADER}"):  # the second begins with a byte order mark
        assert found(assignment, {"Minimax/mine.cpp": text}) == [("Minimax/baseline.cpp", True)]


def test_another_handed_out_source_is_named_too_and_the_header_is_not(assignment):
    assert found(assignment, {"Minimax/mine.cpp": '#include "mcts_baselines/mcts.cpp"'}) == [
        ("Minimax/mcts_baselines/mcts.cpp", True)
    ]
    assert found(assignment, {"Minimax/mine.cpp": HEADER, "Minimax/deep/more.cpp": '#include "../AIController.h"'}) == []
    # A file of one's own may have the name; what stands in it counts.
    assert found(assignment, {"Minimax/own/baseline.cpp": "int x;", "Minimax/own/mine.cpp": '#include "baseline.cpp"'}) == []


def test_a_source_included_again_and_again_is_named_once_and_of_many_only_some(assignment):
    for again in ('#include "baseline.cpp"\n#include "./baseline.cpp"\n', '#include "baseline.cpp"\n'):
        assert found(assignment, {"Minimax/mine.cpp": HEADER + 1000 * again}) == [("Minimax/baseline.cpp", True)]
    names = [f'#include "mcts_baselines/{number}.h"\n' for number in range(1000)]
    assert len(found(assignment, {"Minimax/mine.cpp": "".join(names)})) == MOST_INCLUDED


def test_an_include_that_is_not_seen_finds_nothing_to_include(assignment):
    assert [path for path in framework_files(assignment) if path.endswith(".cpp")] == []


def test_a_source_that_is_nearly_repeated_is_named_whatever_is_changed_or_added(assignment):
    more = (REFERENCE / "Minimax/search.cpp").read_text() + (REFERENCE / "Minimax/threats.cpp").read_text()
    half = len(BASELINE) // 2
    for files in (
        {"Minimax/mine.cpp": renamed(BASELINE)},
        {"Minimax/mine.cpp": BASELINE, "Minimax/more.cpp": more},
        {"Minimax/a.cpp": BASELINE[:half], "Minimax/b.hpp": BASELINE[half:]},
        {"Minimax/mine.cpp": BASELINE[: 2 * half * 7 // 10]},
    ):
        assert ("Minimax/baseline.cpp", False) in found(assignment, files)


def test_the_example_may_be_begun_from_and_not_be_handed_in(assignment):
    assert found(assignment, {"Minimax/mine.cpp": SAMPLE.replace("random", "mine")}) == [("Minimax/sample.cpp", False)]
    own = (REFERENCE / "Minimax/threats.cpp").read_text()
    assert found(assignment, {"Minimax/mine.cpp": SAMPLE + own}) == []


def test_python_that_answers_a_part_is_named_with_the_checks_that_it_decides(assignment):
    pasted = (ROOT / "grader/judge/trusted/search.py").read_text().replace("mean_value", "_Q")
    (one,) = find_resemblances(made({"AlphaZero/mcts_pure.py": pasted}), assignment)
    assert one.source == "grader/judge/trusted/search.py" and one.share == 1 and one.checks == ("mcts_pure",)
    assert one.sentence.startswith("AlphaZero/mcts_pure.py has 100% in common with grader/judge/trusted/search.py")


def test_the_stubs_are_nobodys_copy(assignment):
    stubs = {path: (ROOT / path).read_text() for path in assignment.stubs}
    assert found(assignment, stubs) == []


def test_no_right_solution_comes_near(assignment, tmp_path):
    for sample in trust.load_samples(("variants",)):
        trust.lay_out(sample, tmp_path / sample.name)
        assert find_resemblances(read_submission(tmp_path / sample.name, assignment), assignment) == [], sample.name


def test_the_checks_of_that_part_wait_and_count_once_a_person_has_looked(submission, graded, assignment, tmp_path):
    own = {f"AlphaZero/{name}.py": None for name in ("mcts_alphaZero", "policy_value_net_torch")}  # nobody waits for these
    copied = submission("copied", {"Minimax": None, "Minimax/mine.cpp": HEADER + '#include "baseline.cpp"\n', **own})
    waiting = {check.id for check in assignment.checks if check.id.startswith("minimax.")}
    checks, results = graded(copied, only={*waiting, "mcts_pure.reuse"})
    assert set(results["could_not_grade"]) == waiting
    for check_id in waiting:
        assert "Minimax/mine.cpp includes Minimax/baseline.cpp" in checks[check_id]["message"]
        assert (checks[check_id]["points"], checks[check_id]["status"]) == (0, "could_not_grade")
    assert "This is not a zero" in (tmp_path / "out/copied/report.html").read_text()


# --------------------------------------------------------------------------------------------------- the release


def test_no_file_of_the_kit_is_like_what_must_not_leave(assignment):
    kit, secrets = collect_kit(assignment, ROOT), read_secrets(assignment, ROOT)
    sources = {path: content for path, content in kit.files.items() if is_source(path)}
    shares = [likest_secret(path, content, secrets) for path, content in sources.items()]
    assert sum(share is not None for share in shares) > 60
    assert max(share for share, _ in filter(None, shares)) < assignment.likeness.kit * 0.75


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("grader/confinement/plain.py", "grader/judge/trusted/search.py"),
        ("common/harmless_text.py", "training/search/tree.py"),
        ("Minimax/sample.cpp", "instructor/reference/Minimax/threats.cpp"),
        ("Board/__init__.py", "instructor/reference/AlphaZero/mcts_alphaZero.py"),
    ],
)
def test_a_rewritten_answer_does_not_leave(assignment, path, secret):
    kit, secrets = collect_kit(assignment, ROOT), read_secrets(assignment, ROOT)
    text = (ROOT / secret).read_text()
    lines = (line for line in text.splitlines() if "SOLUTION" not in line)
    kit.files[path] += "\n".join(lines).replace("self", "this").replace("board", "game").replace("    ", "\t").encode()
    assert [leak for leak in find_leaks(kit, secrets, assignment) if f"in common with {secret}" in leak]


def test_the_places_that_decide_checks_name_checks_that_there_are():
    assignment = load_assignment()
    parts = {check.id.split(".")[0] for check in assignment.checks}
    assert {part for checks in assignment.decides.values() for part in checks} == parts
