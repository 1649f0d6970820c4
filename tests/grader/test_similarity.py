"""Copies of a class are found and shown side by side, whatever was renamed, moved or added; what everyone was given is not."""

import contextlib
import csv
import html
import re
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from packing import write_packed

from grader.__main__ import main
from grader.assignment_file import load_assignment
from grader.instructor import trust
from grader.instructor.similarity import comparison, pages, study
from grader.instructor.similarity.comparison import LEAST, Passage, Prints, TooLong, fingerprint_handed_out, passages
from grader.instructor.similarity.pages import INDEX, TABLE, _marked_files
from grader.instructor.similarity.study import joined
from grader.instructor.similarity.works import ENGINE, PYTHON, Work

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"
SAMPLE = (ROOT / "Minimax/sample.cpp").read_text()
PAIR = load_assignment().likeness.pair


def variant(name):
    """The files of a variant: path -> text."""
    (sample,) = trust.load_samples(("variants",), [name])
    return {path: content.decode() for path, content in sample.files.items()}


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def disguised(text):
    """The same C++ functions with other names, comments and layout, in the opposite order."""
    text = re.sub(r"//[^\n]*", "// mine", text)
    text = re.sub(r"\b(board|side|move|cells?|best|score|depth|stones?|point|line)\b", r"the_\1", text).replace("    ", "\t")
    return "".join(reversed(re.split(r"(?<=^}\n)", text, flags=re.MULTILINE)))


def python_parts(*names):
    """Variants that replace different files, put together to one Python part."""
    return {path: text for name in names for path, text in variant(name).items()}


@pytest.fixture(scope="module")
def fingerprints_of_the_kit():
    """`fingerprint_handed_out`, which splits the same kit into tokens only once for this module."""
    known = {}

    def run(sources, part):
        key = (part, tuple(sorted(sources.items())))
        if key not in known:
            known[key] = fingerprint_handed_out(sources, part)
        return known[key]

    return run


@pytest.fixture
def compare(tmp_path, capsys, monkeypatch, fingerprints_of_the_kit):
    """`compare(*arguments)`: the exit code, the lines on the screen and the rows of pairs.csv."""

    monkeypatch.setattr(study, "fingerprint_handed_out", fingerprints_of_the_kit)
    out = tmp_path / "out"

    def run(*arguments):
        code = main(["similarity", *map(str, arguments), "--out", str(out)])
        text = (out / TABLE).read_text(encoding="utf-8-sig") if (out / TABLE).exists() else ""
        captured = capsys.readouterr()
        return code, (captured.out + captured.err).splitlines(), list(csv.DictReader(text.splitlines()))

    return run


@pytest.fixture
def engines_of_three(tmp_path):
    """Two engines that have nothing to do with each other, and a disguised copy of one with more code."""
    one, other = variant("engine-slow-start"), variant("engine-always-swaps")
    copy = {path: disguised(text) for path, text in one.items() if path.endswith(".cpp")}
    copy["Minimax/extra.cpp"] = (REFERENCE / "Minimax/patterns.cpp").read_text()
    return [write(tmp_path / "in" / name, files) for name, files in (("one", one), ("other", other), ("copy", copy))]


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -------------------------------------------------------------------------------------------------- what is found


def test_submissions_with_the_same_files_are_named_together_and_have_no_page(engines_of_three, compare, tmp_path):
    one, other, _ = engines_of_three
    member = shutil.copytree(one, tmp_path / "in" / "member")
    code, said, rows = compare(one, member, other)
    assert code == 1 and len(rows) == 3
    assert "member, one hold the same files: a group, or a copy." in said and "0 pairs with" in said[-1]
    assert "member, one" in (tmp_path / "out" / INDEX).read_text() and not list((tmp_path / "out").glob("pair-*"))


