"""The forms of lines in which tools tell of failures: compilers, linkers, checkers, test runners, installers, logs."""

import re
from functools import cache

from .pattern import BytesPattern, BytesSet, compile_bytes

TEST, NUMBERED, CAUSE, DETAIL, LEVEL = "test", "numbered", "cause", "detail", "level"
"""A test that failed; one if the line is below a runner's count; what a compiler or checker complains of; a failed
assertion or what was thrown; a line of a log at the level of an error."""

ERROR, SUMMARY, WARNING = "error", "summary", "warning"
"""Any other error of a tool; a runner's count; a warning."""

LINE_BYTES = 1024
"""Of a line, this much is looked at."""

_PREFIX = r"(?:\d{4}-\d\d-\d\dT[\d:.]+Z |#\d+ (?:\d+\.\d+ )?|[\w.-]{1,40} +\| )?"
"""Put before each line by services that build, by docker build and by docker compose."""

_PLACE = r"(?:[A-Za-z]:)?[^\s:(\[|>][^:\n(\"']{0,200}"
_STAMP = (
    r"(?:\[?(?:\d{4}[-/]\d\d[-/]\d\d|\w{3}[, ] ?\w{3} [ \d]\d|\w{3} [ \d]\d|\d\d[-/]\w{3}[-/]\d{2,4})"
    r"[T :]{1,2}\d\d:\d\d(?::\d\d)?|\[?\d\d:\d\d:\d\d|\[?\d{10}\b)[^\n]{0,80}?"
)
_NO_FILE = (
    r"(?:No such file or directory|Permission denied|[Cc]ommand not found|not found|Connection refused"
    r"|No space left on device|Is a directory|Not a directory|Address already in use|cannot execute[^\n]*)"
)

