"""The stubs are the reference without its solution regions, and a reference with wrong markers gives none."""

import ast
import subprocess
import sys

import pytest

from common.errors import UsageError
from grader.assignment import ROOT
from grader.instructor import stubs
from grader.instructor.stubs import make_stub

REFERENCE = '''"""What the module is for."""

import math  # provided


class Tree:
    """A tree."""

    def grow(self, n):
        """Grow by n."""
        before = self.size
        ### BEGIN SOLUTION 5.1
        self.size = before + n

        ### END SOLUTION
        return self.size

    def provided(self):
        return math.pi


def outer():
    def inner():
        ### BEGIN SOLUTION 5.1.2
        return 42
        ### END SOLUTION

    return inner
'''
STUB = '''"""What the module is for."""

import math  # provided


class Tree:
    """A tree."""

    def grow(self, n):
        """Grow by n."""
        before = self.size
        raise NotImplementedError("x.py: Tree.grow: see handout section 5.1")
        return self.size

    def provided(self):
        return math.pi


def outer():
    def inner():
        raise NotImplementedError("x.py: outer.inner: see handout section 5.1.2")

    return inner
'''


def test_a_stub_is_the_reference_with_each_region_replaced_by_one_line_that_names_it():
    assert make_stub(REFERENCE, "x.py") == STUB


def test_a_file_without_regions_is_handed_out_as_it_is():
    assert make_stub(STUB, "x.py") == STUB


def test_what_is_not_written_raises_its_name_and_handout_section():
    room = {}
    exec(compile(make_stub(REFERENCE, "x.py"), "x.py", "exec"), room)
    tree = room["Tree"]()
    tree.size = 1
    with pytest.raises(NotImplementedError, match=r"^x\.py: Tree\.grow: see handout section 5\.1$"):
        tree.grow(2)
    assert tree.provided() > 3


# ----------------------------------------------------------------------------------------------- wrong markers

