"""What a submission is read as: the files that count, and the reasons for the others."""

import io
import json
import os
import tarfile

import pytest
from packing import ARCHIVES, ENGINE, KINDS, WORK

from common.errors import UsageError
from grader.assignment import ROOT
from grader.pipeline import submission
from grader.pipeline.submission import absent_parts, read_submission, require_submissions, submission_name
from grader.pipeline.workspace import build_workspace

# ------------------------------------------------------------------------------------------------ what counts


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_work_is_read_the_same_however_it_is_packed(pack, read, kind):
    plain = read(pack("folder", WORK, "plain"))
    deep = read(pack(kind, {f"home/work-1/{path}": content for path, content in WORK.items()}))
    assert plain.files == deep.files == WORK and list(deep.files) == sorted(WORK)
    assert plain.digest == deep.digest and plain.notes == ()
    assert deep.name == "work" and deep.notes == ("The submission's files were found in home/work-1/.",)


def test_a_path_with_nothing_and_a_folder_that_holds_a_class_are_no_submissions(pack, tmp_path):
    archives = [pack(".zip", WORK, name) for name in ("s1", "s2")]
    require_submissions([*archives, pack("folder", WORK, "s3")])
    with pytest.raises(UsageError, match="nothing is there"):
        require_submissions([*archives, tmp_path / "absent" / "*"])
    folder = tmp_path / "class"
    folder.mkdir()
    for path in archives:
        path.rename(folder / path.name)
    with pytest.raises(UsageError, match=r"is a folder of 2 archives: give .*/class/\*"):
        require_submissions([folder])
    require_submissions([folder, tmp_path])  # of several paths, each stands for itself
    (tmp_path / "collection.json").touch()
    with pytest.raises(UsageError, match=r"is the folder of a collection: give .*/submissions/\*"):
        require_submissions([tmp_path])


def test_the_digest_tells_other_work_apart(pack, read):
    variants = [WORK, {**WORK, ENGINE: b"int other;\n"}, {**WORK, "Minimax/more.h": b""}]
    digests = {read(pack(".zip", work, f"work{i}")).digest for i, work in enumerate(variants)}
    assert len(digests) == 3


@pytest.mark.parametrize("kind", ["folder", *ARCHIVES])
def test_what_does_not_count_is_listed_with_its_reason(pack, read, kind):
    junk = {
        "__MACOSX/Minimax/._engine.cpp": b"\0",
        ".git/config": b"",
        ".git/hooks/x": b"",
        "AlphaZero/__pycache__/mcts_pure.cpython-311.pyc": b"",
        "build/engine.cpp": b"",
        "report/.ipynb_checkpoints/report-checkpoint.ipynb": b"{}",
        "Minimax/engine": b"\x7fELF",
        "Minimax/baseline.cpp": b"int weaker;",
        "Minimax/AIController.h": b"#define cheat",
        "arena/match/referee.py": b"",
        "Board/game_board.py": b"",
        "train.py": b"",
        "Gomoku.docx": b"",
        "report/figure.png": b"",
    }
    seen = read(pack(kind, {**WORK, **junk}))
    cache, handed_out = "cache or tool folder", "handed out: the framework's copy is used"
    framework = "part of the framework: the clean copy is used"
    assert seen.files == WORK and seen.reports == ("Gomoku.docx", "report/figure.png")
    assert dict(seen.ignored) == {
        "__MACOSX/": cache,
        ".git/": cache,
        "AlphaZero/__pycache__/": cache,
        "build/": cache,
        "report/.ipynb_checkpoints/": cache,
        "Minimax/engine": "not collected by the assignment",
        "Minimax/baseline.cpp": handed_out,
        "Minimax/AIController.h": handed_out,
        "arena/match/referee.py": framework,
        "Board/game_board.py": framework,
        "train.py": framework,
    }


def test_a_tool_folder_is_listed_by_its_own_name_where_an_outer_name_holds_it(pack, read):
    seen = read(pack(".zip", {**WORK, "AlphaZero/rebuild/build/x.py": b""}))
    assert seen.ignored == (("AlphaZero/rebuild/build/", "cache or tool folder"),)


