"""A marker opens a hostile report in formgrader, in a real browser, and clicks: what happens to the scores.

Each layer is tried alone, and the attack without either, which shows that it is one. Needs nbgrader, Chromium and chromedriver.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import browser
import pytest
from course_tools import COURSE, enter, make_results, nbgrader
from hostile_cells import CELLS, to_cell

from grader.pipeline.results import FAILED

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nh3")

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(bool(browser.missing()), reason=browser.missing()),
    # Looked for and not imported: every process that collects the tests would wait for it.
    pytest.mark.skipif(find_spec("nbgrader") is None, reason="nbgrader is not installed"),
]

PROGRAM_POINTS = 32  # of 100 before the click
ACTING = (
    "script, iframe, frame, object, embed, form, input, button, style, link, meta, base, svg, math, "
    "[style]:not([style^=text-align]), [id], [class]"
)


@contextmanager
def jupyter(folder):
    """JupyterLab in the course's folder, as section 5 of docs/instructor.md starts it; its address."""
    port, home = browser.free_port(), folder.parent / "home"
    home.mkdir(exist_ok=True)
    variables = {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / ".jupyter"), "PYTHONPATH": str(ROOT)}
    variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    options = ["--no-browser", "--allow-root", f"--ServerApp.port={port}", "--IdentityProvider.token="]
    command = [sys.executable, "-m", "jupyterlab", *options]
    with open(folder.parent / "lab.log", "w") as log:
        server = subprocess.Popen(command, cwd=folder, env={**os.environ, **variables}, stdout=log, stderr=log)
        try:
            browser.wait_for(lambda: browser.listens(port), 120)
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            server.wait(60)


def submissions(address):
    """What formgrader lists, by student."""
    with urllib.request.urlopen(f"{address}/formgrader/api/submitted_notebooks/gomoku/report") as reply:
        return {entry["student"]: entry for entry in json.load(reply)}


@contextmanager
def served(folder):
    """JupyterLab in the course's folder and a browser: a function that opens a student's page.

    It returns the browser, and a function that gives the student's score as the gradebook has it.
    """
    with jupyter(folder) as address, browser.browser() as window:

        def open_page(student="mallory"):
            entry = submissions(address)[student]
            window.log()  # of the page before
            window.open(f"{address}/formgrader/submissions/{entry['id']}/")
            # The fields are filled once formgrader's own scripts have run and the server has answered.
            window.run("return new Promise(done => $(document).ajaxStop(done) && setTimeout(done, 3000))")
            return window, lambda: submissions(address)[student]["score"]

        yield open_page


def hostile_notebook(folder, names):
    """The released notebook with these cells at its beginning, one of them as an answer."""
    notebook = nbformat.read(folder / "release/gomoku/report.ipynb", 4)
    for cell in notebook.cells:
        if cell.metadata.nbgrader.grade_id == "report-engine":
            cell.source = "Alpha-beta. " + CELLS["inline link"]["source"]
    notebook.cells[:0] = [to_cell(CELLS[name]) for name in names]
    return notebook


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, assignment):
    """A course in which two reports of Mallory's were taken in as docs/instructor.md says; 32 program points each.

    One is for clicks, the other (marked) for scores. A third student has a name that is HTML.
    """
    course = shutil.copytree(
        COURSE, tmp_path_factory.mktemp("prepared") / "course", ignore=lambda *_: ["autograded", "release"]
    )
    nbgrader(course, "generate_assignment", "gomoku")
    for student in ("mallory", "marked"):
        submitted = course / f"submitted/{student}/gomoku/report.ipynb"
        submitted.parent.mkdir(parents=True)
        nbformat.write(hostile_notebook(course, CELLS), submitted)
    given, changes = 0, {}
    for check in assignment.checks:
        if given + check.points <= PROGRAM_POINTS:
            given += check.points
        else:
            changes[check.id] = {"status": FAILED, "points": 0.0, "message": "No."}
    assert given == PROGRAM_POINTS
    for student in ("mallory", "marked", "named"):
        place = course.parent / "results" / student
        place.mkdir(parents=True)
        (place / "run.json").write_text("{}")
        (place / "report.html").write_text("<p>report</p>")
        make_results(assignment, student, changes).sealed(place).write(place)
    assert enter(course, course.parent / "results") == 0
    nbgrader(course, "autograde", "gomoku", "--force")
    assert enter(course, course.parent / "results") == 0
    # The roster refuses such a name; nbgrader's own commands do not.
    nbgrader(course, "db", "student", "add", "named", "--first-name=<svg onload=alert(1)>", "--last-name=M")
    return course


@pytest.fixture(scope="module")
def open_page(prepared):
    """Opens a student's page of this course, as it is."""
    with served(prepared) as open_page:
        yield open_page


@pytest.fixture
def hostile_course(prepared, tmp_path):
    """A copy of the course, to be changed."""
    return shutil.copytree(prepared, tmp_path / "course")


def unprotect(folder, *, steps=False, policy=False):
    """Take layers away: the steps that make a notebook harmless, the policy of the page."""
    path = folder / "nbgrader_config.py"
    text = path.read_text()
    for line, taken in (("c.HTMLExporter.preprocessors", steps), ("c.HTMLExporter.template_file", policy)):
        assert text.count(line) == 1
        text = text.replace(line, f"# {line}") if taken else text
    path.write_text(text)


