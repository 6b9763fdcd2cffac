import time

import anyio
import pytest
from bursar.artifacts import engines, ranking
from bursar.artifacts.ranking import ranked
from bursar.errors import BursarError


@pytest.fixture(params=["ripgrep", "re2"], autouse=True)
def engine(request, monkeypatch):
    if request.param == "re2":
        monkeypatch.setattr(engines, "ripgrep", lambda: None)


def search(artifacts, text, deadline_s=20.0):
    return anyio.run(lambda: ranked(artifacts, text, deadline_s, lambda done, total: None))


def rows(found):
    return [piece.text for piece in found.page.pieces]


def test_lines_with_more_of_the_words_come_first_whatever_artifact_they_are_in(stored):
    first = stored(b"the disk\nthe disk is full: no quota\nquota\n")
    second = stored(b"nothing here\nDisk QUOTA reached\n")
    found = search([second, first], "disk quota full")
    assert rows(found)[:2] == ["a1:2:the disk is full: no quota\n", "a2:2:Disk QUOTA reached\n"]
    assert set(rows(found)[2:]) == {"a1:1:the disk\n", "a1:3:quota\n"}
    assert (found.searched, found.left_out) == (2, 0)


def test_a_rare_word_counts_more_than_a_frequent_one(stored):
    artifact = stored(b"error and nothing else\n" * 300 + b"a greenlet\n" + b"error again\n" * 300)
    assert rows(search([artifact], "error greenlet"))[0] == "a1:301:a greenlet\n"


def test_a_rare_word_is_found_behind_a_flood_of_a_frequent_one(stored):
    flood = b"a frequent word\n" * 8000
    artifact = stored(flood + b"a rare and frequent word\n" + flood + b"rare\n")
    assert rows(search([artifact], "frequent rare"))[:2] == ["a1:8001:a rare and frequent word\n", "a1:16002:rare\n"]


def test_no_more_lines_are_shown_than_can_be_read_and_none_twice(stored):
    artifact = stored(b"needle\n" * 5000)
    assert rows(search([artifact], "needle")) == [f"a1:{line}:needle\n" for line in range(1, ranking.SHOWN + 1)]
    long = rows(search([stored((b"x" * 900 + b" needle ") * 4000)], "needle"))
    assert len(long) == len(set(long)) == ranking.SHOWN


def test_a_passage_of_a_long_line_is_an_excerpt_with_its_place(stored):
    artifact = stored(b"x " * 50_000 + b"disk " + b"x " * 50_000 + b"disk quota" + b" x" * 50_000)
    assert rows(search([artifact], "quota disk"))[0].startswith("a1:1:200005:…x x x")
    assert "disk quota" in rows(search([artifact], "quota disk"))[0]


def test_words_are_letters_and_digits_and_no_pattern(stored):
    artifact = stored("f(x) [a-z]* \\d+ (?i) größe नमस्ते\nxyz\n".encode())
    assert rows(search([artifact], "GRÖSSE größe नमस्ते )(*[")) == [
        f"a1:1:{artifact.read(0, 99).decode().splitlines()[0]}\n"
    ]
    for nothing in ("", " ", ".*", "\0\n", "\ud800", "[]{}()^$|\\"):
        with pytest.raises(BursarError, match="bad_argument"):
            search([artifact], nothing)
    assert rows(search([artifact], "nowhere " * 9999)) == []


def test_more_words_than_can_be_searched_for_are_left_out(stored):
    artifact = stored(b"".join(b"w%d\n" % number for number in range(40)))
    words = " ".join(f"w{number}x w{number}" for number in range(20, 40))
    assert len(rows(search([artifact], words))) == 4


def test_what_cannot_be_read_or_is_too_much_is_left_out_and_counted(stored, session, monkeypatch):
    good, damaged, large = stored(b"needle\n"), stored(b"needle too\n"), stored(b"needle\n" * 2000)
    path = session.directory / damaged.path.rpartition("/")[2]
    path.chmod(0o600)
    path.write_bytes(b"changed behind its back needle\n")
    monkeypatch.setattr(ranking, "BYTES_MAX", 1000)
    found = search([large, damaged, good], "needle")
    assert rows(found) == ["a1:1:needle\n"]
    assert (found.searched, found.left_out) == (1, 2)


def test_what_was_found_in_time_is_ranked(stored, monkeypatch):
    artifacts = [stored(b"needle %d\n" % number) for number in range(3)]
    search_one = ranking._Search._in

    def slow(self, artifact):
        if artifact.id == "a2":
            while not self._is_stopped:
                time.sleep(0.01)
        return search_one(self, artifact)

    monkeypatch.setattr(ranking._Search, "_in", slow)
    found = search(artifacts, "needle", deadline_s=1.0)
    assert rows(found) == ["a1:1:needle 0\n"]
    assert (found.searched, found.left_out) == (1, 2)