@pytest.mark.parametrize("kind", ["folder", ".tar.gz"])
def test_the_resource_forks_that_a_mac_puts_into_a_tar_are_no_sources(pack, read, kind):
    seen = read(pack(kind, {**WORK, "Minimax/._engine.cpp": b"\0\5\x16\7"}))
    assert seen.files == WORK and [path for path, _ in seen.ignored] == ["Minimax/._engine.cpp"]


def test_many_files_of_one_folder_are_listed_as_one_line(pack, read):
    seen = read(pack(".zip", {**WORK, **{f"data/games/{i}.npz": b"" for i in range(4)}, "logs/1.txt": b""}))
    unwanted = "not collected by the assignment"
    assert seen.ignored == (("data/ (4 files)", unwanted), ("logs/1.txt", unwanted))


def test_of_thousands_of_entries_a_report_lists_only_some(pack, read):
    others = {f"{i}/{kind}": b"" for i in range(600) for kind in ("a.bin", "note.md")}
    seen = read(pack(".zip", {**WORK, **others}))
    assert seen.files == WORK and len(seen.ignored) == len(seen.reports) == submission.MAX_LISTED
    # 600 files that are not collected, and 400 reports that are not kept
    assert seen.ignored[-1] == ("and 501 more", "too many for a person to read")
    assert len(seen.report_files) == submission.MAX_REPORTS and seen.report_files.keys() <= set(seen.reports)


def test_of_two_copies_the_fuller_one_counts_and_the_other_is_named(pack, read):
    old = {"old/Minimax/engine.cpp": WORK[ENGINE], "old/AlphaZero/mcts_pure.py": WORK["AlphaZero/mcts_pure.py"]}
    seen = read(pack(".zip", {**old, **{f"new/{path}": content for path, content in WORK.items()}, "report.pdf": b""}))
    assert seen.files == WORK and seen.reports == ("report.pdf",)
    assert seen.notes[1] == "Files of the assignment were also found in old, which were not used."


@pytest.mark.parametrize("kind", ["folder", *ARCHIVES])
def test_two_candidates_for_one_file_are_refused_by_both_names(pack, refusal, kind):
    old = {"old/Minimax/engine.cpp": b"int old;\n"}
    sentence = refusal(pack(kind, {**old, **{f"new/{path}": content for path, content in WORK.items()}}))
    assert "Minimax/engine.cpp was found twice with different contents, as new/Minimax/engine.cpp and old/Minimax" in sentence


def test_two_folders_that_both_hold_an_engine_are_refused_by_both_names(pack, refusal):
    work = {"first/Minimax/one.cpp": b"1", "second/minimax/two.cpp": b"2"}
    assert "Minimax was found twice, as first/Minimax/ and second/minimax/" in refusal(pack(".zip", work))


def test_two_files_that_name_the_engine_are_refused_by_both_names(pack, refusal):
    work = {f"work/{path}": content for path, content in WORK.items()}
    sentence = refusal(pack(".zip", {**work, "submission.toml": b"engine.sources = []"}))
    assert "as work/submission.toml and submission.toml" in sentence


# --------------------------------------------------------------------------------------- where the parts lie


def test_folders_with_other_capitals_are_understood_and_noted(pack, read):
    work = {path.replace("Minimax", "minimax").replace("AlphaZero", "ALPHAZERO"): content for path, content in WORK.items()}
    seen = read(pack(".zip", work))
    assert seen.files == WORK
    assert seen.notes == ("The folder ALPHAZERO/ was read as AlphaZero/.", "The folder minimax/ was read as Minimax/.")


def test_parts_side_by_side_are_put_together_and_noted(pack, read):
    work = {f"{'part2' if path.startswith('Alpha') else 'part1'}/{path}": content for path, content in WORK.items()}
    seen = read(pack(".zip", {**work, "part2/report.pdf": b"%PDF"}))
    assert seen.files == WORK and seen.report_files == {"report.pdf": b"%PDF"}
    assert seen.notes == (
        "The folder part2/AlphaZero/ was read as AlphaZero/.",
        "The folder part1/Minimax/ was read as Minimax/.",
    )


def test_a_folder_inside_a_folder_of_its_own_name_is_found(pack, read):
    seen = read(pack(".zip", {"AlphaZero/AlphaZero/mcts_pure.py": b"pass\n", "Minimax/Minimax/engine.cpp": b"int engine;\n"}))
    assert "AlphaZero/mcts_pure.py" in seen.files and any(path.endswith("engine.cpp") for path in seen.files)
    assert not any("not used" in note for note in seen.notes)


