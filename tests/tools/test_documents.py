"""Files are read for what they are, by a client of a real server, as the programs that made them show them."""

import gzip
import io
import re
import tarfile
import warnings
import zipfile
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import made_files
import pytest
from bursar.content.files import read
from made_files import MADE
from replies import reply_of
from wire import server


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def client(work):
    with server("--root", str(work), "--data-dir", str(work.parent / "data"), "--patience-s", "30") as client:
        yield client


def shown(client, **given):
    reply, is_error, _ = client.call("read_file", **given)
    assert not is_error, reply
    return reply


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(*needs)) for name, (_, needs) in MADE.items()]
)
def test_a_file_says_what_its_own_programs_show(client, work, name):
    make, _ = MADE[name]
    said = make(work / name)
    reply = shown(client, path=name, max_tokens=2000)
    assert said
    for text in said:
        assert text in reply


def member_of(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as outer:
        inner = path.parent / "inner.zip"
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("deep/notes.txt", "found me\n")
        outer.write(inner, "a/inner.zip")
        outer.writestr("a/table.csv", "n,m\n1,2\n3,4\n")
        made_files.MADE["report.docx"][0](path.parent / "in.docx")
        outer.write(path.parent / "in.docx", "a/in.docx")


@pytest.fixture(scope="module")
def nested(work):
    member_of(work / "nested.zip")
    return "nested.zip"


def test_what_lies_in_an_archive_is_read_by_its_path(client, nested):
    assert shown(client, path=f"{nested}/a/table.csv").endswith("n,m\n1,2\n3,4\n")
    assert "found me" in shown(client, path=f"{nested}/a/inner.zip/deep/notes.txt")
    assert "# Results" in shown(client, path=f"{nested}/a/in.docx")
    assert "a/in.docx" in shown(client, path=f"{nested}/a")


def test_a_member_and_a_sheet_can_be_searched_and_asked(client, work, nested):
    assert reply_of(shown(client, path=f"{nested}/a/table.csv", grep="^3"))["preview"] == "3:3,4\n"
    made_files.sheets(work / "sheets.xlsx")
    assert "Ebbe" in shown(client, path="sheets.xlsx/Küste.csv")
    pytest.importorskip("duckdb")
    assert reply_of(shown(client, path=f"{nested}/a/table.csv", sql="SELECT sum(m) AS s FROM t"))["preview"] == "s\n6\n"
    asked = shown(client, path=nested, sql="SELECT name FROM t WHERE bytes = 12")
    assert "a/table.csv" in asked


def test_an_attachment_is_read_by_its_name(client, work):
    made_files.eml(work / "with.eml")
    assert shown(client, path="with.eml/fig.csv").endswith("a;b\n1;2\n")


def test_the_bytes_of_a_file_stay_reachable(client, nested, work):
    assert (work / nested).read_bytes()[:4] == b"PK\3\4"
    assert "PK\\u0003\\u0004" in shown(client, path=nested, bytes="0-3") or "UEsDBA==" in shown(
        client, path=nested, bytes="0-3"
    )


def test_a_file_is_read_once_and_its_text_stored_once(client, nested):
    shown(client, path=f"{nested}/a/in.docx")
    before = client.call("read_artifact", max_tokens=8000)[0]
    assert "2. second" in shown(client, path=f"{nested}/a/in.docx", grep="second")
    assert client.call("read_artifact", max_tokens=8000)[0].count("in.docx") == before.count("in.docx")


def test_a_member_that_is_not_there_is_answered_with_the_nearest(client, nested):
    reply, is_error, _ = client.call("read_file", path=f"{nested}/a/tabel.csv")
    assert is_error
    assert "Did you mean a/table.csv" in reply


def test_a_path_through_a_file_that_is_no_archive_is_told(client, work):
    (work / "plain.txt").write_text("x")
    reply, is_error, _ = client.call("read_file", path="plain.txt/y")
    assert (is_error, "plain.txt is no archive" in reply) == (True, True)


def test_nothing_outside_the_roots_is_an_archive(client, work):
    outside = work.parent / "outside.zip"
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("secret.txt", "hunter2")
    reply, is_error, _ = client.call("read_file", path=f"{outside}/secret.txt")
    assert is_error
    assert "hunter2" not in reply
    assert reply.startswith("path_outside_roots")


def test_a_bomb_is_refused_and_others_are_read_all_the_same(client, work):
    made_files.small_zip_bomb(work / "bomb.zip", read.MEMBER_BYTES + (1 << 20))
    made_files.lying_zip(work / "liar.zip", 8 << 20)
    (work / "bomb.gz").write_bytes(gzip.compress(bytes(read.MEMBER_BYTES + 1), 1))
    assert "zeros.bin" in shown(client, path="bomb.zip")
    reply, is_error, _ = client.call("read_file", path="bomb.zip/zeros.bin")
    assert is_error
    assert re.match("too_large|too_slow", reply)
    assert client.call("read_file", path="liar.zip/zeros.bin")[1]
    assert "unreadable" in reply_of(shown(client, path="bomb.gz"))


XML_BOMB = (
    '<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {one} "{f"&{other};" * 10}">' for one, other in zip("bcdefghij", "abcdefghi", strict=True))
    + "]><w>&j;</w>"
)