BODY = "def f():\n    a = 1\n{}    return a\n"
BEGIN, END = "    ### BEGIN SOLUTION 5.1\n", "    ### END SOLUTION\n"
WRONG = {
    "never ends": (BODY.format(BEGIN), 3, "never ends"),
    "never began": (BODY.format(END), 3, "never began"),
    "nested": (BODY.format(BEGIN + BEGIN + END + END), 4, "inside the one of line 3"),
    "ends twice": (BODY.format(BEGIN + END + END), 5, "never began"),
    "no section": (BODY.format("    ### BEGIN SOLUTION\n" + END), 3, "expected ### BEGIN SOLUTION <section>"),
    "a section in words": (BODY.format("    ### BEGIN SOLUTION five\n" + END), 3, "'### BEGIN SOLUTION five'"),
    "small letters": (BODY.format("    ### begin solution 5.1\n" + END), 3, "'### begin solution 5.1'"),
    "a plural": (BODY.format(BEGIN + "    ### END SOLUTIONS\n"), 4, "'### END SOLUTIONS'"),
    "misspelt begin": (BODY.format("    ### BEGN SOLUTION 5.1\n" + END), 3, "'### BEGN SOLUTION 5.1'"),
    "misspelt end": (BODY.format(BEGIN + "    ### END SOLUTOIN\n"), 4, "'### END SOLUTOIN'"),
    "both misspelt": (BODY.format("    ### BEGN SOLUTION 5.1\n    ### EN SOLUTION\n"), 3, "'### BEGN SOLUTION 5.1'"),
    "two signs in place of three": (BODY.format("    ## BEGIN SOLUTION 5.1\n    ## END SOLUTION\n"), 3, "'## BEGIN"),
    "one sign in place of three": (BODY.format("    # BEGIN SOLUTION 5.1\n    # END SOLUTION\n"), 3, "'# BEGIN"),
    "written together": (BODY.format("    #BEGIN_SOLUTION 5.1\n    #END_SOLUTION\n"), 3, "'#BEGIN_SOLUTION 5.1'"),
    "four signs": (BODY.format("    #### BEGIN SOLUTION 5.1\n    #### END SOLUTION\n"), 3, "'#### BEGIN"),
    "words behind": (BODY.format("    ### BEGIN SOLUTION 5.1 (two lines)\n" + END), 3, "(two lines)"),
    "behind code": (BODY.format("    b = 2  ### BEGIN SOLUTION 5.1\n" + END), 3, "b = 2"),
    "uneven": (BODY.format(BEGIN + "        ### END SOLUTION\n"), 4, "indentation of line 3"),
    "outside a function": ("### BEGIN SOLUTION 5.1\na = 1\n### END SOLUTION\n", 1, "inside a function"),
    "in a class": (f"class A:\n{BEGIN}    a = 1\n{END}", 2, "inside a function"),
    "over two functions": (
        f"def f():\n    a = 1\n{BEGIN}    return a\n\n\ndef g():\n    b = 1\n{END}    return b\n",
        7,
        "outside its block",
    ),
    "over two methods": (
        f"class A:\n  def f(self):\n{BEGIN}    a = 1\n  def g(self):\n    b = 1\n{END}",
        5,
        "of line 3 continues",
    ),
    "over an else": (f"def f():\n  if a:\n{BEGIN}    b = 1\n  else:\n{END}    b = 2\n", 5, "of line 3 continues"),
    "no Python": ("def f(:\n", 1, "invalid syntax"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_marker_gives_no_stub_and_one_sentence_with_file_and_line(kind):
    source, line, words = WRONG[kind]
    with pytest.raises(UsageError) as caught:
        make_stub(source, "AlphaZero/x.py")
    sentence = str(caught.value)
    assert sentence.startswith(f"AlphaZero/x.py, line {line or ''}") and words in sentence and "\n" not in sentence


# ---------------------------------------------------------------------------------------- the stubs of this tree


@pytest.fixture(params=["mcts_pure", "mcts_alphaZero", "policy_value_net_torch"])
def pair(request):
    """A reference file and its stub, parsed."""
    name = f"AlphaZero/{request.param}.py"
    return [ast.parse(path.read_text(encoding="utf-8")) for path in (stubs.REFERENCE / name, ROOT / name)]


def functions(tree):
    return {node.name + str(i): node for i, node in enumerate(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))}


def test_the_stubs_on_disk_are_what_the_reference_gives():
    done = subprocess.run([sys.executable, "-m", "grader", "stubs", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_signatures_docstrings_and_provided_functions_survive(pair):
    whole, stub = map(functions, pair)
    assert list(whole) == list(stub)
    unwritten = 0
    for name, node in stub.items():
        assert ast.dump(node.args) == ast.dump(whole[name].args), name
        assert ast.get_docstring(node) == ast.get_docstring(whole[name]), name
        if "handout section" in ast.unparse(node):
            unwritten += 1
            assert ast.get_docstring(node) or name.startswith("__init__"), f"{name} is to be written without a specification"
        else:
            assert ast.dump(node) == ast.dump(whole[name]), name
    assert unwritten > 0


def test_no_line_of_a_solution_is_handed_out(assignment):
    for name in assignment.stubs:
        outside, regions, inside = [], 0, False
        for line in (stubs.REFERENCE / name).read_text(encoding="utf-8").splitlines():
            if "SOLUTION" in line:
                inside = "BEGIN" in line
                regions += inside
            elif not inside:
                outside.append(line)
        handed_out = (ROOT / name).read_text(encoding="utf-8").splitlines()
        reminders = [line for line in handed_out if "raise NotImplementedError" in line]
        assert [line for line in handed_out if line not in reminders] == outside and len(reminders) == regions, name


def test_the_stubs_import_and_keep_what_is_provided():
    probe = (
        "from AlphaZero import mcts_alphaZero, mcts_pure\n"
        "from Board.game_board import Board\n"
        "board = Board(width=3, height=3, n_in_row=3)\n"
        "board.init_board()\n"
        "assert len(list(mcts_pure.policy_value_fn(board)[0])) == 9\n"
        "assert mcts_pure.TreeNode(None, 1.0)._n_visits == 0\n"
        "mcts_pure.TreeNode(None, 1.0).expand([(0, 1.0)])\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last == "NotImplementedError: AlphaZero/mcts_pure.py: TreeNode.expand: see handout section 5.1"


def test_stale_stubs_are_named_by_the_check_and_written_anew_without_it(monkeypatch, tmp_path, capsys):
    texts = stubs.generate()
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "AlphaZero/mcts_pure.py").write_text("changed")
    (tmp_path / "AlphaZero/mcts_alphaZero.py").unlink()
    monkeypatch.setattr(stubs, "ROOT", tmp_path)
    assert stubs.main(check=True) == 1
    sentence = capsys.readouterr().err
    assert "AlphaZero/mcts_pure.py, AlphaZero/mcts_alphaZero.py" in sentence and "python -m grader stubs" in sentence
    assert stubs.main(check=False) == 0 and "2 of 4 stubs" in capsys.readouterr().out
    assert stubs.main(check=True) == 0


def test_a_missing_reference_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"expected the reference of AlphaZero/__init__\.py at .*; nothing is there"):
        stubs.generate(tmp_path)
