"""Files of many kinds, each made by a program or library of its own kind, and what those say of it."""

import bz2
import datetime
import gzip
import json
import lzma
import mailbox
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import zipfile
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import docx
import openpyxl
import pptx
import xlsxwriter
from odf import draw, table, text
from odf.opendocument import OpenDocumentPresentation, OpenDocumentSpreadsheet, OpenDocumentText
from odf.style import MasterPage, PageLayout
from PIL import Image

SAMPLES = Path(__file__).parent.parent / "content" / "samples"
MADE = {}
"""Of each kind: the function that makes a file, given a path, and returns what must be read; and what it needs."""


def kind(name, *needs):
    def remember(make):
        MADE[name] = (make, needs)
        return make

    return remember


def run(*command, cwd, stdin=None):
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=True)
    return done.stdout.decode()


def tree(path):
    """Make a small tree beside a path, and return it."""
    place = path.parent / f"{path.name}-tree"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "grüße.txt").write_text("Hallo Welt\n", "utf-8")
    (place / "data.csv").write_text("a,b\n1,2\n")
    (place / "run.sh").write_bytes(b"#!/bin/sh\n" * 500)
    (place / "link").symlink_to("data.csv")
    return place


@kind("report.docx")
def word(path):
    document = docx.Document()
    document.core_properties.title = "Report of the year"
    document.add_heading("Results", 1)
    document.add_paragraph("Sales grew by 7 %.")
    document.add_paragraph("north", style="List Bullet")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    grid = document.add_table(2, 2)
    for place, said in enumerate(("region", "sales", "a|b", "12")):
        grid.cell(place // 2, place % 2).text = said
    document.save(path)
    again = docx.Document(path)
    return [
        *(p.text for p in again.paragraphs),
        "Report of the year",
        "# Results",
        "- north",
        "2. second",
        "| a\\|b | 12 |",
    ]


@kind("one.xlsx")
def workbook(path):
    book = openpyxl.Workbook()
    book.active.title = "Sales"
    for row in (
        ["day", "n", "ok"],
        [datetime.date(2024, 1, 2), 1.5, True],
        [datetime.datetime(2024, 1, 2, 3, 4, 5), 7, None],
    ):
        book.active.append(row)
    book.save(path)
    return ["day,n,ok", "2024-01-02,1.5,TRUE", "2024-01-02 03:04:05,7,"]


@kind("many.xlsx")
def sheets(path):
    book = openpyxl.Workbook()
    book.active.append(["x", "=1+1"])
    book.create_sheet("Küste").append(["Ebbe", "Flut"])
    book.save(path)
    assert openpyxl.load_workbook(path).sheetnames == ["Sheet", "Küste"]
    return ["## Sheet", "## Küste", "| Ebbe | Flut |", "| x | =1+1 |"]


@kind("written.xlsx")
def written_workbook(path):
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("A")
    sheet.write_row(0, 0, ["name", "share", "at"])
    sheet.write_row(1, 0, ["Zoë", 0.1 + 0.2])
    sheet.write_datetime(
        1, 2, datetime.datetime(1999, 12, 31, 23, 59), book.add_format({"num_format": "d mmmm yyyy hh:mm"})
    )
    sheet.write_formula(2, 1, "=B2*2", None, 0.6)
    book.close()
    rows = list(openpyxl.load_workbook(path, data_only=True).active.values)
    assert rows[1][2] == datetime.datetime(1999, 12, 31, 23, 59)
    return ["name,share,at", "Zoë,0.3,1999-12-31 23:59:00", ",0.6,"]


SPANS = [
    ("[h]:mm:ss", 1.5, "36:00:00"),
    ("[h]:mm", 30.25 / 24, "30:15"),
    ("[mm]:ss", 0.0625, "90:00"),
    ("[hh]", 1 / 24, "01"),
    ("[s].00", 1.25 / 86_400, "1.25"),
    ("mm:ss.0", 83.4 / 86_400, "01:23.4"),
    ('[h]" h "mm" min";@', 1.5, "36 h 00 min"),
    ("hh:mm:ss", 0.5, "12:00:00"),
    ("d.m.yyyy", 1, "1900-01-01"),
    ("d.m.yyyy", 61, "1900-03-01"),
]


@kind("spans.xlsx")
def spans(path):
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("A")
    sheet.write_row(0, 0, ["n", "format", "shown"])
    for place, (code, value, _) in enumerate(SPANS, 1):
        sheet.write_row(place, 0, [place, code])
        sheet.write_number(place, 2, value, book.add_format({"num_format": code}))
    sheet.write_row(len(SPANS) + 1, 0, ["46", "built in"])
    sheet.write_number(len(SPANS) + 1, 2, 2.5, book.add_format({"num_format": 46}))
    book.close()
    rows = list(openpyxl.load_workbook(path).active.values)
    assert rows[1][2] == datetime.timedelta(hours=36)
    return [f",{shown}\n" for *_, shown in SPANS] + ["46,built in,60:00:00"]


@kind("talk.pptx")
def slides(path):
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Why"
    slide.placeholders[1].text = "because\nof this"
    slide.notes_slide.notes_text_frame.text = "speak slowly"
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "End"
    deck.save(path)
    return ["## Slide 1: Why", "- because", "- of this", "> Notes: speak slowly", "## Slide 2: End"]


@kind("letter.odt")
def odt(path):
    document = OpenDocumentText()
    document.text.addElement(text.H(outlinelevel=2, text="Dear"))
    document.text.addElement(text.P(text="all of you"))
    items = text.List()
    item = text.ListItem()
    item.addElement(text.P(text="tea"))
    items.addElement(item)
    document.text.addElement(items)
    document.save(path)
    return ["## Dear", "all of you", "- tea"]


@kind("budget.ods")
def ods(path):
    document = OpenDocumentSpreadsheet()
    sheet = table.Table(name="Costs")
    for values in (("what", "eur"), ("rent", 900)):
        row = table.TableRow()
        for value in values:
            kept = {"valuetype": "float", "value": value} if isinstance(value, int) else {"valuetype": "string"}
            cell = table.TableCell(**kept)
            cell.addElement(text.P(text=f"{value}"))
            row.addElement(cell)
        sheet.addElement(row)
    row = table.TableRow()
    row.addElement(table.TableCell(valuetype="string"))
    span = table.TableCell(valuetype="time", timevalue="PT36H00M00S")
    span.addElement(text.P(text="36:00:00"))
    row.addElement(span)
    sheet.addElement(row)
    document.spreadsheet.addElement(sheet)
    document.save(path)
    return ["what,eur", "rent,900", ",36:00:00"]


@kind("show.odp")
def odp(path):
    document = OpenDocumentPresentation()
    document.automaticstyles.addElement(PageLayout(name="L"))
    document.masterstyles.addElement(MasterPage(name="M", pagelayoutname="L"))
    page = draw.Page(name="p1", masterpagename="M")
    frame = draw.Frame(width="10cm", height="5cm")
    box = draw.TextBox()
    box.addElement(text.P(text="on the wall"))
    frame.addElement(box)
    page.addElement(frame)
    document.presentation.addElement(page)
    document.save(path)
    return ["## Slide 1", "on the wall"]


@kind("tale.epub")
def epub(path):
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>'
        'A Tale</dc:title><dc:creator>N. N.</dc:creator></metadata><manifest><item id="b" href="b.xhtml"/><item id="a" '
        'href="a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="O/c.opf"/></rootfiles></container>'
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", container)
        book.writestr("O/c.opf", package)
        for name, said in (("b", "the end"), ("a", "once upon")):
            book.writestr(f"O/{name}.xhtml", f"<html><body><h1>{name}</h1><p>{said} a <i>time</i></p></body></html>")
    return ["A Tale", "# a", "once upon a *time*", "# b", "the end a *time*"]


@kind("work.ipynb")
def notebook(path):
    output = [
        {"output_type": "stream", "name": "stdout", "text": ["4\n"]},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: v"]},
        {"output_type": "display_data", "data": {"image/png": "iVBO", "text/plain": "<Figure>"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Sums\n", "of two"]},
        {"cell_type": "code", "execution_count": 3, "source": "print(2+2)", "outputs": output},
    ]
    about = {"kernelspec": {"language": "python"}}
    path.write_text(json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}))
    return [
        "# Sums\nof two",
        "In [3]:\n```python\nprint(2+2)\n```",
        "```\n4\n```",
        "```\nE: v\n```",
        "<Figure>",
        "image/png",
    ]


def message():
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"], mail["Subject"] = "Åsa <a@x.test>", "b@x.test", "Übersicht"
    mail["Date"] = "Mon, 02 Feb 2026 10:00:00 +0100"
    mail.set_content("the text\nitself\n")
    mail.add_alternative("<p>the page</p>", subtype="html")
    mail.add_attachment(b"a;b\n1;2\n", maintype="text", subtype="csv", filename="fig.csv")
    return mail


@kind("note.eml")
def eml(path):
    path.write_bytes(message().as_bytes())
    return ["From: Åsa <a@x.test>", "Subject: Übersicht", "the text\nitself", "fig.csv, text/csv, 8 bytes"]


@kind("old.mbox")
def mbox(path):
    box = mailbox.mbox(path)
    for number in range(3):
        mail = EmailMessage()
        mail["Subject"] = f"Number {number}"
        mail.set_content("From the start\n")
        box.add(mail)
    box.close()
    return ["## 1: Number 0", "## 3: Number 2", "From the start"]


@kind("text.rtf")
def rtf(path):
    path.write_bytes(
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title no}}\f0 Caf\'e9 \u8364?5 {\b bold}\par"
        rb" \uc0\u-10179\u-8704  next \{x\}\par}"
    )
    return ["Café €5 bold", "😀 next {x}"]


