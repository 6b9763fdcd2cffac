"""Pages made to hurt are read in bounded time and memory, and give honest text."""

import pytest
from bursar.content.page.extract import extract

TEXT = "The quick brown fox jumps over the lazy dog, again and again, until the evening. "
PARAGRAPHS = "".join(f"<p>{TEXT * 3}</p>" for _ in range(5))

HOSTILE = {
    "100,000 nested div": "<div>" * 100_000 + PARAGRAPHS,
    "100,000 nested b": "<b>" * 100_000 + PARAGRAPHS,
    "300,000 br": "x<br>" * 300_000 + PARAGRAPHS,
    "one tag with 200,000 attributes": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + f">{PARAGRAPHS}",
    "60,000 links": '<a href="x">y</a> ' * 60_000 + PARAGRAPHS,
    "20,000 nested tables": "<table><tr><td>" * 20_000 + PARAGRAPHS,
    "200,000 cells": "<table><tr>" + "<td>x" * 200_000 + "</table>" + PARAGRAPHS,
    "spans without end": "<table>" + "<tr><td colspan=9999 rowspan=9999>x" * 300 + "</table>" + PARAGRAPHS,
    "240 levels of quotes": "<blockquote>" * 240 + PARAGRAPHS,
    "200 levels of lists": "<ul><li>" * 100 + PARAGRAPHS,
    "5 MB of spaces": " " * 5_000_000 + PARAGRAPHS,
    "a million brackets": "<" * 1_000_000 + PARAGRAPHS,
    "unclosed comment in front": PARAGRAPHS + "<!--" * 100_000,
    "60,000 class names": f'<div class="{" ".join(f"c{n}" for n in range(60_000))}">{PARAGRAPHS}</div>',
    "2,000 nested frames of math": "<math>" + "<mrow>" * 2_000 + "x" + "</mrow>" * 2_000 + "</math>" + PARAGRAPHS,
    "8,000 footnotes to one note": '<sup><a href="#fn1">1</a></sup>' * 3_000 + '<p id="fn1">note</p>' + PARAGRAPHS,
    "deep JSON": '<script type="application/ld+json">' + "[" * 100_000 + "</script>" + PARAGRAPHS,
    "NULs": "\0".join(PARAGRAPHS.split(" ")).replace("\0", " \0"),
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_pages_give_their_text(html: str) -> None:
    assert "jumps over the lazy dog" in extract(html, "https://example.org/").markdown


def test_bytes_of_no_encoding_are_text_with_marks_of_damage() -> None:
    page = extract(b"<p>caf\xe9 \xff\xfe \x81\x8d \xc3\x28</p>" + PARAGRAPHS.encode(), "", "no-such-charset")
    assert "jumps over the lazy dog" in page.markdown
    page.markdown.encode("utf-8")


def test_lone_surrogates_do_not_reach_the_result() -> None:
    extract(f"<p>\ud800 {TEXT}</p><p>&#xD800;</p>" + PARAGRAPHS, "").markdown.encode("utf-8")


def test_addresses_that_are_none_do_no_harm() -> None:
    html = '<a href="http://[bad">x</a> <a href="https://a:b:c/">y</a> <img src="//[">' + PARAGRAPHS
    assert "jumps over the lazy dog" in extract(html, "https://example.org/").markdown
    assert "jumps over the lazy dog" in extract(PARAGRAPHS, "::not an address::").markdown


def test_a_table_of_usual_size_keeps_its_spans() -> None:
    rows = "".join(f'<tr><td rowspan="2">n{n}</td><td>a{n}</td></tr><tr><td>b{n}</td></tr>' for n in range(40))
    found = extract(f"<main><h1>Rows</h1><table><tr><th>n</th><th>x</th></tr>{rows}</table>{PARAGRAPHS}</main>", "")
    assert "| n7 | a7 |\n| n7 | b7 |" in found.markdown