def test_a_disguised_copy_is_found_and_other_engines_are_far_below(engines_of_three, compare):
    code, said, rows = compare(*engines_of_three)
    assert code == 1
    shares = {(r["first"], r["second"]): max(float(r["share_first"]), float(r["share_second"])) for r in rows}
    assert shares.pop(("copy", "one")) > 0.8 and len(shares) == 2 and max(shares.values()) < PAIR / 2
    assert "engine  copy  one" in said[-2] and "A share is not proof and changes no mark" in said[-1]


def test_engines_and_python_parts_that_were_written_apart_are_no_pair(tmp_path, compare):
    given = {
        "first": python_parts("pure-published-layout", "search-published-layout", "network-in-its-own-classes"),
        "second": python_parts("pure-root-expanded-first", "search-recursive", "network-mixed-precision"),
        "third": python_parts("pure-q-for-the-player-to-move", "search-fresh-trees", "training-losses-apart"),
    }
    engines = dict(zip(given, ("engine-slow-start", "engine-of-one-file", "engine-in-parts"), strict=True))
    code, _, rows = compare(*(write(tmp_path / "in" / name, given[name] | variant(engines[name])) for name in given))
    assert code == 0 and len(rows) == 6
    assert max(max(float(row["share_first"]), float(row["share_second"])) for row in rows) < PAIR


def test_what_everyone_was_given_is_left_out_and_named(tmp_path, compare):
    stubs = {path: (ROOT / path).read_text() for path in load_assignment().stubs}
    folders = [write(tmp_path / name, {**stubs, "Minimax/mine.cpp": SAMPLE}) for name in ("a", "b")]
    code, said, rows = compare(*folders)
    assert code == 0 and rows == []
    assert "Not compared: a, Python: too little is left without the handed-out code" in said


def test_the_kit_of_an_earlier_year_is_taken_off_too(tmp_path, compare):
    engine = variant("engine-slow-start")
    old = write(tmp_path / "old", engine)
    both = [write(tmp_path / name, {**engine, **variant("engine-in-parts")}) for name in ("a", "b")]
    before = compare(*both)[2][0]
    shutil.make_archive(str(tmp_path / "kit-2024"), "zip", old)
    after = compare(*both, "--handed-out", tmp_path / "kit-2024.zip")[2][0]
    assert int(after["common_characters"]) < int(before["common_characters"]) / 2


def test_earlier_years_are_compared_with_this_one_and_not_with_each_other(tmp_path, engines_of_three, compare):
    one, other, copy = engines_of_three
    year = tmp_path / "2024"
    year.mkdir()
    write_packed(year / "one.zip", ".zip", tree(one))
    shutil.copytree(one, year / "again")
    (year / "notes.txt").write_text("x")
    code, said, rows = compare(other, copy, "--earlier", year)
    assert code == 1 and any("notes.txt is neither a folder nor an archive" in line for line in said)
    assert {(r["first"], r["second"]) for r in rows} == {
        ("copy", "other"),
        *((new, old) for new in ("copy", "other") for old in ("2024-again", "2024-one")),
    }
    assert rows[0]["first"] == "copy" and rows[0]["earlier"] == "yes"


def test_shares_do_not_depend_on_the_process(monkeypatch, engines_of_three):
    """Python's hashes differ from one process to the next; a window above 1 would choose by them."""
    texts = [(folder / "Minimax").glob("*.cpp") for folder in engines_of_three]
    one, _, copy = ("\n".join(path.read_text() for path in sorted(paths)) for paths in texts)
    first = Prints(one, ENGINE).common(Prints(copy, ENGINE))
    utils = pytest.importorskip("copydetect.utils")
    monkeypatch.setattr(utils, "hash", lambda text: hash(f"salt {text}"), raising=False)
    assert Prints(one, ENGINE).common(Prints(copy, ENGINE)) == first


