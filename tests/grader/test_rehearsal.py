"""A made-up class is the same for the same seed, can be read as its table says, and results that differ from it are seen."""

import contextlib
import csv
import io
import re
import shlex
import shutil
import zipfile
from dataclasses import replace
from fractions import Fraction

import pytest
import yaml

from common.errors import UsageError
from common.files import write_whole
from grader.__main__ import main, parser
from grader.instructor.course import COURSE
from grader.instructor.gradebook_entries import read_roster
from grader.instructor.marking.schemes import LateRule
from grader.instructor.rehearsal import class_tables, rehearse
from grader.instructor.rehearsal.downloads import PLATFORMS
from grader.instructor.rehearsal.made_up_marks import BY_HAND_COLUMNS
from grader.instructor.rehearsal.packing import PACKINGS
from grader.instructor.rehearsal.pupils import (
    GRADED,
    MISSING,
    OUTCOMES,
    REFUSED,
    UNCLEAR,
    certain_checks,
    expected_points,
    samples_of_a_class,
)
from grader.instructor.rehearsal.rehearse import DOWNLOAD, EXPECTED, LATE_MINUTES, ROSTER, TIMES, files_of
from grader.pipeline.results import FAILED, PASSED, Results, Verdict
from grader.pipeline.run_folder import REFUSAL_FILE
from grader.pipeline.submission import read_submission

