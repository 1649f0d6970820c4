"""SVG of a report is shown if it only draws; links to pictures are read as Markdown and HTML write them."""

import pytest

from common.errors import UsageError
from grader.pipeline.shown_pictures import linked_pictures, picture_url, pictures_elsewhere, plain_svg, why_not_shown
from Minimax.ladder import Result, picture
from training.loop.curves import picture_of

XMLNS = "http://www.w3.org/2000/svg"


def svg(inside, more=""):
    return f'<svg xmlns="{XMLNS}" viewBox="0 0 9 9" {more}>{inside}</svg>'.encode()


@pytest.mark.parametrize(
    "drawn",
    [
        picture_of([("50", "2.5", "2.0", "25", "", "", ""), ("150", "2.2", "1.5", "25", "0.8", "3", "100")], "A <b> & 'c'"),
        picture("mine", [Result("sample", 9, 0, 7, 0.56, 0.33, 0.77)]),
    ],
)
def test_what_the_framework_draws_is_shown_whole_and_a_second_pass_changes_nothing(drawn):
    once = plain_svg(drawn.encode())
    assert plain_svg(once.encode()) == once and why_not_shown(drawn.encode()) == ""
    assert once.count("<") >= drawn.count("<") and "role=" not in once
    assert picture_url(drawn.encode()).startswith("data:image/svg+xml;base64,")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (svg("<script>alert(1)</script>"), "contains <script>"),
        (svg("<foreignObject/>"), "contains <foreignObject>"),
        (svg("<style>*{fill:red}</style>"), "contains <style>"),
        (svg('<a href="https://example.org"><text>x</text></a>'), "contains <a>"),
        (svg('<image href="http://localhost:8888/"/>'), "contains <image>"),
        (svg("<svg/>"), "contains <svg>"),
        (svg('<b:script xmlns:b="http://www.w3.org/1999/xhtml">alert(1)</b:script>'), "contains <script>"),
        (svg('<rect onclick="alert(1)"/>'), "uses onclick="),
        (svg("", 'onload="alert(1)"'), "uses onload="),
        (svg('<g xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="#x"/>'), "uses href="),
        (svg('<rect style="fill:url(http://localhost)"/>'), "uses style="),
        (svg('<rect fill="URL(#x)"/>'), "uses fill="),
        (svg('<rect fill="u\\72l(x)"/>'), "uses fill="),
        (b'<!DOCTYPE svg [<!ENTITY a "aaaa">]>' + svg("&a;"), "contains <!DOCTYPE>"),
        (svg("<g>" * 60 + "</g>" * 60), "nested more than 50 deep"),
        (svg("<g>"), "is not SVG"),
        (svg(" " * (3 << 20)), "is larger than 2 MiB"),
        (b"<html>", "is not a PNG, JPEG, GIF, WebP or SVG file"),
        (b"", "is not a PNG, JPEG, GIF, WebP or SVG file"),
    ],
)
def test_what_could_act_load_or_look_otherwise_is_refused_with_its_reason(content, reason):
    assert picture_url(content) is None and reason in why_not_shown(content)
    with pytest.raises(UsageError):
        plain_svg(content)


def test_declarations_comments_and_ids_are_left_out():
    content = b'<?xml version="1.0" encoding="utf-16"?><?xml-stylesheet href="x"?><!-- <script> -->' + svg(
        '<g id="a" class="b"/>'
    )
    assert plain_svg(content) == f'<svg xmlns="{XMLNS}" viewBox="0 0 9 9"><g></g></svg>'


def test_links_to_pictures_are_relative_to_the_report():
    text = '![a](x.png "t") ![](<a b.png>) ![c](../tmp/y%20z.svg) <img alt="d" src="d.gif"> ![e](https://e.org/e.png)'
    text += "![f](attachment:f)"
    assert linked_pictures(text, "report/r.md") == {
        "x.png": "report/x.png",
        "a b.png": "report/a b.png",
        "../tmp/y z.svg": "tmp/y z.svg",
        "d.gif": "report/d.gif",
    }
    assert pictures_elsewhere(text + "![g](//e.org/g.png) ![h](http://[x)") == [
        "https://e.org/e.png",
        "//e.org/g.png",
        "http://[x",
    ]
