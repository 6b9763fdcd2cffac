"""A document can be found, searched, clicked through, and says what is not in it."""

import io
import re
from pathlib import Path

import pytest
from bursar.pdf import Missing, Options, render
from bursar.pdf.pictures import prepared
from PIL import Image
from rendered import rendered


def picture(path, form="PNG", size=(300, 120)):
    Image.linear_gradient("L").resize(size).convert("RGB").save(path, form)
    return path


def test_title_author_and_language_are_in_the_file():
    made = rendered("text", title="A title", author="Ada", language="en-GB")
    assert made.report.title == "A title"
    for entry in (b"/Title(A title)", b"/Author(Ada)", b"/Lang(en-GB)"):
        assert entry in made.objects


def test_front_matter_gives_what_the_caller_did_not():
    made = rendered('---\ntitle: "From the text"\nlang: fr\n---\n\n# Heading\n')
    assert made.report.title == "From the text"
    assert b"/Lang(fr)" in made.objects


def test_the_first_heading_is_the_title_of_last_resort():
    assert rendered("# Given by *heading*\n\ntext").report.title == "Given by heading"


def test_a_text_without_headings_is_titled_by_its_first_words():
    assert rendered("\n\n*First* words here\n\nmore").report.title == "First words here"
    assert rendered("word " * 100, plain=True).report.title == "word " * 15 + "word…"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The results of the quarter are in this report.", "en"),
        ("Der Bericht ist fertig, und die Zahlen sind gut.", "de"),
        ("Le rapport est prêt et les chiffres sont bons.", "fr"),
        ("Отчёт готов, и это не всё, что мы для вас сделали.", "ru"),
        ("Η αναφορά είναι έτοιμη", "el"),
        ("报告完成了", "zh-CN"),
    ],
)
def test_the_language_is_known_by_script_or_words(text, language):
    assert f"/Lang({language})".encode() in rendered(text).objects


@pytest.mark.needs("pdftotext")
def test_headings_of_one_name_are_different_places():
    parts = ("intro", "# Title", "# part\n\n# part", "# part 1", "# part")
    made = rendered("\n\n\\pagebreak\n\n".join(parts), title="Title", toc=True)
    numbers = re.findall(r"^(\d+)$", made.pages[0], re.MULTILINE)
    assert numbers == ["2", "3", "4", "4", "5", "6"]


def test_headings_are_bookmarks():
    made = rendered("# One\n\n## Two\n\ntext\n\n# Drei — 中\n")
    assert made.bookmarks == ["One", "Two", "Drei — 中"]


def test_links_click_and_odd_schemes_do_not():
    made = rendered(
        "[a](https://example.org/a?b=c) <mailto:a@example.org> https://example.org/bare "
        "[x](javascript:alert(1)) [y](file:///etc/passwd) [z](other.md) [h](#here)\n\n# Here\n"
    )
    for url in (b"(https://example.org/a?b=c)", b"(mailto:a@example.org)", b"(https://example.org/bare)"):
        assert b"/URI" + url in made.objects
    for scheme in (b"javascript", b"file:///"):
        assert scheme not in made.objects
    assert [url for url, _ in made.report.dropped_links] == ["javascript:alert(1)", "file:///etc/passwd", "other.md"]
    assert made.links == 4


def test_links_find_headings_in_every_script():
    made = rendered("[a](#सार्वभौम-घोषणा) [b](#%E0%B8%97%E0%B8%B5%E0%B9%88)\n\n# सार्वभौम घोषणा!\n\n# ที่\n")
    assert made.links == 2


@pytest.mark.needs("pdftotext")
def test_the_table_of_contents_names_the_right_pages():
    source = "".join(f"# Chapter {i}\n\n{'text ' * 900}\n\n## Part {i}\n\ntext\n\n\\pagebreak\n\n" for i in range(60))
    made = rendered(source, toc=True)
    lines = made.text("-layout").split("\n")
    pages = made.pages
    for chapter in (0, 17, 59):
        entry = next(line for line in lines if line.strip().startswith(f"Chapter {chapter} "))
        number = int(entry.split()[-1])
        assert f"Chapter {chapter}" in pages[number - 1]
        assert f"{number} / {len(pages)}" in pages[number - 1]


@pytest.mark.needs("pdftotext")
def test_footnotes_are_numbered_by_use_and_stand_at_the_end():
    made = rendered("b[^b] a[^a] b[^b] in[^new] line^[written *here*]\n\n[^a]: note a\n[^b]: note b\n[^new]: new[^a]\n")
    text = " ".join(made.text().split())
    assert "1. note b" in text
    assert text.index("1. note b") < text.index("2. note a") < text.index("3. new") < text.index("4. written here")


