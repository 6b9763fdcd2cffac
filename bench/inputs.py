"""Big and awkward inputs for measuring, each with a needle planted in its middle."""

import json
import random
import sys
from pathlib import Path

NEEDLE = "NEEDLE-7f3a91"


def log(path, size=5_000_000):
    """An application log; the needle is in one of two error lines."""
    chance = random.Random(1)
    lines, length, number = [], 0, 0
    while length < size:
        level = chance.choices(["INFO", "DEBUG", "WARN"], [80, 18, 2])[0]
        clock = f"2026-11-21T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.{number % 997:03d}Z"
        took, amount = chance.randint(1, 900), chance.randint(1, 9999)
        lines.append(f"{clock} {level} [worker-{number % 8}] order {number} amount={amount} served in {took} ms")
        length += len(lines[-1]) + 1
        number += 1
    middle = len(lines) // 2
    lines[middle] = lines[middle].replace("INFO", "ERROR").replace("DEBUG", "ERROR") + f" payment refused {NEEDLE}"
    path.write_text("\n".join(lines) + "\n")


def source(path, size=300_000):
    """Python source of some 300 KB; the needle is in a function in the middle."""
    parts, length, number = ['"""Orders."""\n\n'], 0, 0
    while length < size:
        name = f"handle_{NEEDLE.replace('-', '_')}" if abs(length - size // 2) < 220 else f"handle_order_{number}"
        parts.append(
            f"class Order{number}:\n"
            f'    """Order number {number}."""\n\n'
            f"    def {name}(self, amount, rate={number % 17}):\n"
            f"        if amount > {number * 31 % 1000}:\n"
            f"            return amount * rate\n"
            f"        return self.store.lookup(amount, {number})\n\n\n"
        )
        length += len(parts[-1])
        number += 1
    path.write_text("".join(parts))


def command():
    """A command that prints 200,000 lines, an error in the middle and a stack trace at the end."""
    script = (
        "import sys\n"
        "for n in range(100000): print('compiling module', n, 'ok')\n"
        f"print('ERROR: module 100000 {NEEDLE}')\n"
        "for n in range(100001, 199990): print('compiling module', n, 'ok')\n"
        "sys.stdout.flush()\n"
        "def build(): raise RuntimeError('build failed: one module did not compile')\n"
        "build()\n"
    )
    return f"{sys.executable} - <<'END'\n{script}END"


def one_line_json(path, size=10_000_000):
    """A JSON array of records on one line; one record has the needle, and a key that no other has."""
    chance = random.Random(2)
    records, length = [], 0
    while length < size:
        number = len(records)
        records.append(
            {
                "id": number,
                "user": {"name": f"user{number}", "tags": ["a", "b"][: number % 3]},
                "score": chance.random(),
                "note": "x" * chance.randint(10, 120),
            }
        )
        length += len(json.dumps(records[-1]))
    records[len(records) // 2]["secret"] = NEEDLE
    path.write_text(json.dumps(records, separators=(",", ":")))


def minified(path, size=20_000_000):
    """JavaScript on one line."""
    unit = "function a{0}(b,c){{var d=b.e({0},c);if(d>0){{return d.f(b)}}return c?g(d):h(b,{0})}}var i{0}=a{0}(j,k);"
    parts, length, number = [], 0, 0
    while length < size:
        parts.append(unit.format(number))
        length += len(parts[-1])
        number += 1
    parts[len(parts) // 2] += f'var key="{NEEDLE}";'
    path.write_text("".join(parts))


def chinese(path, size=5_000_000):
    """Chinese prose with emoji."""
    sentence = "系统在处理第{}号订单时一切正常，用户反馈良好😀👍🏽，下一步将继续观察数据的变化🚀。\n"
    lines, length, number = [], 0, 0
    while length < size:
        lines.append(sentence.format(number))
        length += len(lines[-1].encode())
        number += 1
    lines[len(lines) // 2] = f"订单失败：{NEEDLE}，请检查👨‍👩‍👧‍👦。\n"
    path.write_text("".join(lines))


def invalid(path, size=2_000_000):
    """Mostly UTF-8, with bytes that are none every few lines."""
    line = b"caf\xc3\xa9 \xff\xfe broken \xc3( record %d\n"
    lines = [line % number for number in range(size // 30)]
    lines[len(lines) // 2] = f"{NEEDLE} \n".encode() + b"\x80\x80\n"
    path.write_bytes(b"".join(lines))


def binary(path, size=3_000_000):
    """An ELF head and noise, with the needle as a string in it."""
    noise = random.Random(3).randbytes(size)
    path.write_bytes(b"\x7fELF\x02\x01\x01" + noise[: size // 2] + b"\0" + NEEDLE.encode() + b"\0" + noise[size // 2 :])


def tree(path, files=60_000):
    """Packages of modules; one file is named after the needle."""
    for package in range(files // 500):
        folder = path / f"pkg{package:03d}" / "src"
        folder.mkdir(parents=True)
        for number in range(500):
            name = f"{NEEDLE}.py" if (package, number) == (files // 1000, 250) else f"module{number}.py"
            Path(folder, name).write_bytes(b"x" * (number % 90))
