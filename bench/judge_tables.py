"""The tables about the judge: how often right solutions lose points, how often load changes a verdict, what a class costs."""

from __future__ import annotations

from recording import Record
from table_text import markdown, percent, rounded

from grader.instructor.trust import load_samples

RULE_OF_THREE = 3.0  # no event in n trials: its rate is below 3/n with 95 % confidence


def right_variants(record: Record) -> str:
    """Return for each right variant how many verdicts with how many seeds took points from it, and the sum of all."""
    why = {sample.name: sample.why for sample in load_samples(("variants",))}
    samples: dict[str, Record] = {}
    for row in record["rows"]:
        counts = samples.setdefault(row["sample"], {"why": why[row["sample"]], "seeds": 0, "verdicts": 0, "unexpected": 0})
        for name in ("seeds", "verdicts", "unexpected"):
            counts[name] += row[name]
    rows = [[f"`{name}`", *samples[name].values()] for name in sorted(samples)]
    verdicts, wrong = (sum(counts[name] for counts in samples.values()) for name in ("verdicts", "unexpected"))
    bound = "" if wrong else f", fewer than 1 in {int(verdicts / RULE_OF_THREE)} (95 %)"
    rows.append(["together", "", "", verdicts, f"{wrong}{bound}"])
    return markdown(["right solution", "how it differs from the reference", "seeds", "verdicts", "took points"], rows, "llr")


def load(record: Record) -> str:
    """Return for each number of busy programs how many verdicts differ from those of an idle machine."""
    rows = []
    for busy in sorted({row["busy"] for row in record["rows"]}):
        mine = [row for row in record["rows"] if row["busy"] == busy]
        kinds = [sum(row["kind"] == kind for row in mine) for kind in ("submission", "engine")]
        rows.append([busy, *kinds, *(sum(row[name] for row in mine) for name in ("verdicts", "changed"))])
    head = ["programs on every core", "submissions", "faulty engines", "verdicts", "changed"]
    return markdown(head, rows, "rrrrr")


def class_costs(record: Record) -> str:
    """Return what grading classes of several sizes cost, against the time that was predicted."""
    rows = []
    for row in sorted(record["rows"], key=lambda row: (row["profile"], row["cores"], row["jobs"], row["submissions"])):
        size, wall_s = row["submissions"], row["wall_s"]
        each = [rounded(seconds / size) for seconds in (wall_s, row["cpu_s"])]
        share = percent(row["cpu_s"] / wall_s / row["cores"])
        memory = [f"{row[name]} MiB" for name in ("grader_mib", "all_mib")]
        planned_s = row["predicted_s"]
        prediction = ["", ""] if planned_s is None else [rounded(planned_s), f"{100 * (planned_s / wall_s - 1):+.0f} %"]
        measures = [prediction[0], rounded(wall_s), prediction[1], *each, share, *memory]
        rows.append([row["profile"], size, row["cores"], row["jobs"], *measures])
    seconds = ["predicted s", "measured s", "prediction off by", "each s", "each CPU s"]
    head = ["profile", "submissions", "cores", "at once", *seconds, "share of the cores", "grader", "all processes"]
    return markdown(head, rows, "l" + "r" * (len(head) - 1))