@pytest.mark.needs("pdftotext")
def test_lists_tables_and_inline_marks_are_all_there():
    made = rendered(
        "- [ ] open\n- [x] done\n\n3. three\n4. four\n\n> quoted\n\n**b** *i* ~~s~~ `c` <b>d</b> List<T> a<br> b\n\n"
        "| `a\\|b` | c |\n|---|---|\n| 1 |\n"
    )
    text = " ".join(made.text().split())
    for words in ("☐ open", "☑ done", "3. three", "4. four", "quoted", "b i s c d List<T> a b", "a|b"):
        assert words in text


@pytest.mark.needs("pdftotext")
def test_a_missing_picture_is_named_where_it_should_stand(tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 50)
    cut = picture(tmp_path / "cut.jpg", "JPEG")
    cut.write_bytes(cut.read_bytes()[:-600])
    good = picture(tmp_path / "good.png")
    made = rendered(
        "text ![a chart](good) more\n\n![remote](https://example.org/x.png)\n\n![](broken)\n\n![](cut)\n\n![](nowhere)",
        {"good": good, "https://example.org/x.png": Missing("HTTP 403: refused"), "broken": broken, "cut": cut},
    )
    reasons = dict(made.report.missing)
    assert made.report.embedded == ("good",)
    assert set(reasons) == {"https://example.org/x.png", "broken", "cut", "nowhere"}
    text = " ".join(made.text().split())
    assert "Image not available: remote https://example.org/x.png HTTP 403: refused" in text
    assert "text" in text
    assert "more" in text


@pytest.mark.needs("pdftotext")
def test_a_picture_stays_where_it_is_in_headings_cells_notes_and_sentences(tmp_path):
    good = picture(tmp_path / "good.png", size=(40, 20))
    source = "# A ![logo](g)\n\n| a |\n|-|\n| ![cell](g) |\n\nx^[note ![n](g)] and ![](g) more ![gone](h)"
    made = rendered(source, {"g": good}, page_numbers=False)
    assert made.report.embedded == ("g",)
    assert made.operators.count(b" Do") == 4
    tops = {word: top for _, _, top, _, _, word in made.words}
    assert tops["and"] == tops["more"]
    assert "[Image not available: gone h nothing was found" in " ".join(made.text().split())


@pytest.mark.needs("pdftotext")
def test_a_column_is_as_wide_as_its_pictures(tmp_path):
    source = "| a | b |\n|-|-|\n| **![](g)** | word |"
    made = rendered(source, {"g": picture(tmp_path / "good.png", size=(300, 120))}, page_numbers=False)
    assert next(left for _, left, *_, word in made.words if word == "word") > 62 + 300 * 72 / 110


@pytest.mark.needs("pdftotext")
def test_a_title_stands_where_its_first_letter_begins():
    left = {word: left for _, left, *_, word in rendered("text", title="תקציר", page_numbers=False).words}
    assert left["text"] < 70
    assert max(left.values()) > 400


@pytest.mark.parametrize(("mode", "step", "suffix"), [("I;16", 257, "png"), ("I", 90_000, "tiff"), ("F", 0.25, "tiff")])
def test_a_picture_of_more_than_eight_bits_keeps_its_greys(tmp_path, mode, step, suffix):
    made = Image.new(mode, (256, 1))
    for x in range(256):
        made.putpixel((x, 0), x * step)
    path = tmp_path / f"deep.{suffix}"
    made.save(path)
    shown = Image.open(io.BytesIO(prepared(path, 300)[0]))
    greys = [shown.getpixel((x, 0))[0] for x in range(256)]
    assert greys == pytest.approx(range(256), abs=1)


def test_pictures_are_never_larger_than_their_print(tmp_path):
    big = tmp_path / "big.png"
    Image.effect_noise((3000, 2000), 90).save(big)
    made = rendered("![](big)", {"big": big})
    assert len(made.pdf) < 2_500_000


def test_a_turned_photograph_is_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "turned.jpg"
    Image.new("RGB", (400, 100), "red").save(path, exif=exif)
    made = rendered("![](p)", {"p": path})
    assert b"/Width 100/Height 400" in made.objects


def test_nothing_is_opened_that_was_not_given(tmp_path):
    path = picture(tmp_path / "secret.png")
    made = rendered(f"![x]({path}) <img src='{path}'>")
    assert made.report.embedded == ()
    assert b"/Subtype/Image" not in made.objects


def test_only_what_is_used_is_embedded():
    made = rendered("plain words")
    assert made.report.fonts == ("Noto Sans",)
    assert len(made.pdf) < 30_000