def listed(output):
    return [line for line in output.splitlines() if line and not line.endswith("/")]


@kind("p.zip", "zip")
def zip_program(path):
    place = tree(path)
    run("zip", "-q", "-r", "--symlinks", str(path), ".", cwd=place)
    return listed(
        run(
            sys.executable,
            "-c",
            "import sys,zipfile;print(*zipfile.ZipFile(sys.argv[1]).namelist(),sep='\\n')",
            str(path),
            cwd=place,
        )
    )


def tar_of(flag):
    def make(path):
        place = tree(path)
        run("tar", flag, "-cf", str(path), ".", cwd=place)
        names = listed(run("tar", "-tf", str(path), "--quoting-style=literal", cwd=place))
        return [*(name.removeprefix("./") for name in names), ",data.csv"]

    return make


for suffix, flag, needs in (
    ("tar", "--format=gnu", ()),
    ("tar.gz", "-z", ()),
    ("tar.bz2", "-j", ("bzip2",)),
    ("tar.xz", "-J", ("xz",)),
    ("tar.zst", "--zstd", ("zstd",)),
):
    kind(f"p.{suffix}", *needs)(tar_of(flag))


@kind("pax.tar")
def pax(path):
    place = tree(path)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(place, "x" * 120)
    return [f"{'x' * 120}/docs/grüße.txt", f"{'x' * 120}/run.sh,5000"]


