"""Which sources are a submission's engine, and the sentence for those that make none."""

import tomllib

import pytest

from grader.errors import CouldNotGrade, StudentFault
from grader.pipeline import engine_build, includes
from grader.pipeline.engine_build import engine_sources
from grader.pipeline.includes import compiled_text, without_comments
from grader.pipeline.submission import Submission

ENGINE = b'#include "AIController.h"\n'
OWN = {"Minimax/engine.cpp": ENGINE, "Minimax/parts/search.cc": b"", "Minimax/parts/search.h": b"", "AlphaZero/a.py": b""}


@pytest.fixture
def sources(assignment):
    """The engine's sources among the given files, with `listed` as submission.toml."""

    def find(files, listed=None):
        files = files if listed is None else {**files, "submission.toml": listed}
        return engine_sources(Submission("work", files, (), (), ()), assignment)

    return find


def sentence_of(reason, sources):
    """The one sentence in place of sources, for this reason."""

    def find(files, listed=None):
        with pytest.raises(reason) as caught:
            sources(files, listed)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return find


@pytest.fixture
def fault(sources):
    """The sentence that blames the student."""
    return sentence_of(StudentFault, sources)


@pytest.fixture
def doubt(sources):
    """The sentence that leaves the verdict to a person."""
    return sentence_of(CouldNotGrade, sources)


def test_every_collected_source_below_the_engine_folder_is_the_engine(sources):
    assert sources(OWN) == ["Minimax/engine.cpp", "Minimax/parts/search.cc"]


@pytest.mark.parametrize(
    "include",
    [
        b'#include "AIController.h"',
        b"  #  include <AIController.h> // protocol",
        b'#include "../AIController.h"\r\n',
        b'\xef\xbb\xbf#include "AIController.h"',
        b'// \xd2\xfd\xc7\xe6\n#include "AIController.h"',
        b'#inc\\\nlude "AIController.h"',
        b'%:include "AIController.h"',
    ],
    ids=["plain", "spaced", "from a subfolder", "after a byte order mark", "below a GBK comment", "on two lines", "digraph"],
)
def test_an_engine_is_known_by_its_include_however_that_is_written(sources, include):
    assert sources({"Minimax/engine.cpp": include}) == ["Minimax/engine.cpp"]


def test_an_engine_may_include_the_header_through_one_of_its_own(sources):
    files = {"Minimax/engine.cpp": b'#include "engine.h"\n', "Minimax/engine.h": ENGINE}
    assert sources(files) == ["Minimax/engine.cpp"]


def test_a_string_that_is_not_closed_is_passed_in_linear_time_and_ends_with_its_line(sources):
    line = b'"' + 500_000 * b'\\"'  # tried from each quote to the end, it would take days
    assert sources({"Minimax/engine.cpp": b"#if 0\n" + line + b"\n#endif\n" + ENGINE}) == ["Minimax/engine.cpp"]
    assert without_comments(b'"a // b\n// c\n"/*"d') == '"a // b\n \n"/*"d'


def test_headers_that_include_each_other_end(doubt):
    ring = {"Minimax/a.cpp": b'#include "b.h"', "Minimax/b.h": b'#include "c.h"', "Minimax/c.h": b'#include "b.h"'}
    assert doubt(ring).startswith("No source in Minimax/ includes")


def example_in(sentence):
    """The sources that the sentence's example names, read as TOML as it is typed."""
    return tomllib.loads(sentence[sentence.index("engine.sources") :])["engine"]["sources"]


def test_two_engines_side_by_side_are_for_a_person_and_both_named_with_what_to_write(sources):
    two = {**OWN, "Minimax/old/engine_v1.cpp": ENGINE}
    with pytest.raises(CouldNotGrade) as caught:
        sources(two)
    sentence = str(caught.value)
    assert sentence.startswith("There is more than one engine (Minimax/engine.cpp, Minimax/old/engine_v1.cpp): write a file")
    assert "\n" not in sentence
    assert sources(two, sentence[sentence.index("engine.sources") :].encode()) == example_in(sentence)
    assert sources(two, b'[engine]\nsources = ["Minimax/old/engine_v1.cpp"]') == ["Minimax/old/engine_v1.cpp"]