def test_progress_rises_to_the_end():
    shares: list[float] = []
    render("text\n\n" * 2000, Options(), io.BytesIO(), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_same_text_gives_the_same_pages():
    first, second = rendered("# a\n\nb 中 ع"), rendered("# a\n\nb 中 ع")
    assert first.operators == second.operators


@pytest.mark.needs("pdftotext")
def test_a_document_with_everything_in_it_comes_out_whole(tmp_path):
    source = (Path(__file__).parent / "everything.md").read_text(encoding="utf-8")
    pictures = {
        "chart.png": picture(tmp_path / "chart.png"),
        "https://example.org/missing.png": Missing("HTTP 403: the server refused it"),
    }
    made = rendered(source, pictures, toc=True)
    assert made.report.title == "Quarterly infrastructure report"
    assert made.report.embedded == ("chart.png",)
    assert dict(made.report.missing) == {"https://example.org/missing.png": "HTTP 403: the server refused it"}
    assert [url for url, _ in made.report.dropped_links] == ["javascript:alert(1)"]
    text = " ".join(made.text().split())
    for words in (
        "Contents",
        "Second chapter",
        "すべて正常です",
        "السلام عليكم",
        "[keycap 1]",
        "🇫🇷",
        "2. Written in its place",
    ):
        assert words in text


def test_a_document_claims_to_be_accessible_unless_its_headings_leave_a_level_out():
    assert b"<pdfuaid:part>1<" in rendered("# One\n\n## Two\n\n- a\n\n| a |\n|-|\n| b |").objects
    made = rendered("# One\n\n### Three")
    assert b"pdfuaid" not in made.objects
    assert b"/Marked true" in made.objects


@pytest.mark.needs("pdftotext")
def test_formulas_are_set_and_prices_and_what_is_no_formula_stay_as_they_are():
    made = rendered(
        "It is $E = mc^2$, costs $5 and $10, or US$5-$7; $HOME/$USER, $\\nocommand{x}$ and `$x$`.\n\n"
        "$$\n\\begin{aligned} a &= \\frac{b}{2} \\\\ &= \\sqrt[3]{c} \\end{aligned}\n$$\n\n"
        "| $x_1$ | b |\n|-|-|\n| $\\alpha$ | c |"
    )
    text = " ".join(made.text().split())
    for words in ("It is 𝐸 = 𝑚𝑐2", "costs $5 and $10, or US$5-$7; $HOME/$USER, $\\nocommand{x}$ and $x$.", "𝑥1", "𝛼"):
        assert words in text
    assert b"NewCMMath" in made.pdf
    assert b"<pdfuaid:part>1<" in rendered("# A\n\n$$x^2$$").objects


@pytest.mark.parametrize(
    "tex", [r"\frac{1}{1+" * 60 + "x" + "}" * 60, "x_{" * 80 + "1" + "}" * 80, "{" * 500, "a" * 5_000]
)
def test_no_formula_keeps_a_document_from_being_written(tex):
    assert rendered(f"> - a\n>   - ${tex}$\n>\n>     $$\n>     {tex}\n>     $$").report.pages


@pytest.mark.needs("pdftotext")
def test_elements_of_html_are_what_they_mean_and_comments_are_nothing():
    made = rendered(
        "<details>\n<summary>More</summary>\n\nH<sub>2</sub>O <kbd>Ctrl</kbd> <u>u</u> <mark>m</mark> "
        "<a href='https://x.example'>there</a> <!-- gone --> **b <kbd>k** end\n\n</details>\n\n"
        "<!-- gone\n\n# gone -->\n\nMap<K, V> </b> stays"
    )
    text = " ".join(made.text().split())
    assert text.startswith("More H2O Ctrl u m there b k end Map<K, V> </b> stays")
    assert "gone" not in text
    assert made.links == 1


@pytest.mark.needs("pdftotext")
def test_definitions_stand_below_their_terms():
    made = rendered("Term *one*\n: its meaning\n\n: another, with\n\n  - a list\n\nTwo\n: x")
    assert " ".join(made.text().split()).startswith("Term one its meaning another, with • a list Two x")


@pytest.mark.needs("pdftotext")
def test_emoji_are_drawn_and_signs_of_a_colour_have_it():
    made = rendered("✅ 🟢 🟡 🔴 👍🏽 🇫🇷 👨‍👩‍👧 😀", page_numbers=False)
    assert made.report.replaced == ()
    assert "".join(made.text().split()) == "✅🟢🟡🔴👍🏽🇫🇷👨‍👩‍👧😀"
    assert b"0.10196" in made.operators