def packed(program, opener):
    def make(path):
        plain = path.parent / path.stem
        plain.write_text("a,b\n" + "1,2\n" * 50)
        if program is None:
            path.write_bytes(opener(plain.read_bytes()))
        else:
            run(program, "-q", "-k", "-f", str(plain), cwd=path.parent)
        plain.unlink()
        return ["a,b\n1,2\n1,2"]

    return make


for suffix, program, opener in (("gz", None, gzip.compress), ("bz2", None, bz2.compress), ("xz", None, lzma.compress)):
    kind(f"d.csv.{suffix}")(packed(program, opener))
kind("d.csv.zst", "zstd")(packed("zstd", None))


@kind("hello.deb", "dpkg-deb")
def deb(path):
    place = tree(path)
    (place / "DEBIAN").mkdir()
    (place / "DEBIAN" / "control").write_text(
        "Package: hello\nVersion: 1.2\nArchitecture: all\nMaintainer: N <n@x.test>\nDescription: says it\n"
    )
    run("dpkg-deb", "--build", "--root-owner-group", str(place), str(path), cwd=path.parent)
    names = [line.split()[-1] for line in run("dpkg-deb", "-c", str(path), cwd=place).splitlines() if "->" not in line]
    return [
        "hello 1.2",
        *(f"/{name.removeprefix('./')}" for name in names if name.isascii() and not name.endswith("/")),
    ]