def test_the_example_names_all_sources_that_compile_together_for_one_of_the_engines(sources):
    files = {
        "Minimax/a/engine.cpp": ENGINE + b'#include "search.h"\nstd::string ai_name = "a";',
        "Minimax/a/search.cpp": b'#include "search.h"\n#include "../board.h"',
        "Minimax/a/search.h": b"",
        "Minimax/board.cpp": b'#include "board.h"',
        "Minimax/board.h": b"",
        "Minimax/b/engine.cpp": ENGINE + b'std::string ai_name = "b";',
        "Minimax/b/other.cpp": b'#include "other.h"',
        "Minimax/b/other.h": b"",
        "Minimax/a/test.cpp": b'#include "search.h"\nint main() { return 0; }',
    }
    with pytest.raises(CouldNotGrade) as caught:
        sources(files)
    assert example_in(str(caught.value)) == ["Minimax/a/engine.cpp", "Minimax/a/search.cpp", "Minimax/board.cpp"]


def test_an_example_that_is_too_long_for_the_message_names_the_engine_and_counts_the_rest(sources):
    parts = {f"Minimax/a_part_{number:02}_of_the_first_engine.cpp": b'#include "own.h"' for number in range(12)}
    first = ENGINE + b'#include "own.h"\nstd::string ai_name = "a";'
    files = {**parts, "Minimax/own.h": b"", "Minimax/engine.cpp": first}
    files["Minimax/old_engine.cpp"] = ENGINE + b'std::string ai_name = "b";'
    with pytest.raises(CouldNotGrade) as caught:
        sources(files)
    assert str(caught.value).endswith('engine.sources = ["Minimax/engine.cpp"]  # and its 12 other sources')
    assert example_in(str(caught.value)) == ["Minimax/engine.cpp"]


def test_an_example_with_odd_names_is_still_toml(sources):
    files = {'Minimax/a"\n.cpp': ENGINE, "Minimax/五子棋.cpp": ENGINE}
    with pytest.raises(CouldNotGrade) as caught:
        sources(files)
    assert example_in(str(caught.value)) == ['Minimax/a"\n.cpp']


@pytest.mark.parametrize("before", [b"", b"inline int nodes; ", b"namespace tools { int a; } "])
def test_sources_that_all_include_the_header_are_one_engine_if_one_of_them_names_it(sources, before):
    declared = before + b"extern std::string ai_name;"
    shared = {"Minimax/all.h": ENGINE + declared, "Minimax/search.cpp": b'#include "all.h"'}
    files = {**shared, "Minimax/engine.cpp": b'#include "all.h"\nstd::string ai_name = "mine";'}
    assert sources(files) == ["Minimax/search.cpp", "Minimax/engine.cpp"]


@pytest.mark.parametrize("text", ['"/*"', '"\\"/*"', '\'"\', "/*"'])
def test_no_comment_begins_in_a_string(sources, text):
    named = ENGINE + f"const char* help[] = {{{text}}};\n".encode() + b'std::string ai_name = "own";\n'
    files = {"Minimax/engine.cpp": named, "Minimax/search.cpp": ENGINE}
    assert sources(files) == list(files)


def test_a_source_that_another_one_includes_is_not_compiled_twice(sources):
    files = {"Minimax/engine.cpp": ENGINE + b'#include "search.cpp"', "Minimax/search.cpp": b'#include "AIController.h"'}
    assert sources(files) == ["Minimax/engine.cpp"]


def test_a_program_beside_the_engine_is_left_out(sources):
    program = b'#include "search.h"\n// int main() is below\nint main(int argc, char **argv) { return argc; }'
    assert sources({**OWN, "Minimax/try_search.cpp": program}) == sources(OWN)
    assert sources({**OWN, "Minimax/notes.cpp": b"/* int main() {} */"}) == [*sources(OWN), "Minimax/notes.cpp"]