def test_a_lab_is_compared_by_its_own_files(tmp_path, compare):
    lab = ROOT / "labs/nogo"
    one, other = (shutil.copytree(lab / "reference", tmp_path / "in" / name) for name in ("one", "other"))
    variant_of_lab = lab / "submissions/variants/list-of-lists"
    shutil.copytree(variant_of_lab, other, dirs_exist_ok=True)
    code, said, rows = compare(one, other, "--lab", "nogo")
    assert not [line for line in said if "engine" in line or "not compared" in line]
    assert "engine" not in (tmp_path / "out" / INDEX).read_text() and "1 pair with" in said[-1]
    assert code == 1 and [(row["first"], row["second"], row["part"]) for row in rows] == [("one", "other", "Python")]
    assert (tmp_path / "out/jplag/submissions/one/NoGo").is_dir()
    compare(one, other)  # the main assignment does not collect these files
    assert not (tmp_path / "out/jplag/submissions/one/NoGo").exists()


# ------------------------------------------------------------------------------------------------------ positions


def longest(name):
    """The longest C++ source of a variant, without its last empty line."""
    return max((text for path, text in variant(name).items() if path.endswith(".cpp")), key=len)


def test_passages_lie_on_the_same_lines_of_both_sides():
    one, two = longest("engine-slow-start"), longest("engine-in-parts")
    head = "// A remark\nclass Board {\n    int size;  /* of\n a side */\n};\n\n"
    left, right = head + one + two, two.replace("int ", "int  // moved here\n    ") + "\n\n" + one
    found = passages(Prints(left, ENGINE), Prints(right, ENGINE))
    assert [p.group for p in found[0]] == [0, 1] and [p.group for p in found[1]] == [1, 0]
    for passage, other in zip(found[0], reversed(found[1]), strict=True):
        mine = left.split("\n")[passage.first : passage.last + 1]
        theirs = "\n".join(right.split("\n")[other.first : other.last + 1])
        assert theirs.replace("int  // moved here\n    ", "int ").split("\n") == mine
    assert sum(p.last - p.first + 1 for p in found[0]) > 0.9 * (one + two).count("\n")


@pytest.mark.parametrize("before", ["", "\n", "\n\n\n", "# A remark\n\n"])
def test_every_character_lies_on_its_line_also_after_an_empty_file_or_empty_lines(before):
    text = variant("pure-published-layout")["AlphaZero/mcts_pure.py"]
    alone, after = Prints(text, PYTHON), Prints(before + text, PYTHON)
    places = range(alone.comparable)
    assert after.lines(places) == [line + before.count("\n") for line in alone.lines(places)]


def test_a_page_counts_the_lines_of_a_file_from_its_first_one():
    work = Work("ada", Path("ada"), False, {"AlphaZero/__init__.py": b"", "AlphaZero/mcts_pure.py": b"\r\n\r\nx = 1\r\n\r\n"})
    files = work.files(PYTHON)
    (_, empty), (_, lines) = _marked_files(files, [Passage(4, 4, 0)])
    assert joined(files).split("\n")[4] == "x = 1"
    assert [line.text for line in empty] == [""]
    assert [(line.number, line.text, line.group) for line in lines] == [(1, "", None), (2, "", None), (3, "x = 1", 0)]


def test_a_passage_may_begin_at_the_name_of_a_class():
    body = " Board {\n    int f(int a) { return a + 1; }\n    void g() { while (f(2)) { h(3); } }\n};\n"
    before = longest("engine-in-parts")
    left, right = Prints(before + "class" + body, ENGINE), Prints("int x;\nstruct" + body, ENGINE)
    (mine,), (theirs,) = passages(left, right)
    assert (mine.first, theirs.first) == (before.count("\n"), 1) and mine.last - mine.first == theirs.last - theirs.first == 3


def test_repeated_code_keeps_all_its_runs_without_handed_out_code():
    text = longest("engine-slow-start") * 2
    assert Prints(text, ENGINE).without({12345}).comparable == Prints(text, ENGINE).comparable > LEAST
    assert Prints(text, ENGINE).without(Prints(text, ENGINE).hashes).comparable == 0