SIZE = 45
SAMPLES = {sample.name: sample for sample in samples_of_a_class()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """platform -> the folder of a class."""
    folders = {platform: tmp_path_factory.mktemp(platform) / "class" for platform in PLATFORMS}
    for platform, folder in folders.items():
        assert main(["rehearse", str(SIZE), "--out", str(folder), "--seed", "7", "--as", platform]) == 0
    return folders


def table(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def attempts(folder, platform):
    """id -> the archives of a student, (name, content), in order of time."""
    roster = {row["canvas_id"]: row["id"] for row in table(folder / ROSTER)} | {"69999": "2025999"}
    moodle = {row["moodle_id"]: row["id"] for row in table(folder / ROSTER)} | {"899999": "2025999"}
    found = {}
    with zipfile.ZipFile(folder / DOWNLOAD) as archive:
        if platform == "gradescope":
            told = yaml.safe_load(archive.read("submission_metadata.yml"))
            ids = {name: one[":submitters"][0][":sid"] for name, one in told.items()}
        for entry in sorted(archive.infolist(), key=lambda entry: entry.date_time):
            name = entry.filename
            if platform == "canvas":
                person = roster[re.fullmatch(r"\w+?_(?:LATE_)?(\d+)_\d+_(?:gomoku|final)(?:-\d)?\.[a-z.]+", name)[1]]
            elif platform == "moodle":
                person = moodle[re.fullmatch(r".+_(\d+)_assignsubmission_file_/(?:gomoku|final)\.[a-z.]+", name)[1]]
            elif platform == "plain":
                person = re.fullmatch(r"[^_]+_(\d+)_(?:gomoku|final)(?: \(\d\))?\.[a-z.]+", name)[1]
            elif name in ("submission_metadata.yml", "index.html"):
                continue
            elif platform == "brightspace":
                person = re.fullmatch(r"\d+-80551 - (\d+) .+ - \w+ \d+, 2026 \d{3,4} [AP]M/(?:gomoku|final)\.[a-z.]+", name)[1]
            else:
                person = ids[name.split("/")[0]]
            found.setdefault(person, []).append((name.rpartition("/")[2], archive.read(entry)))
    return found


# ------------------------------------------------------------------------------------------------------ the class


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(tmp_path, capsys):
    for folder, seed in (("one", "7"), ("again", "7"), ("other", "8")):
        assert main(["rehearse", "12", "--out", str(tmp_path / folder), "--seed", seed]) == 0
    one, again, other = (contents(tmp_path / folder) for folder in ("one", "again", "other"))
    assert one == again and all(one[name] != other[name] for name in (DOWNLOAD, EXPECTED))
    assert main(["rehearse", "12", "--out", str(tmp_path / "one"), "--seed", "7"]) == 0
    assert contents(tmp_path / "one") == again and "python -m grader collect" in capsys.readouterr().out


def test_a_class_has_every_kind_of_archive_and_outcome(made):
    rows = table(made["canvas"] / EXPECTED)
    assert {row["outcome"] for row in rows} == set(OUTCOMES)
    assert {row["archive"] for row in rows if row["outcome"] == GRADED} == {p.name for p in PACKINGS if p.readable}
    assert {row["attempts"] for row in rows} == {"0", "1", "2"} and {row["late_minutes"] for row in rows} == {"90", "0", ""}
    assert len(rows) == SIZE + 1 and len({row["sample"] for row in rows}) > SIZE / 2


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_archive_is_read_as_the_table_says(made, platform, tmp_path, assignment):
    handed_in = attempts(made[platform], platform)
    for row in table(made[platform] / EXPECTED):
        mine = handed_in.pop(row["id"], [])
        if row["outcome"] == UNCLEAR:
            assert len(mine) == 2 and mine[0][1] != mine[1][1]
            continue
        assert len(mine) == int(row["attempts"])
        if row["outcome"] == MISSING:
            continue
        name, content = mine[-1]
        path = tmp_path / f"{row['id']}-{name}"
        path.write_bytes(content)
        if row["outcome"] == REFUSED:
            with pytest.raises(UsageError):
                read_submission(path, assignment)
            continue
        files = files_of(SAMPLES[row["sample"]])
        read = read_submission(path, assignment).files
        assert read == {name: files[name] for name in read} and {*read} >= {n for n in files if n.startswith("AlphaZero/")}
    assert not handed_in


def test_late_is_what_the_platform_says(made):
    rows = {row["id"]: row for row in table(made["canvas"] / EXPECTED)}
    for person, mine in attempts(made["canvas"], "canvas").items():
        assert ("_LATE_" in mine[-1][0]) == (rows[person]["late_minutes"] == "90")
    late = {person for person, row in rows.items() if row["late_minutes"] == "90"}
    assert {row["id"] for row in table(made["canvas"] / TIMES)} == late
    with zipfile.ZipFile(made["gradescope"] / DOWNLOAD) as archive:
        told = yaml.safe_load(archive.read("submission_metadata.yml"))
    late = {one[":submitters"][0][":sid"] for one in told.values() if one[":created_at"] > rehearse.DUE}
    assert late == {p for p, row in rows.items() if row["late_minutes"] == "90"} and LATE_MINUTES > 60
    assert not (made["gradescope"] / TIMES).exists() and late < {row["id"] for row in table(made["moodle"] / TIMES)}


def test_a_class_of_one_can_be_drawn(tmp_path):
    assert main(["rehearse", "1", "--out", str(tmp_path / "one")]) == 0
    assert len(table(tmp_path / "one" / ROSTER)) == 1


def test_nbgrader_finds_its_settings_in_the_copy_of_the_course(made):
    copied = contents(made["canvas"] / "course")
    for name in ("nbgrader_config.py", "templates/page.html.j2", "rubric.toml"):
        assert copied[name] == (COURSE / name).read_bytes()


def test_the_roster_is_read_with_its_odd_names(made):
    students = read_roster(made["canvas"] / ROSTER)
    assert len(students) == SIZE
    names = {student.names["last_name"] for student in students}
    assert {"李", "de la Muestra, Jr.", "O'Example"} <= names


def test_points_are_open_where_luck_minutes_or_other_files_decide(assignment):
    long = {i for ids in assignment.long_checks.values() for i in ids}
    every = {check.id for check in assignment.checks}
    assert certain_checks(SAMPLES["reference"], assignment) == every - long
    # Its TreeNode in mcts_pure.py lacks a method that the reference's mcts_alphaZero.py calls.
    pure = certain_checks(SAMPLES["pure-shares-by-move"], assignment)
    assert {i.split(".")[0] for i in pure} == {"minimax", "mcts_pure"} and "minimax.build" in pure
    lucky = next(sample for sample in SAMPLES.values() if sample.luck)
    assert certain_checks(lucky, assignment).isdisjoint(lucky.luck)
    check = next(check for check in assignment.checks if check.points == 2)
    assert expected_points(SAMPLES["reference"], check) == "2"
    assert expected_points(replace(lucky, expected={check.id: None}), check) == "<2"
    assert expected_points(replace(lucky, expected={check.id: 0.5}), check) == "1"


# ---------------------------------------------------------------------------------------------------- the results


def write_results(folder, points, assignment):
    """Write a results.json in which each check has these points."""
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = tuple(
        Verdict.of(check, PASSED if points[check.id] == check.points else FAILED, "A sentence.", points[check.id])
        for check in assignment.checks
    )
    results = Results(
        **dict.fromkeys(("title", "digest", "grader"), "x"),
        submission=folder.name,
        **dict.fromkeys(("collected", "reports", "ignored", "notes"), ()),
        assignment=assignment.id,
        profile="smoke",
        seed=1,
        looked_at=False,
        whole_match=False,
        sandbox={},
        environment={},
        seconds=1.0,
        verdicts=verdicts,
    )
    results.write(folder)


@pytest.fixture
def graded_class(made, tmp_path, assignment):
    """A folder with the results that the class must get, as `grade` writes them, and the rows of the table."""
    folder, rows = tmp_path / "results", table(made["plain"] / EXPECTED)
    for row in rows:
        if row["outcome"] == REFUSED:
            (folder / row["id"]).mkdir(parents=True)
            (folder / row["id"] / REFUSAL_FILE).write_text("it is damaged\n")
        elif row["outcome"] == GRADED:
            open_or_less = {check.id: row[check.id] for check in assignment.checks}
            points = {i: 0.0 if text.startswith("<") or not text else float(text) for i, text in open_or_less.items()}
            write_results(folder / row["id"], points, assignment)
    return folder, rows


def check(results, made, capsys, *arguments):
    code = main(["check-rehearsal", str(results), str(made["plain"]), *map(str, arguments)])
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("There is no ")]
    return code, [line for line in lines if "  as expected" not in line]


AS_EXPECTED = (0, [f"{SIZE + 1} of {SIZE + 1} as expected."])


def test_results_as_expected_pass(graded_class, made, capsys):
    assert check(graded_class[0], made, capsys) == AS_EXPECTED


def test_every_kind_of_difference_is_named_in_its_row(graded_class, made, capsys, assignment):
    folder, rows = graded_class
    of = {outcome: [row for row in rows if row["outcome"] == outcome] for outcome in (GRADED, REFUSED, MISSING)}
    full = {check.id: check.points for check in assignment.checks}
    zero = dict.fromkeys(full, 0.0)
    (mutant,) = [row for row in of[GRADED] if any(text.startswith("<") for text in row.values())][:1]
    others = [row for row in of[GRADED] if row is not mutant]
    shutil.rmtree(folder / others[0]["id"])
    write_results(folder / others[1]["id"], zero, assignment)
    write_results(folder / mutant["id"], full, assignment)
    (folder / others[2]["id"] / "results.json").write_text("{}")
    shutil.rmtree(folder / of[REFUSED][0]["id"])
    write_results(folder / of[MISSING][0]["id"], full, assignment)
    code, said = check(folder, made, capsys)
    found = {line.split()[0]: line for line in said}
    for row, words in (
        (others[0], "expected a result; there is none"),
        (others[1], "points; got 0: A sentence."),
        (mutant, "points; got"),
        (others[2], "has no checksum"),
        (of[REFUSED][0], "expected a refused archive; it was not graded at all"),
        (of[MISSING][0], "expected no result"),
    ):
        assert words in found.pop(row["id"])
    assert code == 1 and list(found.values()) == [f"{SIZE - 5} of {SIZE + 1} as expected."]


# ------------------------------------------------------------------------------------- who handed in what, and the marks


@pytest.fixture(scope="module")
def collection(made, tmp_path_factory):
    """The folder of a collection of the class."""
    out, folder = tmp_path_factory.mktemp("term") / "collected", made["plain"]
    call = ["collect", folder / DOWNLOAD, "--roster", folder / ROSTER, "--due", rehearse.DUE.isoformat(), "--out", out]
    assert main(list(map(str, call))) == 1
    return out


@pytest.fixture
def term(graded_class, made, collection, tmp_path, capsys):
    """`term(*arguments)` runs `marks` on the class; `term.check()` compares it and returns the lines that differ."""
    folder = made["plain"]

    def run(*arguments):
        call = ["marks", run.results, "--students", folder / ROSTER, "--collected", collection / "collected.csv"]
        call += ["--by-hand", folder / "by_hand.csv", "--overrides", folder / "overrides.csv", "--missing-as-zero"]
        return main([*map(str, (*call, "--course", folder / "course", "--out", run.marks.parent, *arguments))])

    def compare():
        capsys.readouterr()
        return check(run.results, made, capsys, "--collected", run.collected, "--marks", run.marks)

    run.results, run.rows = graded_class
    run.marks, run.collected, run.check = tmp_path / "marks/marks.csv", collection / "collected.csv", compare
    return run


@pytest.mark.parametrize("scheme", ["win_rate", "capped", "pass_fail"])
def test_every_row_of_the_marks_is_as_the_rehearsal_made_it_up(term, scheme):
    assert term("--scheme", scheme) == 1
    assert term.check() == AS_EXPECTED


def test_totals_are_known_late_open_and_missing(term, capsys):
    term()
    rows = table(term.marks)
    notes = {row["id"]: row["note"] for row in rows}
    assert any(float(row["penalty"] or 0) for row in rows) and any("late_minutes 0" in row["overrides"] for row in rows)
    assert sum(note.startswith("not marked: ") for note in notes.values()) == 2
    assert {row["final"] for row in rows} == {"yes", "no"}  # the missing ones have 0, and smoke is not the scheme's profile
    assert main(["check-rehearsal", str(term.results), str(term.marks.parent), "--marks", str(term.marks)]) == 2
    assert "expected the table of a rehearsal" in capsys.readouterr().err


def test_a_mistake_in_the_totals_is_seen(term, monkeypatch):
    monkeypatch.setattr(LateRule, "penalty", lambda *_: Fraction(0))
    term()
    code, said = term.check()
    assert code == 1 and "for penalty; got 0; marks.csv: expected" in said[0] and "for total" in said[0]


def test_a_table_by_hand_that_was_edited_is_read_or_gives_one_sentence(tmp_path):
    table = tmp_path / "by_hand.csv"
    table.write_text("id,item,points,comment\n1,report,,only a comment\n1,code_review,2.5,\n")
    assert class_tables._points(table, "marks by hand", BY_HAND_COLUMNS) == {"1": {"code_review": 2.5}}
    table.write_text('id,item,points,comment\n1,report,"2,5",\n')
    with pytest.raises(UsageError, match=r"by_hand\.csv, line 2: expected points such as 2\.5; got '2,5'"):
        class_tables._points(table, "marks by hand", BY_HAND_COLUMNS)


def test_marks_that_were_not_entered_are_seen(term, tmp_path):
    (tmp_path / "nothing.csv").write_text("id,item,points,comment\n")
    term("--by-hand", tmp_path / "nothing.csv")
    code, said = term.check()
    assert code == 1 and any("for report; got nothing" in line for line in said)


@pytest.mark.parametrize(
    ("name", "outcome", "column", "value", "words"),
    [
        ("collected", GRADED, "late_minutes", "7", "for late_minutes; got 7"),
        ("collected", GRADED, "attempts", "5", "for attempts; got 5"),
        ("collected", GRADED, "counted", "9-other.zip", "expected the attempt that counts at"),
        ("collected", MISSING, "outcome", "unknown", "expected missing for outcome; got unknown"),
        ("collected", UNCLEAR, "note", "", "expected a note on why it is unclear"),
        ("collected", UNCLEAR, "counted", "1-gomoku.zip", "expected no attempt that counts; got 1-gomoku.zip"),
        ("marks", GRADED, "network.load", "0.25", "for network.load; got 0.25"),
        ("marks", GRADED, "total", "", "for total; got nothing"),
        ("marks", MISSING, "final", "no", "expected yes for final; got no"),
        ("marks", REFUSED, "total", "0", "expected nothing for total; got 0"),
    ],
)
def test_a_changed_cell_is_named_in_its_row(term, tmp_path, name, outcome, column, value, words):
    term()
    marked = {row["id"] for row in table(term.marks) if row["total"] != "incomplete"}
    student = next(row["id"] for row in term.rows if row["outcome"] == outcome and (outcome != GRADED or row["id"] in marked))
    path = getattr(term, name)
    rows = table(path)
    next(row for row in rows if row["id"] == student)[column] = value
    changed = path if name == "marks" else path.with_name("changed.csv")
    with open(changed, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    setattr(term, name, changed)
    code, said = term.check()
    assert code == 1 and [line.split()[0] for line in said[:-1]] == [student] and words in said[0]


def test_an_earlier_attempt_that_counts_is_seen(term):
    term()
    row = next(row for row in term.rows if row["outcome"] == GRADED and row["attempts"] == "2")
    folder = term.collected.parent / "attempts" / row["id"]
    counted = next(r["counted"] for r in table(term.collected) if r["id"] == row["id"])
    (last,) = [path for path in folder.iterdir() if path.name == counted]
    (first,) = [path for path in folder.iterdir() if path != last]
    content = last.read_bytes()
    last.write_bytes(first.read_bytes())
    try:
        code, said = term.check()
    finally:
        last.write_bytes(content)
    assert code == 1 and "expected another attempt to count" in said[0]


def test_the_printed_commands_are_valid_and_quote_their_paths(tmp_path, capsys):
    place = tmp_path / "my class"
    assert main(["rehearse", "8", "--out", str(place)]) == 0
    said = capsys.readouterr().out.splitlines()
    calls = [shlex.split(line.strip()) for line in said if line.startswith("  python -m grader ")]
    names = [call[3] for call in calls]
    assert names[:2] == ["collect", "grade"] and names[-1] == "give-back" and "marks" in names
    for call in calls:
        parser().parse_args(call[3:])  # ends with 2 if the call is wrong
        assert not [word for word in call if "my" in word and str(place) not in word]
    assert "--times" in calls[0] and "--profile full, so the totals of this rehearsal are not final" in said[-1]


# ------------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["rehearse", "0", "--out", "x"], "expected a whole number of at least 1"),
        (["rehearse", "5000", "--out", "x"], "expected a class of at most 1000 students"),
        (["rehearse", "5", "--out", "{full}"], "expected a new folder, or one of an earlier rehearsal"),
        (["rehearse", "5", "--out", "{made}"], "holds the rehearsal of another class"),
        (["rehearse", "5", "--folder", "x"], "--folder; the following arguments are required: --out"),
        (["rehearse", "5", "--out", "x", "--sead", "2"], "python -m grader rehearse: unrecognized arguments: --sead 2"),
        (["check-rehearsal", "{full}", "nowhere"], "expected the table of a rehearsal at nowhere/expected.csv: No such file"),
        (["check-rehearsal", "nowhere", "{made}"], "expected the folder of graded results; got nowhere"),
        (["check-rehearsal", "{full}", "{bad}"], "expected points such as 2 or <2 for minimax.build; got 'many'"),
        (["check-rehearsal", "{full}", "{other}"], "expected the columns that rehearse writes"),
    ],
)
def test_a_wrong_call_gets_one_sentence(made, tmp_path, capsys, call, words):
    for name, text in (("full/x", "x"), ("other/" + EXPECTED, "id,name\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    shutil.copytree(made["plain"], tmp_path / "bad")
    lines = (tmp_path / "bad" / EXPECTED).read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if re.search(r",graded,\w{64},1,", line))
    lines[at] = re.sub(r"(,graded,\w{64}),1,", r"\1,many,", lines[at])
    (tmp_path / "bad" / EXPECTED).write_text("\n".join(lines))
    places = {name: tmp_path / name for name in ("full", "bad", "other")} | {"made": made["plain"]}
    try:
        code = main([part.format(**places) for part in call])
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr().err.splitlines()
    assert code == 2 and words in told[-1]


def test_a_call_that_was_stopped_while_it_wrote_can_be_given_again(tmp_path, monkeypatch):
    written = []

    def stopped(path, content):
        if written:
            raise KeyboardInterrupt
        written.append(path)
        write_whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(rehearse, "write_whole", stopped)
        with contextlib.suppress(KeyboardInterrupt):
            main(["rehearse", "3", "--out", str(tmp_path)])
    assert [path.name for path in written] == [EXPECTED] == [path.name for path in tmp_path.iterdir()]
    assert main(["rehearse", "3", "--out", str(tmp_path)]) == 0
