"""What is typed to interactive programs, and what must be seen then."""

import subprocess

PDB = "def f(n):\n    return n * 2\n\nprint(f(21))\n"


def git(work, *words):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@x.test", *words], cwd=work, check=True, capture_output=True
    )


def repository(work, name):
    """Make a repository of three commits and a change."""
    place = work / name
    place.mkdir()
    git(place, "init", "-q")
    for number in range(3):
        (place / "f.txt").write_text("".join(f"line {line}\n" for line in range(number + 1)))
        git(place, "add", "f.txt")
        git(place, "commit", "-qm", f"commit {number}")
    git(place, "config", "user.name", "n")
    git(place, "config", "user.email", "e@x.test")
    return place


def added(work):
    (repository(work, "added") / "f.txt").write_text("line 0\nline 1\nline 2\nnew\n")


def files(work):
    (work / "prog.py").write_text(PDB)
    (work / "long.txt").write_text("".join(f"r{row}\n" for row in range(99)))
    (work / "text.txt").write_text("".join(f"line {line}\n" for line in range(6)))


DIALOGUES = {
    "python": (
        "python3 -q",
        "",
        [("6*7\n", "42"), ("def f(x):\n  return x+1\n\nf(1)\n", "2"), ("1/0\n", "ZeroDivisionError"), ("\x04", None)],
    ),
    "pdb": (
        "python3 -m pdb prog.py",
        "",
        [("b 2\n", "Breakpoint 1"), ("c\n", "return n * 2"), ("p n\n", "21"), ("c\n", "42"), ("q\n", None)],
    ),
    "bc": ("bc -q", "bc", [("2^64\n", "18446744073709551616"), ("quit\n", None)]),
    "sqlite3": (
        "sqlite3",
        "sqlite3",
        [
            ("create table t(n); insert into t values (5);\n", "sqlite>"),
            ("select n*2 from t;\n", "10"),
            (".quit\n", None),
        ],
    ),
    "bash": ("bash --norc -i", "", [("cd /; pwd\n", "/"), ("echo $((6*7))\n", "42"), ("exit\n", None)]),
    "a question": ("read -p 'Sure? [y/n] ' a; echo you said $a", "", [("y\n", "you said y")]),
    "git add -p": ("cd added && git add -p", "git", [("y\n", None)]),
    "git rebase -i": (
        "cd rebased && GIT_EDITOR='vi -u NONE' git rebase -i HEAD~2",
        "git vi",
        [(":2s/pick/fixup/\n", "fixup"), (":wq\n", "Successfully rebased")],
    ),
    "vi": ("vi -u NONE text.txt", "vi", [(":%s/line/LINE/\n", "LINE 5"), ("ggdd", "LINE 1"), (":x\n", None)]),
    "less": ("less long.txt", "less", [("/r40\n", "r55"), ("q", None)]),
    "top": ("top -d 60", "top", [("q", None)]),
    "gdb": (
        "gdb -q --args python3 -c 'print(42)'",
        "gdb",
        [("print 6*7\n", "$1 = 42"), ("help\n", "(gdb)"), ("quit\n", None)],
    ),
    "node": (
        "node",
        "node",
        [
            ("[6,7].reduce((a,b)=>a*b)\n", "42"),
            ("for(let i=0;i<300;i++)console.log('row',i)\n", "299"),
            (".exit\n", None),
        ],
    ),
    "perl -d": ("perl -de 0", "perl", [("print 6*7\n", "42"), ("q\n", None)]),
    "ed": ("ed -p: long.txt", "ed", [(",p\n", "r98"), ("2s/r/R/p\n", "R1"), ("Q\n", None)]),
}
"""Of each: the command, the programs it needs, and what is typed with what is then seen; None: it has ended."""

PASSWORDS = {
    "getpass": "python3 -c 'import getpass; getpass.getpass()'",
    "read -s": "read -s -p 'Password: ' x",
    "stty -echo": "stty -echo; head -1",
}
"""Commands that ask for a password, and never get one."""