PROGRAM = b"int main() { return 0; }\n"
SEARCH = b'#include "search.h"\n'
WITHOUT_ITS_MAIN = b"#define main unused\n" + ENGINE + b"#undef main\n"


@pytest.mark.parametrize(
    "program",
    [
        b"int\nmain()\n{\n}",
        b"#define int long long\nint32_t main() {}",
        b"#include <iostream>\n#ifndef TRY_CPP\n#define TRY_CPP\n" + PROGRAM + b"#endif",
        b"#ifdef _WIN32\nint wmain() {}\n#else\n" + PROGRAM + b"#endif",
        b'#include "search.cpp"\n' + PROGRAM,
        b'#include "cases.h"\n' + PROGRAM,
        WITHOUT_ITS_MAIN + PROGRAM,
        WITHOUT_ITS_MAIN + b'#include "engine.cpp"\n' + PROGRAM,
    ],
    ids=[
        "main on two lines",
        "main by another name of int",
        "in an include guard",
        "for two systems",
        "with a source of the engine",
        "with a source through a header",
        "without the main of AIController.h",
        "with the whole engine",
    ],
)
def test_a_program_is_left_out_and_the_sources_that_it_includes_are_kept(sources, program):
    files = {
        "Minimax/cases.h": b'#include "search.cpp"',
        "Minimax/engine.cpp": ENGINE + SEARCH + b"std::string ai_name;",
        "Minimax/search.cpp": SEARCH,
        "Minimax/search.h": b"",
        "Minimax/try.cpp": program,
    }
    assert sources(files) == ["Minimax/engine.cpp", "Minimax/search.cpp"]


@pytest.mark.parametrize(
    "helper",
    [
        SEARCH + b"#ifdef TEST\n" + PROGRAM + b"#endif",
        SEARCH + b"#if defined(TEST) || defined(BENCH)\n" + PROGRAM + b"#endif",
        b"#ifndef SEARCH_CPP\n#define SEARCH_CPP\n#define TEST 0\n#if TEST\n" + PROGRAM + b"#endif\n#endif",
        b"#if 0\n" + PROGRAM + b"#endif",
        SEARCH + b"#define TEST false\n#if TEST\n" + PROGRAM + b"#endif",
        SEARCH + b"#define OFF (0)\n#define TEST OFF\n#define SELF SELF\n#if TEST || SELF\n" + PROGRAM + b"#endif",
        SEARCH + b"#define DEBUG 1\n#if DEBUG > 1\n" + PROGRAM + b"#endif",
        SEARCH + b"#define LEVEL 3\n#if defined(LEVEL) && (LEVEL == 2)\n" + PROGRAM + b"#endif",
        SEARCH + b"#if LEVEL < 2\n" + PROGRAM + b"#endif",
        SEARCH + b"void greet(const std::string &ai_name);\nvoid part(std::string ai_name, int x);",
        ENGINE + b"struct Config {\n    std::string ai_name;\n    char open = '{', quote = '\"';\n};",
        ENGINE + b'void log_name(int n) {\n    if (n > 1) {\n        std::string ai_name = "}";\n    }\n}',
    ],
    ids=[
        "under a macro",
        "under one of two",
        "under a macro that is 0",
        "switched off",
        "under a macro that is false",
        "under macros that are 0 in the end",
        "under a number",
        "under another number",
        "under a number of a header",
        "with a parameter called ai_name",
        "with a member called ai_name",
        "with a local variable called ai_name",
    ],
)
def test_a_helper_with_a_main_that_is_not_compiled_or_a_word_of_an_engine_is_kept(sources, helper):
    files = {"Minimax/engine.cpp": ENGINE + b'std::string ai_name = "mine";', "Minimax/helper.cpp": helper}
    assert sources(files) == list(files)


def test_a_program_under_a_comparison_that_holds_is_left_out(sources):
    program = SEARCH + b"#define LEVEL 2\n#if LEVEL >= 2\n" + PROGRAM + b"#endif"
    assert sources({**OWN, "Minimax/try_search.cpp": program}) == sources(OWN)