# ---------------------------------------------------------------------------------------------------------- pages


def test_a_page_shows_both_sides_with_links_between_them_and_stands_alone(engines_of_three, compare, tmp_path):
    compare(*engines_of_three)
    page = (tmp_path / "out/pair-001-engine.html").read_text()
    for outside in ("<script", "http:", "https:", "src=", "@import", "url("):
        assert outside not in page
    ids, links = re.findall(r'id="(\w+)"', page), re.findall(r'href="#(\w+)"', page)
    assert set(links) == set(ids) and len(ids) == len(set(ids)) > 2
    for file in (tmp_path / "out").glob("*.html"):
        text = " ".join(file.read_text().split())
        assert "A large share is not proof, and it changes no mark." in text
    shown = [html.unescape(line) for line in re.findall(r"<code>([^<]*)</code>", page)]
    one = [line for path in sorted((engines_of_three[0] / "Minimax").rglob("*.cpp")) for line in path.read_text().splitlines()]
    assert set(one) <= set(shown)


def test_hostile_text_stays_text(tmp_path, compare):
    evil = "// </code><script>alert(1)</script> \u202e \x1b[2J\n"
    one = {path: evil + text for path, text in variant("engine-slow-start").items() if path.endswith(".cpp")}
    names = ("=1+cmd|' calc'!A0", "<img src=x>", "\x1b[2J")
    folders = [write(tmp_path / name, {**one, "Minimax/own.h": f"// {i}"}) for i, name in enumerate(names)]
    code, said, rows = compare(*folders)
    assert code == 1 and len(rows) == 3
    assert not any("\x1b" in line for line in said)
    assert {r["first"][0] for r in rows} <= {"_"} and len({r["first"] for r in rows} | {r["second"] for r in rows}) == 3
    for file in (tmp_path / "out").glob("*.html"):
        assert not re.findall(r"<script|<img|\u202e|\x1b", file.read_text())


def test_a_second_run_changes_nothing_and_pages_that_are_gone_are_removed(engines_of_three, compare, tmp_path):
    compare(*engines_of_three)
    before = tree(tmp_path / "out")
    compare(*reversed(engines_of_three))
    assert tree(tmp_path / "out") == before and "pair-001-engine.html" in before
    compare(*engines_of_three[:2])
    assert not list((tmp_path / "out").glob("pair-*")) and not (tmp_path / "out/jplag/submissions/copy").exists()


@pytest.mark.parametrize("stopped_in", ["_sides", "_write_all"])
def test_a_run_that_was_stopped_while_it_wrote_can_be_repeated(engines_of_three, compare, monkeypatch, stopped_in):
    def ctrl_c(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pages, stopped_in, ctrl_c)
        with contextlib.suppress(KeyboardInterrupt):
            compare(*engines_of_three)
    assert compare(*engines_of_three)[0] == 1


def test_pairs_beyond_the_most_pages_are_counted(engines_of_three, compare, tmp_path):
    _, said, rows = compare(*engines_of_three, "--least", "0.001", "--pages", "1")
    assert [bool(row["page"]) for row in rows] == [True, False, False]
    beyond = sum(max(float(row["share_first"]), float(row["share_second"])) >= 0.001 for row in rows) - 1
    assert any(line.startswith(f"{beyond} more pairs have no page") for line in said)


def test_jplag_gets_one_folder_for_each_submission_and_the_base_code(engines_of_three, compare, tmp_path):
    one, other, copy = engines_of_three
    (tmp_path / "2024").mkdir()
    shutil.move(copy, tmp_path / "2024/copy")
    compare(one, other, "--earlier", tmp_path / "2024")
    jplag = tmp_path / "out/jplag"
    assert {path.name for path in (jplag / "submissions").iterdir()} == {"one", "other"}
    assert tree(jplag / "submissions/one") == {p: c for p, c in tree(one).items() if p.endswith((".cpp", ".h", ".py", ".cc"))}
    assert (jplag / "base/kit/Minimax/sample.cpp").is_file() and (jplag / "earlier/2024-copy/Minimax/extra.cpp").is_file()