_FORMS: dict[str, tuple[str, ...]] = {
    TEST: (
        r"(?:FAILED|ERROR) ([^\s:]+\.py(?:::[^\n]*?)?)(?: - [^\n]*)?$",
        r"([^\s:]+\.py::[^\n]+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$",
        r"\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) ([^\n]+?) ?$",
        r"(?:FAIL|ERROR): (\w+ \([\w.]+\)[^\n]*)$",
        r" *not ok \d+(?: -)? ([^\n#]+?)$",
        r" {0,12}(?:✖|✗|✕|×|❌) ([^\n]*?[^\n:])(?: \(\d[\d.]* ?m?s\)| \d+ms)?$",
        r"  ● ([^\n]+? › [^\n]+|Test suite failed to run)$",
        r" ?FAIL {1,2}([^\s:]+\.\w+(?: > [^\n]+)?)(?: \[ [^\n]+ \])?(?: \(\d[^\n]*\))?$",
        r"\d+\) (\w+\([\w.$]+\)|[\w\\]+::\w+[^\n]*)$",
        r"rspec (\S+:\d+) #",
        r" *--- FAIL: (\S+) \(",
        r"FAIL\t(\S+)(?:\t| \[)",
        r"test (\S[^\n]*?) \.\.\. FAILED$",
        r" {2,20}(\S[^\n]*?) \(FAILED - \d+\)$",
        r"(\w[\w.$]* > [^\n]+) FAILED$",
        r"\t? *\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Not Run|Subprocess [^\n)]*)\)",
    ),
    NUMBERED: (r" {2}(\d{1,4})\) \S[^\n]{0,200}$",),
    CAUSE: (
        (
            rf" *{_PLACE}:\d+(?::\d+)?:? (?:- )?(?:fatal |internal compiler )?(?:error|ERROR)(?: (TS\d+))?: [^\n]*?"
            r"(?:[\[(]([a-z]+-[a-z-]+|report\w+)[\])])?$"
        ),
        rf" *{_PLACE}\(\d+(?:,\d+)*\): (?:fatal )?error (\w+\d+)?:? ",
        rf" *{_PLACE}:\d+:\d+: ([A-Z]{{1,4}}\d{{2,5}}):? ",
        r" *(?:vet: )?[\w./@-]+\.go:\d+:\d+: ",
        r" *\d+:\d+ +(?:error|✖) +[^\n]*? ([@\w/-]+)$",
        r" *(?:error|ERROR)\[(\w+)\]: ",
        r"[^\n]{0,200}: undefined reference to ",
        r"[^\n]{0,80}\bld(?:\.\w+)?: (?:cannot find|error: |symbol)[^\n]*",
        r"LINK : fatal error (LNK\d+)",
        r" *SyntaxError: ",
        r" *(?:✘ )?\[ERROR\] (?:\S+\.(?:java|kt|scala):|Failed to execute|Could not |No plugin)",
        r"✘ \[ERROR\] ",
        r"ERROR in \.{0,2}/",
        r"CMake Error",
        r"\* What went wrong:",
        r"e: file:",
        r"(?:would reformat|\[(?:warn|error)\]) (?:[\w./-]+)$",
        r"[^\n]{0,200}: WARNING: [^\n]*(?:\[([\w.]+)\])?$",
    ),
    DETAIL: (
        r"E {3,15}(?:assert |fixture |(?:\w+\.)*[A-Z]\w*(?:: |$)|(?:\w+\.)+\w+: )",
        (
            r" *(?:[a-z_]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception|Failure|Interrupt|Exit|Fault|NotFound|Expired|Failed)"
            r"(?: \[\w+\])?(?:: |$)"
        ),
        r" {4,}\w+_test\.go:\d+: ",
        r"(?:Exception in thread|Caused by:|Fatal Python error|panic:|thread '[^\n]*' (?:\(\d+\) )?panicked at) ?",
        r"==\d+==ERROR: ",
        r" +(?:Expected|Received|expected|actual|Failure/Error)[^:\n]{0,20}: ",
        r" +error: ['\"|]",
        r"# +(?:got|expected|Failed test|Structures begin)\b",
        r" *(?:Segmentation fault|Killed|Aborted|Bus error|Illegal instruction|[^\n]{0,80}core dumped)",
    ),
    LEVEL: (
        rf"{_STAMP}(?:[\s\[|<(:]|^)(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|ALERT|EMERG|ERR)(?:[\s\]|>):]|$)",
        rf"{_STAMP}\[(?:[\w.]+:)?(?:error|crit|alert|emerg)\]",
        rf"{_STAMP}\blevel=(?:error|fatal|panic|critical)\b",
        r"[EF]\d{4} \d\d:\d\d:\d\d",
        rf"{_STAMP}\w\]?: (?:error|fatal|Error|Fatal|panic|Panic|critical)(?:\([^)\n]*\))?: ",
        r"(?:level=|time=[^\n]{0,60}level=)(?:error|fatal|panic|critical)\b",
        r"(?:  )?(?:ERROR|FATAL|CRITICAL|SEVERE)[: \t]",
    ),
    ERROR: (
        r"(?:  |      )?(?:error|Error|fatal|Fatal|FAILURE|E)(?: \w{1,12})?: ",
        r"(npm|yarn|pnpm|gyp) (?:ERR!|error) ",
        r"\[ERROR\] ",
        r" *(?:× |╰─▶ |error cause:)",
        rf"[^\s:][^:\n]{{0,80}}: [^\n]{{0,300}}{_NO_FILE}$",
        r"(?:FAILED|ninja: build stopped|make(?:\[\d+\])?: \*\*\*)[: ]",
        r"nox > [^\n]*(?:failed|error)",
        r"The conflict is caused by:",
        r"Traceback \(most recent call last\):",
    ),
    SUMMARY: (
        r"=+ [^\n]*\d+ (?:failed|error)[^\n]* =+$",
        r"\d+ (?:failed|errors?), [^\n]* in [\d.]+s",
        r" *Tests?:? {1,}[^\n]*\d+ fail",
        r" *\d+ failing$|Failures:$",
        r"test result: FAILED",
        r"FAILED \((?:failures|errors)=",
        r"Tests run: \d+",
        r"# fail [1-9]",
        r"ℹ fail [1-9]",
        r"Found \d+ errors?",
        r"(?:✖|✘) \d+ problems?",
        r"\d+ examples?, [1-9]\d* failure",
        r"[1-9][\d,]* errors?(?:, \d+ warnings?|\.| generated)",
        r"(?:Failed tests?:|Result: FAIL)",
    ),
    WARNING: (
        rf" *{_PLACE}:\d+(?::\d+)?:? (?:- )?(?:warning|WARNING): ",
        r" *\d+:\d+ +warning [^\n]*? ([@\w/-]+)$",
        r" *(?:warning|WARNING|Warning)(?:\[\w+\])?: ",
        r"npm (?:WARN|warn) ",
        r"\[WARNING\] ",
        rf"{_STAMP}(?:[\s\[|<(:]|^)(?:WARN|WARNING)(?:[\s\]|>):]|$)",
        rf"{_STAMP}\[(?:[\w.]+:)?warn(?:ing)?\]",
        rf"{_STAMP}\blevel=warn",
        r"W\d{4} \d\d:\d\d:\d\d",
        r"(?:WARN|WARNING)[: \t]",
    ),
}

