"""`python -m grader collect` on the downloads of a group assignment of Moodle, which puts the group before each name."""

from class_downloads import packed, tree

ROSTER = """id,first_name,last_name,email,moodle_id
s1,Anne-Marie,Smith,,
s2,Marie,Smith,,
s3,小明,李,,
s4,Bob,Babbage,bob@example.org,
s5,Eve,Stone,,705
"""


def test_each_member_of_a_group_gets_its_files(collect, download, tmp_path):
    (roster := tmp_path / "groups.csv").write_text(ROSTER, encoding="utf-8")
    names = {
        "Team-A-Anne-Marie Smith_701": "a",
        "Team-A-Marie Smith_702": "a",
        "Default group-李小明_703": "m",
        "Team B-bob@example.org_704": "b",
        "Team B-Eve S._705": "b",
        "Team B-Carl Late_706": "b",
    }
    members = {f"{name}_assignsubmission_file_/gomoku.zip": packed(text) for name, text in names.items()}
    assert collect(path := download(members), roster=roster) == 1
    kept = tree(collect.out)
    assert [kept[f"submissions/s{number}.zip"] for number in range(1, 6)] == [packed(text) for text in "aambb"]
    assert collect.rows()["moodle-706"]["outcome"] == "unknown"
    roster.write_text(f"{ROSTER}s6,Carl,Late,,\n", encoding="utf-8")
    assert collect(roster=roster) == 0 and collect(path, roster=roster) == 0
    assert collect.rows()["s6"]["attempts"] == "1"


def test_a_hyphen_in_the_name_of_a_single_person_is_no_group(collect, download, tmp_path):
    (roster := tmp_path / "groups.csv").write_text(ROSTER.replace("s1,Anne-Marie,Smith,,\n", ""), encoding="utf-8")
    names = ("Anne-Marie Smith_701", "Eve Stone_705")
    members = {f"{name}_assignsubmission_file_/gomoku.zip": packed(name) for name in names}
    assert collect(download(members), roster=roster) == 1
    assert collect.rows()["s2"]["outcome"] == "missing" and collect.rows()["moodle-701"]["outcome"] == "unknown"