def put_raw(folder, names):
    """The notebook as the student wrote it, where formgrader reads it."""
    path = folder / "autograded/mallory/gomoku/report.ipynb"
    path.unlink()
    nbformat.write(hostile_notebook(folder, names), path)


def click_everything(window):
    """Click on whatever in the students' text can be clicked; how many there were."""
    things = window.find(
        ".rendered_html a, .rendered_html button, .rendered_html img, .rendered_html b, .rendered_html summary"
    )
    for thing in things:
        window.click(thing)
        window.keep_one_window()
    return len(things)


def settle(window):
    """Time for what a click began; what it asked of the server is answered before what is asked of it afterwards."""
    window.run("return new Promise(done => setTimeout(done, 2000))")
    window.run("return fetch(location.href).then(reply => reply.text()).then(() => true)")


def test_clicks_on_a_hostile_report_leave_every_score_and_nothing_in_it_can_act(prepared, open_page, tmp_path):
    window, score = open_page()
    window.picture(tmp_path / "page.png")
    assert window.run(f"return document.querySelectorAll('.rendered_html :is({ACTING})').length") == 0
    handlers = "[...document.querySelectorAll('.rendered_html *')].flatMap(e => e.getAttributeNames())"
    assert {name for name in window.run(f"return {handlers}") if name.startswith("on")} == set()
    targets = window.run("return [...document.querySelectorAll('.rendered_html a')].map(a => a.protocol)")
    assert sorted(set(targets)) == ["https:", "mailto:"]
    texts = window.run("return [...document.querySelectorAll('.rendered_html')].map(e => e.textContent)")
    assert len(texts) >= len(CELLS)
    for told, text in zip(CELLS.values(), texts, strict=False):
        assert "".join(text.split()) == "".join(told["becomes"].split()), told["name"]
    assert click_everything(window) >= 3
    settle(window)
    assert window.run("return document.body.dataset.attack || ''") == ""
    assert score() == PROGRAM_POINTS
    nbgrader(prepared, "generate_feedback", "gomoku", "--force")
    window.open((prepared / "feedback/mallory/gomoku/report.html").as_uri())
    assert window.run(f"return document.querySelectorAll('.rendered_html :is({ACTING})').length") == 0
    targets = window.run("return [...document.querySelectorAll('.rendered_html a')].map(a => a.protocol)")
    assert sorted(set(targets)) == ["https:", "mailto:"]


def test_the_policy_alone_keeps_a_notebook_that_was_never_cleaned_from_running_anything(hostile_course):
    raw = [name for name, told in CELLS.items() if not told.keys() & {"leaves_the_page", "breaks_the_page"}]
    unprotect(hostile_course, steps=True)
    put_raw(hostile_course, raw)
    with served(hostile_course) as open_page:
        window, score = open_page()
        scripted = window.find(".rendered_html a[href^='javascript']")
        assert len(scripted) > 5
        # What lies over the page would catch the clicks; on a busy machine parts of it come late.
        window.run("setInterval(() => document.querySelectorAll('[style*=fixed]').forEach(e => e.remove()), 100)")
        for link in scripted:
            window.click(link)
        settle(window)
        assert any("Running the JavaScript URL violates" in line for line in window.log())
        assert window.run("return document.body.dataset.attack || ''") == ""
        assert score() == PROGRAM_POINTS


@pytest.mark.thorough("the page with both layers shows that the steps leave nothing that can act")
def test_the_steps_alone_are_enough(hostile_course):
    unprotect(hostile_course, policy=True)
    put_raw(hostile_course, CELLS)
    with served(hostile_course) as open_page:
        window, score = open_page()
        click_everything(window)
        settle(window)
        assert score() == PROGRAM_POINTS


def test_without_either_one_click_sets_every_score(hostile_course):
    unprotect(hostile_course, steps=True, policy=True)
    put_raw(hostile_course, ["inline link"])
    with served(hostile_course) as open_page:
        window, score = open_page()
        assert score() == PROGRAM_POINTS
        window.click(window.find(".rendered_html a[href^='javascript']")[0])
        browser.wait_for(lambda: score() == 100)


def test_a_name_that_is_html_runs_nothing(open_page):
    window, _ = open_page("named")
    assert window.run("return document.querySelectorAll('svg[onload]').length") > 0
    assert any("Executing inline event handler violates" in line for line in window.log())


def test_a_marker_can_still_type_scores_and_see_the_name(open_page):
    window, score = open_page("marked")
    window.type(window.find("#report-environment")[0], "1.5\t")
    browser.wait_for(lambda: score() == PROGRAM_POINTS + 1.5)

    def full_credit_counts():
        """Click again, as a person does, where the page was still busy with what was typed before."""
        window.click(window.find(".full-credit")[1])
        time.sleep(1)
        return score() == PROGRAM_POINTS + 1.5 + 5

    browser.wait_for(full_credit_counts)
    window.click(window.find(".glyphicon-eye-open")[0])
    browser.wait_for(lambda: window.run("return $('.breadcrumb .name-shown:visible').text()").strip() == "marked")
    assert not [line for line in window.log() if "Content Security Policy" in line]
    window.view_as(390, 844)
    window.run("window.scrollTo(0, 2000)")
    assert window.run("return document.querySelector('.navbar').getBoundingClientRect().bottom") <= 0, "covers no text"