_EVERY = tuple((kind, f"^{_PREFIX}(?:{form})") for kind, forms in _FORMS.items() for form in forms)


def _loose(form: str) -> str:
    """Lift the bounds of a form: each would multiply the states that a search of a whole block is in."""
    return re.sub(r"\{(\d),\d\d+\}\??", r"{\1,}", form)


CANDIDATE = compile_bytes(
    _loose(f"^{_PREFIX}(?:{'|'.join(form for forms in _FORMS.values() for form in forms)})"),
    every_line=True,
    groups=False,
)
"""Matches the beginning of every line that `judge` knows, and of few others."""

_LIKELY = BytesSet([_loose(form) for _, form in _EVERY], every_line=True)


@cache
def _form(place: int) -> BytesPattern:
    return compile_bytes(_EVERY[place][1], every_line=True)


def judge(line: bytes) -> tuple[str, bytes] | None:
    """Return the kind of a line and what its form names: the test, or the code of the error; None for other lines."""
    line = line[:LINE_BYTES]
    for place in _LIKELY.matches(line):
        if (match := _form(place).match(line)) is not None:
            return _EVERY[place][0], next(filter(None, match.groups()), b"")
    return None


_LIBRARIES = (
    *(b"site-packages", b"dist-packages", b"/lib/python", b"<frozen", b"node_modules", b"node:internal", b"(internal/"),
    *(b" java.", b" jdk.", b" sun.", b" org.junit.", b"java.base/", b"libasan", b"sanitizer_common", b"/rustc/"),
)
"""Frames of a stack that are not its user's."""

_FRAME_BEFORE = compile_bytes(r" *File (\"[^\"\n]+\", line \d+)")
_FOLLOWED = tuple(
    (compile_bytes(f"^{_PREFIX}(?:{line})"), count, compile_bytes(behind))
    for line, count, behind in (
        (r" *error(?:\[\w+\])?: ", 1, r" *--> | +cause: |location searched:"),
        (r"(?:npm|gyp) (?:ERR!|error) ", 7, r"(?:npm|gyp) (?:ERR!|error) +\S"),
        (r"E {3}", 1, r"\S+\.py:\d+: "),
        (r"The conflict is caused by:| {2}(?:× No |\d+\) )|  ● |CMake Error|\* What went", 4, r" +[^\s|│]"),
        (r"ERROR in [./]|✘ ", 1, r"\S|   +\S+:\d+:\d+:"),
        (r"thread '", 1, r"\S"),
        (r"==\d+==ERROR", 1, r" +#\d+ [^\n]* \S+:\d+"),
        (r"Fatal Python error", 1, r" *File "),
        (r" *[\w.]*(?:[A-Z]\w*(?:Error|Exception)|Exception in thread)\b", 1, r"\s+at |# "),
    )
)
_PLACED = compile_bytes(rf"^{_PREFIX} *(?:E +)?(?:{_PLACE}[:(]\d+(?:[:,]\d+)?\)?:?|{_STAMP})?", groups=False)


def context(line: bytes, before: list[bytes], behind: list[bytes]) -> list[bytes]:
    """Return the lines that belong to one: where it was thrown, what a tool goes on to say of it."""
    frames = [frame for frame in before if b'", line ' in frame and _FRAME_BEFORE.search(frame) is not None]
    if frames and not line.startswith(b"E ") and any(frame in before[-4:] for frame in frames):
        return [next((frame for frame in reversed(frames) if not _is_library(frame)), frames[-1])]
    if before and b"In file included from " in before[-1][:LINE_BYTES]:
        return before[-1:]
    for form, count, wanted in _FOLLOWED:
        if form.search(line[:LINE_BYTES]) is not None:
            found = [one for one in behind if wanted.search(one[:LINE_BYTES]) is not None]
            found = [one for one in found if not _is_library(one)] or found
            return found[:count]
    return []


def unplaced(line: bytes) -> bytes:
    """Return a line without the place in a file or the time at its start."""
    match = _PLACED.match(line)
    return line if match is None else line[match.end() :]


def _is_library(frame: bytes) -> bool:
    return any(mark in frame for mark in _LIBRARIES)