# --------------------------------------------------------------------------------------------------- what goes wrong


def test_one_that_cannot_be_read_is_named_and_the_others_are_compared(engines_of_three, compare, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK")
    code, said, rows = compare(tmp_path / "broken.zip", *engines_of_three[:2])
    assert code == 1 and len(rows) == 1 and said[0].count("broken.zip") == 1
    assert "broken.zip" in (tmp_path / "out" / INDEX).read_text()


def test_a_source_that_takes_too_long_or_is_too_large_is_left_out(monkeypatch):
    before = Prints(SAMPLE, ENGINE).hashes
    monkeypatch.setattr(comparison, "LIMIT_S", 1)
    with pytest.raises(TooLong, match="more than 1 s of CPU time"):
        Prints("  \n" * 80_000, PYTHON)
    assert Prints(SAMPLE, ENGINE).hashes == before
    with pytest.raises(TooLong, match="larger than"):
        Prints("x" * (comparison.MAX_CHARACTERS + 1), ENGINE)


def test_two_students_with_archives_of_one_name_are_kept_apart(tmp_path, compare):
    folders = [write(tmp_path / above / "gomoku", variant("engine-slow-start")) for above in ("x", "y")]
    assert [(row["first"], row["second"]) for row in compare(*folders)[2]] == [("gomoku", "gomoku-2")]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["{one}"], "expected at least two submissions that can be read"),
        (["{one}", "{other}", "--earlier", "{one}"], "looks like one submission"),
        (["{one}", "{other}", "--earlier", "{year}"], "2024 is a collection: name "),
        (["{one}", "{other}", "--earlier", "nowhere"], "expected a folder of submissions after --earlier"),
        (["{one}", "{other}", "--handed-out", "{empty}"], "expected handed-out sources"),
        (["{one}", "{other}", "--out", "{one}"], "expected a folder outside"),
    ],
)
def test_a_wrong_call_gets_one_sentence_and_writes_nothing(engines_of_three, tmp_path, capsys, call, words):
    places = {"empty": tmp_path / "empty", "year": tmp_path / "2024"}
    for place in places.values():
        place.mkdir()
    (places["year"] / "collection.json").touch()
    one, other, _ = engines_of_three
    call = [part.format(one=one, other=other, **places) for part in call]
    before = tree(tmp_path)
    assert main(["similarity", "--out", str(tmp_path / "out"), *call]) == 2
    told = capsys.readouterr().err
    assert words in told and len(told.splitlines()) == 1
    assert tree(tmp_path) == before


def test_a_folder_inside_a_submission_that_is_read_is_refused(engines_of_three, capsys):
    before = tree(engines_of_three[0])
    assert main(["similarity", *map(str, engines_of_three), "--out", str(engines_of_three[0] / "similar")]) == 2
    assert f"expected a folder outside {engines_of_three[0]} after --out" in capsys.readouterr().err
    assert tree(engines_of_three[0]) == before


def test_the_library_is_named_where_it_is_not_installed(monkeypatch, engines_of_three, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "copydetect", None)
    assert main(["similarity", *map(str, engines_of_three), "--out", str(tmp_path / "out")]) == 2
    assert "requirements-instructor.txt" in capsys.readouterr().err


def test_an_archive_is_only_read(tmp_path, compare, engines_of_three):
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        for path, content in tree(engines_of_three[0]).items():
            archive.writestr(path, content)
        archive.writestr("../../outside.cpp", "int x;")
    code, _, rows = compare(tmp_path / "evil.zip", engines_of_three[2])
    assert code == 1 and len(rows) == 1 and not list(tmp_path.rglob("outside.cpp"))