def test_a_source_whose_include_is_switched_off_is_compiled(sources):
    engine = ENGINE + b'#if 0\n#include "search.cpp"\n#else\n#include "parts.cpp"\n#endif'
    files = {"Minimax/engine.cpp": engine, "Minimax/parts.cpp": b"", "Minimax/search.cpp": b""}
    assert sources(files) == ["Minimax/engine.cpp", "Minimax/search.cpp"]


def test_an_engine_in_a_guard_or_with_a_main_of_its_own_is_found(sources):
    guarded = b"#ifndef ENGINE_CPP\n#define ENGINE_CPP\n" + ENGINE + b"#endif"
    assert sources({"Minimax/engine.cpp": guarded}) == ["Minimax/engine.cpp"]
    files = {"Minimax/engine.cpp": WITHOUT_ITS_MAIN + b'#include "search.cpp"\n' + PROGRAM, "Minimax/search.cpp": b""}
    assert sources(files) == ["Minimax/engine.cpp"]


def test_many_open_conditions_are_read_in_no_time(sources):
    assert sources({**OWN, "Minimax/odd.cpp": b"#if 1\n" * 300_000})[-1] == "Minimax/odd.cpp"


def test_a_text_that_looks_like_comments_without_end_is_read_in_no_time(sources):
    assert sources({**OWN, "Minimax/odd.cpp": b"/*" * 500_000})[-1] == "Minimax/odd.cpp"


def test_a_submission_without_a_source_of_its_own_has_no_engine(fault):
    assert fault({"AlphaZero/a.py": b"", "Minimax/engine.h": ENGINE}).startswith(
        "There is no engine: expected your own .cpp file"
    )


def test_a_source_in_utf_16_is_named_with_what_to_do(fault):
    assert "cannot read Minimax/own.cpp: null bytes" in fault({"Minimax/own.cpp": ENGINE.decode().encode("utf-16")})


@pytest.mark.parametrize(
    "files",
    [{"Minimax/helper.cpp": b""}, {"Minimax/helper.cpp": b"", "Minimax/own.cpp": PROGRAM}],
    ids=["a helper of an engine in a handed-out file", "an engine with a main of its own"],
)
def test_sources_without_the_header_are_for_a_person_with_what_to_write(sources, doubt, files):
    sentence = doubt(files)
    assert sentence.startswith("No source in Minimax/ includes AIController.h, so nothing says which one is the engine.")
    assert sources(files, sentence[sentence.index("engine.sources") :].encode()) == list(files)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "after a byte order mark"])
def test_the_list_says_which_sources_count_and_in_which_order(sources, mark):
    listed = mark + b'[engine]\r\nsources = ["Minimax/parts/search.cc", "Minimax/engine.cpp"]\r\n'
    assert sources(OWN, listed) == ["Minimax/parts/search.cc", "Minimax/engine.cpp"]


@pytest.mark.parametrize(
    "listed",
    [
        b"[engine\nsources = []",
        b"engine = 3",
        b'[engine]\nsource = ["Minimax/engine.cpp"]',
        b"[engine]\nsources = []",
        b'[engine]\nsources = "Minimax/engine.cpp"',
        b'[engine]\nsources = ["Minimax/engine.cpp", 3]',
        b'[engine]\nsources = ["\xd2\xfd.cpp"]',
        b"sources = " + b"[" * 100_000,
        b"[engine] sources = ['Minimax/engine.cpp']",
        b"\n".join(b"a.b%d = 1" % i for i in range(4000)),
    ],
    ids=[
        "TOML syntax",
        "engine a number",
        "misspelt",
        "no source",
        "a word",
        "a number among them",
        "not UTF-8",
        "nested without end",
        "table and list on one line",
        "very long",
    ],
)
def test_a_list_that_is_none_is_one_sentence_with_an_example(fault, listed):
    sentence = fault(OWN, listed)
    assert sentence.startswith("submission.toml cannot be read") and ": expected [engine] on one line" in sentence
    assert example_in(sentence) == ["Minimax/my_engine.cpp", "Minimax/search.cpp"]


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        (b'engine.sources = ["Minimax\\engine.cpp"]', r"(Unescaped '\' in a string (at line 1, column 29))"),
        ('engine.sources = ["Minimax/引擎.cpp"]'.encode("gbk"), "(it is not saved as UTF-8)"),
    ],
)
def test_the_cause_of_a_list_that_cannot_be_read_is_named(fault, listed, reason):
    assert f"submission.toml cannot be read {reason}: expected" in fault(OWN, listed)


