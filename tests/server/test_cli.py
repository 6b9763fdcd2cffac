"""The command line: as helpful as the tools."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bursar.server.cli import main
from bursar.server.config import Settings


def bursar(*words, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "bursar", *words], capture_output=True, env=os.environ | environment, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def options(tmp_path):
    return ["--root", str(tmp_path), "--data-dir", str(tmp_path / "data")]


@pytest.mark.parametrize(
    "words",
    [
        ["--root", ""],
        ["--root", "no/such/place"],
        ["--reply-bytes", "ten"],
        ["--reply-tokens", "9"],
        ["--copy-bytes", "-5"],
        ["--telemetry", "everywhere"],
        ["--patience-s", "-5"],
        ["--quota-bytes", "-1"],
        ["--idle-days", "nan"],
        ["--allow-net", "not an address"],
        ["--proxy", "socks://x"],
        ["--nonsense"],
        ["call"],
        ["call", "read_file", "README.md"],
        ["call", "read_file", "path:=["],
        ["sing"],
        ["tools", "more"],
    ],
    ids=" ".join,
)
def test_a_wrong_word_is_told_in_one_line(words, tmp_path, capfd):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--data-dir", str(tmp_path)])
    out, err = capfd.readouterr()
    assert ended.value.code == 2
    assert out == ""
    assert err.startswith("bursar: bad_")
    assert err.count("\n") == 1


def test_a_wrong_variable_is_told_in_one_line(tmp_path):
    code, out, err = bursar("call", "directory_tree", "--data-dir", str(tmp_path), BURSAR_ROOT=os.pathsep)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_a_call_prints_the_reply_and_what_it_costs(options, tmp_path):
    (tmp_path / "note.txt").write_text("hello 中文\n", "utf-8")
    code, out, err = bursar("call", "read_file", "path=note.txt", *options, PYTHONIOENCODING="ascii")
    assert code == 0
    assert out.endswith("}\nhello 中文\n\n")
    assert f"{len(out.encode()) - 1:,} bytes" in err
    assert "tokens" in err


def test_a_call_that_cannot_be_done_says_so_by_its_exit_status(options):
    code, out, err = bursar("call", "read_file", "path=missing.txt", *options)
    assert code == 1
    assert out.startswith("not_found: ")
    assert "an error" in err


def test_an_environment_variable_sets_what_no_option_sets(options, tmp_path):
    (tmp_path / "long.txt").write_text("word " * 3000)
    _, out, _ = bursar("call", "read_file", "path=long.txt", *options, BURSAR_REPLY_BYTES="1024")
    assert len(out.encode()) <= 1025
    _, out, _ = bursar("call", "read_file", "path=long.txt", *options, "--reply-bytes=4096", BURSAR_REPLY_BYTES="1024")
    assert len(out.encode()) > 1025


@pytest.mark.parametrize("command", [("doctor",), ("call", "terminal", "command=echo new"), ("tools",)])
def test_no_command_but_a_server_removes_an_old_session(options, tmp_path, command):
    assert bursar("call", "terminal", "command=echo old", *options)[0] == 0
    (session,) = [entry for entry in (tmp_path / "data" / "bursar").iterdir() if entry.is_dir()]
    (session / "lock").write_text(f"{1:014.3f} {1:014.0f} {1:019d}\n")
    for path in (*session.iterdir(), session):
        os.utime(path, (1, 1))
    bursar(*command, *options, "--idle-days", "0", "--quota-bytes", "1")
    assert session.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shell")
def test_a_reader_that_leaves_early_gets_no_traceback():
    shell = f"{sys.executable} -m bursar tools | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_an_output_that_cannot_be_written_is_told_in_one_line(options):
    shell = f"{sys.executable} -m bursar call terminal command=true {' '.join(options)} > /dev/full"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def test_a_variable_takes_what_its_option_takes():
    given = {
        "BURSAR_PROXY": "http://proxy.example:3128",
        "BURSAR_ALLOW_NET": "127.0.0.1:3000, 10.0.0.0/8:80",
        "BURSAR_PASS_ENV": "A,B",
        "BURSAR_ROOT": os.pathsep.join(["/", "/tmp"]),
    }
    settings = Settings.load({}, given)
    assert settings.proxy == "http://proxy.example:3128"
    assert settings.allow_net == ("127.0.0.1:3000", "10.0.0.0/8:80")
    assert settings.pass_env == ("A", "B")
    assert settings.root == (Path("/"), Path("/tmp"))