@kind("hello.rpm", "rpmbuild")
def package(path):
    place = path.parent / "rpm"
    place.mkdir()
    (place / "hello.spec").write_text(
        "Name: hello\nVersion: 3\nRelease: 1\nSummary: s\nLicense: MIT\nBuildArch: noarch\n%description\nd\n%install\n"
        "mkdir -p %{buildroot}/opt/hello\necho hi > %{buildroot}/opt/hello/a.txt\n"
        "ln -s a.txt %{buildroot}/opt/hello/b\n"
        "%files\n/opt/hello\n"
    )
    run("rpmbuild", "-bb", "--define", f"_topdir {place}", str(place / "hello.spec"), cwd=place)
    shutil.copy(next(place.rglob("*.rpm")), path)
    return ["hello-3-1", "opt/hello/a.txt,3", "opt/hello/b", ",a.txt"]


@kind("lib.a", "ar")
def library(path):
    place = tree(path)
    run("ar", "rc", str(path), "data.csv", "run.sh", cwd=place)
    return ["data.csv,8", "run.sh,5000"]


@kind("tool-2.0-py3-none-any.whl")
def wheel(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tool/__init__.py", "x = 1\n")
        archive.writestr(
            "tool-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 2.0\n\nLong text\n"
        )
    return ["tool 2.0", "tool/__init__.py,6"]


@kind("app.jar")
def jar(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "META-INF/MANIFEST.MF",
            "Manifest-Version: 1.0\r\nImplementation-Title: app\r\nImplementation-Version: 9\r\n",
        )
        archive.writestr("word/Main.class", b"\xca\xfe\xba\xbe")
    return ["app 9", "word/Main.class,4"]


@kind("people.parquet")
def parquet(path):
    import duckdb

    duckdb.sql("SELECT 1::INT AS id, 'x' AS name UNION ALL SELECT 2, 'y'").write_parquet(str(path))
    return ['"rows":2', "id: int", "name: str"]


@kind("people.arrow")
def arrow(path):
    shutil.copy(SAMPLES / "people.arrow", path)
    return ['"rows":3', "name: str", "age: int", "score: float", "ok: bool"]


@kind("people.db")
def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (id INTEGER, name TEXT)")
    connection.close()
    return ["people", "id", "name"]


def picture(form):
    def make(path):
        Image.new("RGB", (31, 17)).save(path, form)
        return ["31x17"]

    return make


for suffix, form in (("png", "PNG"), ("gif", "GIF")):
    kind(f"dot.{suffix}")(picture(form))


@kind("paper.pdf", "pdftotext")
def pdf(path):
    import typst

    source = path.with_suffix(".typ")
    source.write_text('#set document(title: "Paper")\n= Why\nOne is enough.\n#pagebreak()\nAnd more.')
    typst.compile(str(source), output=str(path))
    said = [line.strip() for line in run("pdftotext", str(path), "-", cwd=path.parent).splitlines()]
    return ["Paper", "## Page 2", *filter(None, (line.strip("\f") for line in said))]


def small_zip_bomb(path, size):
    """Write a ZIP of which one member is as large as that, and packs well."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.bin", "w", force_zip64=True) as out,
    ):
        for _ in range(size >> 20):
            out.write(bytes(1 << 20))


def lying_zip(path, size):
    """Write a ZIP whose member is larger than it says."""
    small_zip_bomb(path, size)
    raw = bytearray(path.read_bytes())
    at = raw.rfind(b"PK\x01\x02")
    struct.pack_into("<I", raw, at + 24, 10)
    path.write_bytes(raw)