@pytest.mark.parametrize("listed", [b"", b"[engine]\r\n# sources = []\r\n"])
def test_a_list_that_says_nothing_is_as_good_as_none(sources, listed):
    assert sources(OWN, listed) == sources(OWN)


@pytest.mark.parametrize(
    "name", ["minimax/engine.cpp", "./Minimax/engine.cpp", r"Minimax\\engine.cpp", r".\\MINIMAX\\engine.cpp"]
)
def test_a_listed_source_is_found_however_its_folder_is_written(sources, name):
    assert sources(OWN, f'[engine]\nsources = ["{name}", "minimax/parts/search.cc"]'.encode()) == [
        "Minimax/engine.cpp",
        "Minimax/parts/search.cc",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "Minimax/gone.cpp",
        "minimax/Engine.cpp",
        "./../Minimax/engine.cpp",
        "/etc/passwd",
        "../other/engine.cpp",
        "Minimax/../Minimax/engine.cpp",
        "Minimax/baseline.cpp",
        "Minimax/parts/missing.h",
        "-o",
    ],
)
def test_a_listed_source_that_the_submission_lacks_is_named(fault, name):
    sentence = fault(OWN, f'[engine]\nsources = ["Minimax/engine.cpp", "{name}"]'.encode())
    assert sentence == f"submission.toml names {name}, but the submission has no such file that is collected."


@pytest.mark.parametrize("name", ["Minimax/search.h", "AlphaZero/mcts_pure.py"])
def test_a_listed_file_that_is_not_compiled_is_named_as_such(fault, name):
    files = {**OWN, name: b"", "Minimax/engine.cpp": ENGINE}
    sentence = fault(files, f'[engine]\nsources = ["Minimax/engine.cpp", "{name}"]'.encode())
    assert sentence.startswith(f"submission.toml names {name}, but may list only the files that are compiled (.cpp, .cc")


def test_a_listed_name_with_a_line_break_stays_one_sentence(fault):
    assert "submission.toml names" in fault(OWN, b'[engine]\nsources = ["a\\nb.cpp"]')


def test_sources_that_share_headers_in_a_long_chain_are_each_looked_at_a_few_times(doubt, monkeypatch):
    looked_at, reached = [], engine_build._reached
    monkeypatch.setattr(engine_build, "_reached", lambda *given: looked_at.extend(found := reached(*given)) or found)
    files = {f"Minimax/{i}.cpp": f'#include "{i}.h"\n#include "{i + 1}.h"'.encode() for i in range(100)}
    files |= {f"Minimax/{i}.h": b"" for i in range(101)} | dict.fromkeys(
        ("Minimax/a.cpp", "Minimax/b.cpp"), ENGINE + files["Minimax/0.cpp"]
    )
    assert '"Minimax/99.cpp"' not in (sentence := doubt(files)) and "its 100 other sources" in sentence
    assert len(looked_at) < 10 * len(files)


def test_each_condition_reads_only_the_beginning_of_a_long_macro(monkeypatch):
    lengths, resolved = [], includes._resolved
    monkeypatch.setattr(includes, "_resolved", lambda *given: lengths.append(len(found := resolved(*given))) or found)
    text = f"#define LONG {'a' * 5000}\n#if LONG\nint x;\n#endif\n"
    assert compiled_text(text).strip() == "" and lengths and max(lengths) < 1000
