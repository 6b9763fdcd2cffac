"""A command that prints 1 GiB beside the same command redirected to a file; and pages at the end of 5 GB.

python bench/capture.py [ROUNDS]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from bursar.budget.reply import Reply
from wire import server

COMMANDS = {
    "yes | head -c 1G": "yes 'a line of a log that goes on and on 0123456789' | head -c 1G",
    "seq 1 115000000": "seq 1 115000000",
    "head -c 1G /dev/zero | tr": "head -c 1G /dev/zero | tr '\\0' 'x'",
}


def redirected(command, target):
    started = time.perf_counter()
    subprocess.run(["bash", "-c", f"{{ {command}; }} > {target}"], check=True)
    took = time.perf_counter() - started
    target.unlink()
    return took


def captured(client, command, expected):
    text, is_error, took = client.call("terminal", command=command, timeout_s=600)
    reply = Reply.parse(text).value
    assert not is_error, text
    assert reply["size"]["bytes"] == expected, reply
    os.truncate(reply["path"], 0)
    return took


def capturing(folder, options, rounds):
    print(f"{'command':28} {'file, s':>8} {'captured, s':>12} {'speed':>6} {'memory':>9}")
    for name, command in COMMANDS.items():
        expected = int(subprocess.run(["bash", "-c", f"{command} | wc -c"], capture_output=True, check=True).stdout)
        plain, ours, grown = [], [], 0.0
        with server(*options) as client:
            client.call("terminal", command="seq 1 300000")
            time.sleep(3)
            before = client.forget_peak()
            for _ in range(rounds):
                plain.append(redirected(command, folder / "plain.out"))
                ours.append(captured(client, command, expected))
            grown = client.memory("VmHWM") - before
        best = min(plain), min(ours)
        print(f"{name:28} {best[0]:8.2f} {best[1]:12.2f} {best[0] / best[1]:6.0%} {grown:+6.1f} MiB")


def paging(folder, options):
    big = folder / "work" / "big.log"
    with open(big, "wb") as out:
        subprocess.run(["bash", "-c", "seq -f 'line %014.0f of a large log file' 1 119047619"], stdout=out, check=True)
    size = big.stat().st_size
    print(f"\n{f'pages at the end of {size / 1e9:.2f} GB':40} {'first, ms':>10} {'again, ms':>10} {'memory':>9}")
    with server(*options) as client:
        client.call("terminal", command="seq 1 300000")
        time.sleep(3)
        for name, tool, arguments in (
            ("file, last lines", "read_file", {"path": "big.log", "lines": "-50"}),
            ("file, bytes", "read_file", {"path": "big.log", "bytes": f"{size - 2000}-"}),
            ("artifact, tail", "read_artifact", {"artifact": "a2", "tail": 50}),
            ("artifact, bytes", "read_artifact", {"artifact": "a2", "bytes": f"{size - 2000}-"}),
            ("artifact, line numbers", "read_artifact", {"artifact": "a2", "lines": "119047600-"}),
        ):
            before = client.forget_peak()
            first, *more = (client.call(tool, **arguments) for _ in range(6))
            assert "line 00000119047619" in first[0], first[0]
            again = min(took for _, _, took in more)
            print(f"{name:40} {first[2] * 1000:10.1f} {again * 1000:10.1f} {client.memory('VmHWM') - before:+6.1f} MiB")


def main(rounds):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "work").mkdir()
        options = ["--root", str(folder / "work"), "--data-dir", str(folder / "data"), "--patience-s", "600"]
        capturing(folder, options, rounds)
        paging(folder, options)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