@pytest.mark.parametrize("inner", [".zip", ".tar.gz"])
@pytest.mark.parametrize("outer", ["folder", ".zip", ".tar"])
def test_an_archive_that_is_all_that_an_archive_holds_is_opened_once(pack, read, outer, inner):
    packed = pack(inner, {f"gomoku/{path}": content for path, content in WORK.items()}, "inner").read_bytes()
    seen = read(pack(outer, {f"Li_123_file_/work{inner}": packed, "Li_123_file_/report.pdf": b"%PDF", "__MACOSX/x": b""}))
    assert seen.files == WORK and seen.report_files == {"report.pdf": b"%PDF"}
    assert seen.notes[0] == f"All files were found in Li_123_file_/work{inner}, an archive inside the archive."
    once = pack(".zip", {f"inner{inner}": packed}, "once").read_bytes()
    twice = pack(outer, {"once.zip": once}, "twice")
    assert read(twice).files == {}


def test_of_two_archives_inside_or_one_beside_code_none_is_opened(pack, read):
    packed = pack(".zip", WORK, "inner").read_bytes()
    assert read(pack(".zip", {"a.zip": packed, "b.zip": packed}, "two")).files == {}
    assert read(pack(".zip", {"old.zip": packed, ENGINE: WORK[ENGINE]}, "beside")).files == {ENGINE: WORK[ENGINE]}


@pytest.mark.parametrize(
    ("members", "parts", "seen"),
    [
        ({}, {"AlphaZero", "Minimax"}, "the submission is empty"),
        ({"engine.cpp": b"", "mcts_pure.py": b""}, {"AlphaZero", "Minimax"}, "the submission holds engine.cpp, mcts_pure.py"),
        ({ENGINE: b"", "net.py": b""}, {"AlphaZero"}, "the submission holds net.py, Minimax/engine.cpp"),
        ({"AlphaZero/mcts_pure.py": b"", "Minimax": b""}, {"Minimax"}, "the submission holds Minimax, AlphaZero/mcts_pure.py"),
        (
            {ENGINE: b"", "AlphaZero/tree.py": b""},
            {"AlphaZero"},
            "the submission holds AlphaZero/tree.py, Minimax/engine.cpp",
        ),
        ({f"d/{i}.txt": b"" for i in range(9)}, {"AlphaZero", "Minimax"}, "the submission holds d/ (9 files)"),
    ],
)
def test_a_part_that_is_missing_is_told_with_what_was_seen(pack, read, assignment, members, parts, seen):
    absent = absent_parts(read(pack(".zip", members)), assignment)
    assert absent.keys() == parts
    assert all(
        sentence.startswith(f"No required file was found in {part}/: expected {part}/") for part, sentence in absent.items()
    )
    assert all(seen in sentence for sentence in absent.values())


def test_copies_below_do_not_count_in_the_folder_that_a_student_works_in(pack, assignment):
    folder = pack("folder", {**WORK, "backup/Minimax/engine.cpp": b"int old;\n"})
    assert read_submission(folder, assignment, at_the_top=True).files == WORK


# ------------------------------------------------------------------------------------------------ reports


def test_reports_are_read_wherever_they_lie_and_what_was_handed_out_is_none(pack, read):
    reports = {"Report.PDF": b"1", "docs/essay.docx": b"2", "report/figures/a.png": b"3", "notes.md": b"4"}
    seen = read(pack(".zip", {**{f"w/{p}": c for p, c in (WORK | reports).items()}, "w/docs/handout.md": b"", "w/a.txt": b""}))
    assert seen.report_files == reports and seen.reports == tuple(sorted(reports))


def test_a_report_may_be_larger_than_a_file_of_code(pack, read):
    large = bytes(submission.MAX_FILE_BYTES + 1)
    seen = read(pack(".zip", {**WORK, "report.pdf": large, "AlphaZero/data.py": large}))
    assert seen.report_files == {"report.pdf": large} and seen.files == WORK
    assert seen.ignored == (("AlphaZero/data.py", "larger than 2 MiB"),) and seen.notes == ()


def test_reports_beyond_the_caps_are_named_and_the_work_counts(pack, read, monkeypatch):
    monkeypatch.setattr(submission, "MAX_REPORT_BYTES", 100)
    seen = read(pack(".zip", {**WORK, "report.pdf": bytes(101), "report.md": b"short"}))
    assert seen.files == WORK and seen.report_files == {"report.md": b"short"}
    assert seen.notes == (
        "The report report.pdf is not kept: with it, the reports would be too large or too many for a person to read.",
    )