def hostile(work):
    rels = '<R><Relationship Id="r" Type="x/officeDocument" Target="word/document.xml"/></R>'
    for name, body in {
        "entities.docx": XML_BOMB,
        "external.docx": '<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]><w><body><p><t>&x;</t></p></body></w>',
        "deep.docx": "<p>" * 200_000,
        "closed.docx": "<body>" + "<tbl><tr><tc>" * 20_000 + "</tc></tr></tbl>" * 20_000 + "</body>",
        "broken.docx": "<w><body><p>",
    }.items():
        with zipfile.ZipFile(work / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("_rels/.rels", rels)
            archive.writestr("word/document.xml", body)
        yield name
    for name, data in {
        "cut.zip": b"PK\3\4" + b"x" * 500,
        "cut.tar.xz": b"\xfd7zXZ\0" + b"x" * 500,
        "cut.gz": gzip.compress(b"hello" * 1000)[:30],
        "bad.ipynb": b'{"cells": 3}',
        "deep.ipynb": b'{"cells":' + b"[" * 100_000,
        "bad.rpm": b"\xed\xab\xee\xdb" + b"\xff" * 200,
        "bad.deb": b"!<arch>\n" + b"debian-binary   x           0     0     100644  99999999999`\n",
        "bad.pdf": b"%PDF-1.7\n%%EOF",
        "groups.rtf": b"{\\rtf1" + b"{" * 1_000_000,
        "bad.arrow": b"ARROW1\0\0" + b"\xff" * 64 + b"\x20\0\0\0ARROW1",
    }.items():
        (work / name).write_bytes(data)
        yield name


def test_hostile_files_are_answered_as_what_they_are_and_cost_nobody_else_anything(client, work):
    for name in hostile(work):
        reply, _, _ = client.call("read_file", path=name)
        assert reply, name
        assert "/bin/sh" not in reply
        assert "aaaaaaaaaaaaaaaaaaaa" * 100 not in reply
    (work / "after.txt").write_text("still here")
    assert "still here" in shown(client, path="after.txt")


def test_what_is_packed_too_deep_is_refused_and_never_answered_by_what_it_is_packed_in(client, work):
    inner = work / "x.txt"
    inner.write_text("deep\n")
    for depth in range(8):
        with zipfile.ZipFile(work / f"z{depth}.zip", "w") as packed:
            packed.write(inner, inner.name)
        inner = work / f"z{depth}.zip"
    path = "/".join(f"z{depth}.zip" for depth in range(7, -1, -1))
    text, is_error, _ = client.call("read_file", path=f"{path}/x.txt")
    assert is_error
    assert "still packed" in text


def test_mails_without_a_boundary_or_with_broken_heads_keep_their_text(client, work):
    (work / "none.eml").write_bytes(b"Subject: s\nContent-Type: multipart/mixed\n\nall of the text\n")
    (work / "head.eml").write_bytes(b"From: a@x.test\nTo: [\nSubject: s\n\nthe other text\n")
    (work / "only.eml").write_bytes(
        b"Subject: s\nContent-Type: application/octet-stream\n"
        b'Content-Disposition: attachment; filename="f.csv"\n\na,b\n1,2\n'
    )
    assert "all of the text" in client.call("read_file", path="none.eml")[0]
    assert "the other text" in client.call("read_file", path="head.eml")[0]
    assert "f.csv" in client.call("read_file", path="only.eml")[0]
    assert client.call("read_file", path="only.eml/f.csv")[0].endswith("a,b\n1,2\n")


def test_an_archive_with_a_size_below_zero_is_refused_at_once(client, work):
    head = (
        b"x/".ljust(16) + b"0".ljust(12) + b"0".ljust(6) + b"0".ljust(6) + b"644".ljust(8) + b"-60".ljust(10) + b"`\n"
    )
    (work / "neg.deb").write_bytes(b"!<arch>\n" + head * 3)
    text, is_error, _ = client.call("read_file", path="neg.deb/zz")
    assert is_error
    assert "too_slow" not in text


@pytest.mark.parametrize("name", ["twice.zip", "twice.tar", "twice.tar.gz"])
def test_of_members_of_one_name_the_last_is_read_and_that_is_told(client, work, name):
    if name.endswith(".zip"):
        with warnings.catch_warnings(), zipfile.ZipFile(work / name, "w") as archive:
            warnings.simplefilter("ignore")
            for text in ("first and longer", "other", "last"):
                archive.writestr("other.txt" if text == "other" else "a.txt", text)
    else:
        with tarfile.open(work / name, "w:gz" if name.endswith("gz") else "w") as archive:
            for text in ("first and longer", "other", "last"):
                info = tarfile.TarInfo("./other.txt" if text == "other" else "a.txt")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
    told = reply_of(shown(client, path=f"{name}/a.txt"))
    assert (told["preview"], told["note"]) == ("last", "2 members have this name; the last one is read")
    assert "repeated names: 1;" in reply_of(shown(client, path=name))["note"]
    assert "note" not in reply_of(shown(client, path=f"{name}/other.txt"))


@pytest.mark.parametrize("head", ["To", "Subject", "Content-Type"])
def test_a_mail_with_an_endless_head_is_read_and_what_is_left_out_told(client, work, head):
    values = {
        "Subject": "=?utf-8?q?=41=42?= " * 20_000,
        "Content-Type": "text/plain; " + "; ".join(["a*1*=x"] * 20_000),
    }
    value = values.get(head, ", ".join(f"Person {n} <p{n}@x.test>" for n in range(100_000)))
    (work / "endless.eml").write_text(
        f"From: a@x.test\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n{head}: {value}\n\nthe text itself\n"
    )
    told = reply_of(shown(client, path="endless.eml", grep="the text itself"))
    assert head in told["note"]
    assert "the text itself" in told["preview"]
    (work / "endless.eml").unlink()


@pytest.mark.parametrize("kind", ["signed", "mixed", "related"])
def test_what_is_attached_deeper_in_a_mail_is_listed_and_read(client, work, kind):
    inner = MIMEMultipart("mixed")
    inner.attach(MIMEText("the text"))
    inner.attach(MIMEText("and its end"))
    table = MIMEText("a,b\n1,2\n", "csv")
    table.add_header("Content-Disposition", "attachment", filename="f.csv")
    inner.attach(table)
    mail = MIMEMultipart(kind)
    mail["Subject"] = "s"
    mail.attach(inner)
    mail.attach(MIMEText("of a list", "x-footer"))
    (work / f"{kind}.eml").write_bytes(mail.as_bytes())
    text = shown(client, path=f"{kind}.eml")
    assert "the text" in text
    assert re.findall(r"^(\S+), (text/\S+), (\d+) bytes", text, re.MULTILINE) == [
        ("part-1", "text/plain", "11"),
        ("f.csv", "text/csv", "8"),
        ("part-3", "text/x-footer", "9"),
    ]
    assert shown(client, path=f"{kind}.eml/f.csv").endswith("a,b\n1,2\n")
