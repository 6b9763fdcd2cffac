"""What a person sees of a terminal, compared with an emulator that others wrote, on what real programs draw."""

import os
import pty
import re
import select
import subprocess
import time
from unicodedata import normalize

import pyte
import pytest
from bursar.content.screen import COLUMNS, ROWS, Screen, run
from hypothesis import given
from hypothesis import strategies as st

SCRIPTS = {
    "progress": (r"for i in 1 2 3; do printf '\rstep %d' $i; done; printf '\r\033[Kend\n'", "", ()),
    "moves": (r"printf 'one\ntwo\nthree\033[2A\rX\033[1B\033[4GY\033[5;7HZ\033[1;1H\033[1Mtop\n'", "", ()),
    "regions": (
        r"seq 30; printf '\033[3;6r\033[6;1Ha\nb\nc\033[r\033[24;1H'; printf '\033[3;1H\033[2L\033[1P\033[2@in'",
        "",
        (),
    ),
    "wide": (r"printf '日本語\r\033[4Cab\ne\u0301a\n'", "", ()),
    "tabs": (r"printf 'a\tb\t\tc\b\bd\n\033[3Xq'", "", ()),
    "vi": ("vi -u NONE text.txt", "vi", (b":%s/line/LINE/\r", b"ddp")),
    "less": ("less text.txt", "less", (b"/line 40\r", b"k")),
    "top": ("top -d 9", "top", ()),
}


def drawn(command, keys, cwd):
    """Run a program on a terminal, type, and return all that it drew until then."""
    ours, theirs = pty.openpty()
    import termios

    termios.tcsetwinsize(theirs, (ROWS, COLUMNS))
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    program = subprocess.Popen(
        ["bash", "-c", command],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    data = b""
    for key in (b"", *keys):
        os.write(ours, key)
        until = time.monotonic() + 0.6
        while (left := until - time.monotonic()) > 0:
            if select.select([ours], [], [], left)[0]:
                try:
                    data += os.read(ours, 65536)
                except OSError:
                    break
    program.kill()
    program.wait()
    os.close(ours)
    return data.decode("utf-8", "replace")


def shown_by_others(text):
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.Stream(screen).feed(re.sub(r"\x1b\[[?>][0-9;]*m", "", text))  # it fails at these, which say nothing
    return [line.rstrip() for line in screen.display]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.needs(*s[1].split())) for n, s in SCRIPTS.items()])
def test_a_screen_is_as_another_emulator_shows_it(tmp_path, name):
    (tmp_path / "text.txt").write_text("".join(f"line {number}\n" for number in range(60)))
    command, _, keys = SCRIPTS[name]
    text = drawn(command, keys, tmp_path)
    ours = Screen()
    ours.draw(text)
    lines = ours.lines()
    theirs = shown_by_others(text)
    if not ours.is_other:  # ours also has what scrolled off
        while theirs and not theirs[-1]:
            theirs.pop()
        lines = lines[-len(theirs) :]
    assert [normalize("NFC", line) for line in lines] == [normalize("NFC", line) for line in theirs]


PIECES = [
    "\x1b(0",
    "\x0e",
    "77b",
    "\x1b[",
    "\x1b",
    "1;",
    "5",
    "99999999999",
    ";",
    "\x1b]0;t",
    "?1049h",
    "?1049l",
    *"HJKmrLMADPX@ST\r\n\b\t\a",
]
WORDS = ["日", "e\u0301", "x" * 130]


@given(st.lists(st.sampled_from(PIECES + WORDS), max_size=60))
def test_no_sequence_breaks_a_screen(pieces):
    screen = Screen()
    screen.draw("".join(pieces))
    assert len(screen._rows) == ROWS
    assert all(len(row) == COLUMNS for row in screen._rows)


def test_only_what_is_new_is_shown_and_long_lines_are_whole(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"one\r\n>>> ")
    before = path.stat().st_size
    path.write_bytes(b"one\r\n>>> f()\r\n" + b"y" * 300 + b"\r\n>>> ")
    assert run(str(path), before) == {
        "above": f">>> f()\n{'y' * 300}\n",
        "below": ">>>",
        "is_screen": False,
        "is_cut": False,
    }


def lines_of(text):
    screen = Screen()
    screen.draw(text)
    return screen.lines()


def test_what_was_erased_or_is_on_the_other_screen_joins_no_lines():
    cleared = lines_of("x" * 150 + "\x1b[H\x1b[2Jone\r\ntwo\r\n")
    assert cleared == ["one", "two"]
    other = lines_of("first\r\n\x1b[?1049h" + "y" * 150 + "\r\n" + "z" * 130 + "\x1b[?1049lalpha\r\nbeta")
    assert other[-2:] == ["alpha", "beta"]
    assert lines_of("\x1b[" + "1" * 5000 + "Ax") == ["x"]


def test_what_stands_at_the_cursor_is_told_from_what_is_above_it(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"x" * 150 + b"\r\nsums\r\n\r\nrow 1\r\nrow 2\x1b[2A\r")
    assert run(str(path), 0) == {
        "above": "x" * 150 + "\nsums\n",
        "below": "\nrow 1\nrow 2",
        "is_screen": False,
        "is_cut": False,
    }


def test_lines_drawn_with_letters_are_lines_and_what_is_repeated_stands_so_often():
    box = "\x1b(0lqqk\x1b(B\r\n\x1b)0\x0ex\x0f x\x0ex\x0f\r\n"
    assert lines_of(box + "-\x1b[9b|\x1b[b") == ["┌──┐", "│ x│", "----------||"]
    assert lines_of("\x1b(0q\x1bcq") == ["q"]
    assert len("".join(lines_of("ab\x1b[99999b"))) == 2 + ROWS * COLUMNS


def test_lines_are_drawn_as_another_emulator_draws_them():
    letters = "".join(map(chr, range(0x60, 0x7F))).replace("h", "")  # which is another sign there than in xterm
    text = f"\x1b(0{letters}\x1b(B ab\r\n\x1b)0\x0elqk\x0flqk"
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    stream.use_utf8 = False  # else it takes no other sets
    stream.feed(text)
    assert lines_of(text) == [line.rstrip() for line in screen.display[:2]]