@pytest.mark.parametrize("kind", ["folder", *ARCHIVES])
def test_an_empty_submission_has_no_files_and_says_so(pack, read, kind):
    seen = read(pack(kind, {}))
    assert (seen.files, seen.ignored) == ({}, ()) and seen.notes == ("No folder named AlphaZero or Minimax was found.",)


@pytest.mark.parametrize(("file", "name"), [("a.tar.gz", "a"), ("B.ZIP", "B"), ("v1.2", "v1.2"), ("x.tar.zip", "x.tar")])
def test_results_are_filed_by_the_name_without_the_suffix(tmp_path, file, name):
    assert submission_name(tmp_path / file) == name


@pytest.mark.parametrize("top", ["", "gomoku/"])
def test_the_workspace_of_an_interrupted_grading_is_no_second_candidate(pack, read, top):
    own = {f"{top}{path}": content for path, content in WORK.items()}
    laid = {f"{top}results/ada/workspace/{path}": content + b"// before\n" for path, content in WORK.items()}
    laid |= {f"{top}results/ada/workspace/.workspace": b"[]", f"{top}results/ada/workspace/Board/rules.py": b""}
    seen = read(pack(".zip", own | laid))
    assert seen.files == WORK and f"also found in {top}results/ada/workspace, which were not used" in " ".join(seen.notes)
    # Where it is the only one, it counts.
    assert read(pack("folder", laid)).files[ENGINE] == WORK[ENGINE] + b"// before\n"


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_the_untouched_kit_is_no_second_candidate(pack, read, refusal, assignment, ends):
    kit = {f"gomoku/{stub}": (ROOT / stub).read_bytes().replace(b"\n", ends) for stub in assignment.stubs}
    own = {f"mine/{path}": content for path, content in WORK.items()}
    seen = read(pack(".zip", {**kit, **own}))
    assert seen.files == WORK and "also found in gomoku, which were not used" in " ".join(seen.notes)
    begun = {**kit, "gomoku/AlphaZero/mcts_pure.py": b"begun = True\n"}
    assert "AlphaZero/mcts_pure.py was found twice with different contents" in refusal(pack(".zip", {**begun, **own}, "two"))
    assert set(read(pack(".zip", kit, "alone")).files) == set(assignment.stubs)


def test_in_the_folder_that_a_student_works_in_reports_lie_at_the_top(pack, assignment):
    folder = pack("folder", {**WORK, "report.md": b"mine", "results/me/reports/report.md": b"kept", "report/a.png": b""})
    assert read_submission(folder, assignment, at_the_top=True).reports == ("report.md", "report/a.png")


def test_of_many_reports_that_are_not_kept_a_few_are_named(pack, read, monkeypatch):
    monkeypatch.setattr(submission, "MAX_REPORTS", 2)
    seen = read(pack(".zip", {**WORK, **{f"report/{i:02}.md": b"" for i in range(30)}}))
    assert len(seen.report_files) == 2 and len(seen.notes) == 7 and seen.notes[-1] == "22 more reports are not kept."


# ------------------------------------------------------------------------------------------------ odd names

UNSAFE = {
    "parent": "../evil.cpp",
    "parent inside": "Minimax/../../evil.cpp",
    "absolute": "/Minimax/evil.cpp",
    "drive": "C:/Minimax/evil.cpp",
    "parent with backslashes": "..\\Minimax\\evil.cpp",
    "line break": "Minimax/a\nb.cpp",
}


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("unsafe", UNSAFE)
def test_a_name_that_leads_out_of_the_archive_is_listed_and_its_file_lands_nowhere(
    pack, read, tmp_path, assignment, kind, unsafe
):
    name = UNSAFE[unsafe]
    seen = read(pack(kind, {**WORK, name: b"int evil;"}))
    reason = "a name that leads out of the archive's folder or is not a plain path"
    assert seen.files == WORK and seen.ignored == ((repr(name), reason),)
    place = build_workspace(assignment, seen, tmp_path / "in" / "workspace")
    assert not list(tmp_path.rglob("*evil.cpp")) and place == tmp_path / "in" / "workspace"


def test_many_names_that_lead_out_are_one_line(pack, read):
    ignored = read(pack(".tar", {f"../old/{path}": content for path, content in WORK.items()})).ignored
    assert [path for path, _ in ignored] == ["'../...' (4 files)"]


def test_windows_separators_are_read_as_folders(pack, read):
    members = {"work\\": b"", "work\\Minimax\\": b"", **{f"work\\{p}".replace("/", "\\"): c for p, c in WORK.items()}}
    assert read(pack(".zip", members)).files == WORK


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_second_member_of_the_same_name_is_listed_or_refused(pack, read, refusal, kind):
    seen = read(pack(kind, [*WORK.items(), (f"./{ENGINE}", WORK[ENGINE])]))
    assert seen.files == WORK and seen.ignored == ((ENGINE, "a second member of the same name"),)
    other = pack(kind, [*WORK.items(), (f"./{ENGINE}", b"int second;"), ("x.txt", b"1"), ("x.txt", b"2")])
    assert f"the archive holds {ENGINE} twice with different contents" in refusal(other)


@pytest.mark.parametrize("kind", ["folder", *ARCHIVES])
def test_names_that_differ_in_case_alone_are_one_file_or_refused(pack, read, refusal, kind):
    seen = read(pack(kind, {**WORK, "Minimax/Engine.cpp": WORK[ENGINE]}, "same"))
    assert seen.ignored == ((ENGINE, "the same name as Minimax/Engine.cpp if case is ignored"),)
    assert len(seen.files) == len(WORK)
    sentence = refusal(pack(kind, {**WORK, "Minimax/Engine.cpp": b"int upper;"}, "other"))
    assert f"Minimax/Engine.cpp and {ENGINE} are the same file if case is ignored" in sentence
    assert len(read(pack(kind, {**WORK, "Minimax/Maß.h": b"1", "Minimax/Mass.h": b"2"}, "letters")).files) == len(WORK) + 2


@pytest.mark.parametrize("kind", ARCHIVES)
def test_what_lies_below_the_name_of_a_file_is_listed(pack, read, kind):
    seen = read(pack(kind, {**WORK, f"{ENGINE}/inner.cpp": b""}))
    assert seen.files == WORK and seen.ignored == ((f"{ENGINE}/inner.cpp", "its folder is also the name of a file"),)


def gbk_tar(path, members):
    with tarfile.open(path, "w", encoding="gbk", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", ["folder", ".zip", ".tar"])
def test_chinese_names_in_unicode_count(pack, read, kind):
    work = {f"五子棋 作业/{path}": content for path, content in {**WORK, "Minimax/引擎.cpp": b"int cn;"}.items()}
    seen = read(pack(kind, work, "李雷"))
    assert seen.files == {**WORK, "Minimax/引擎.cpp": b"int cn;"} and seen.name == "李雷"


def test_a_zip_root_named_in_gbk_does_not_lose_the_work(pack, read):
    path = pack(".zip", {f"root/{path}": content for path, content in WORK.items()})
    path.write_bytes(path.read_bytes().replace(b"root/", "作业/".encode("gbk")))
    assert read(path).files == WORK


def test_a_tar_root_named_in_gbk_does_not_lose_the_work(tmp_path, read):
    assert read(gbk_tar(tmp_path / "work.tar", {f"作业/{path}": content for path, content in WORK.items()})).files == WORK


@pytest.mark.parametrize(
    "name", ["引擎.cpp".encode("gbk"), "说明.txt".encode("gbk"), b"a\nb.cpp"], ids=["gbk", "gbk text", "break"]
)
def test_a_folder_with_names_that_no_report_can_hold_is_read_and_laid_out(pack, read, tmp_path, assignment, name):
    folder = pack("folder", WORK)
    with open(os.fsencode(folder / "Minimax") + b"/" + name, "wb"):
        pass
    seen = read(folder)
    # What grading does with it: the digest, results.json in UTF-8, the workspace and the list of its files.
    json.dumps([seen.digest, list(seen.files), seen.ignored], ensure_ascii=False).encode("utf-8")
    place = build_workspace(assignment, seen, tmp_path / "workspace")
    assert all((place / path).is_file() for path in json.loads((place / ".workspace").read_text(encoding="utf-8")))


def test_a_submission_whose_own_name_is_in_gbk_is_filed_by_a_name_that_a_report_can_hold(pack, read):
    folder = pack("folder", WORK)
    named = folder.rename(os.fsdecode(os.fsencode(folder) + "作业".encode("gbk")))
    assert read(named).files == WORK
    assert read(named).name == submission_name(named) and read(named).name.encode("utf-8").startswith(b"work")


@pytest.mark.parametrize("kind", ["folder", *ARCHIVES])
def test_wide_spaces_and_joined_signs_are_no_control_characters(pack, read, kind):
    assert read(pack(kind, {f"李雷\u3000作业 \u200d/{path}": content for path, content in WORK.items()})).files == WORK


def test_a_folder_whose_name_holds_a_line_break_deletes_nothing_when_a_workspace_is_laid_out_again(
    pack, read, tmp_path, assignment
):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    seen = read(pack("folder", {**WORK, f"Minimax/a\n{victim}\n/x.cpp": b""}))
    for _ in range(2):
        build_workspace(assignment, seen, tmp_path / "workspace")
    assert victim.exists()


def relisted(place, path):
    """The list of a workspace's files with one more path."""
    marker = place / ".workspace"
    marker.write_text(json.dumps([*json.loads(marker.read_text()), str(path)]))


def test_a_workspace_is_laid_out_again_without_the_files_that_are_gone(pack, read, tmp_path, assignment):
    place = build_workspace(assignment, read(pack(".zip", {**WORK, "Minimax/old.h": b""}, "first")), tmp_path / "workspace")
    (place / "log.txt").write_text("made here")
    build_workspace(assignment, read(pack(".zip", WORK, "second")), place)
    assert (
        not (place / "Minimax/old.h").exists()
        and (place / "log.txt").exists()
        and (place / ENGINE).read_bytes() == WORK[ENGINE]
    )


@pytest.mark.parametrize("way", ["absolute", "parent", "link"])
def test_a_workspace_removes_nothing_outside_whatever_its_list_says(pack, read, tmp_path, assignment, way):
    seen = read(pack(".zip", WORK))
    place = build_workspace(assignment, seen, tmp_path / "workspace")
    victim = tmp_path / "away" / "victim"
    victim.parent.mkdir()
    victim.write_text("precious")
    (place / "link").symlink_to(victim.parent, target_is_directory=True)
    relisted(place, {"absolute": victim, "parent": "../away/victim", "link": "link/victim"}[way])
    with pytest.raises(UsageError, match="leads out of it"):
        build_workspace(assignment, seen, place)
    assert victim.read_text() == "precious"


def test_a_workspace_replaces_a_link_and_does_not_write_through_it(pack, read, tmp_path, assignment):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = build_workspace(assignment, read(pack(".zip", {}, "empty")), tmp_path / "workspace")
    (place / ENGINE).symlink_to(victim)
    build_workspace(assignment, read(pack(".zip", WORK)), place)
    assert victim.read_text() == "precious" and (place / ENGINE).read_bytes() == WORK[ENGINE]


@pytest.mark.parametrize("listed", ["Minimax/engine.cpp\n", "3", '{"a": 1}', "[1]"])
def test_a_workspace_with_a_damaged_list_is_refused(pack, read, tmp_path, assignment, listed):
    place = build_workspace(assignment, read(pack(".zip", WORK)), tmp_path / "workspace")
    (place / ".workspace").write_text(listed)
    with pytest.raises(UsageError, match="it is damaged: remove the folder by hand"):
        build_workspace(assignment, read(tmp_path / "work.zip"), place)


@pytest.mark.parametrize("name", [f"Minimax/{'a' * 300}.cpp", "Minimax/" + "c/" * 2100 + "x.cpp", "AlphaZero/" * 800 + "x.py"])
def test_a_name_too_long_for_a_file_system_is_listed(pack, read, tmp_path, assignment, name):
    seen = read(pack(".zip", {**WORK, name: b""}))
    build_workspace(assignment, seen, tmp_path / "workspace")
    assert seen.files == WORK and len(seen.ignored) == 1


def test_a_folder_in_the_place_of_a_file_of_the_framework_is_listed(pack, read, tmp_path, assignment):
    seen = read(pack(".zip", {**WORK, "Minimax/judge.py/x.cpp": b""}))
    build_workspace(assignment, seen, tmp_path / "workspace")
    assert seen.files == WORK and len(seen.ignored) == 1
