"""Commands that print real logs, or 1 GiB, beside the same redirected to a file; and pages at the end of 5 GB.

python bench/capture.py [ROUNDS] [--only logs floods pages] [--mib 11 64 256 1024]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import logs
from bursar.budget.reply import Reply
from wire import server

COMMANDS = {
    "yes | head -c 1G": "yes 'a line of a log that goes on and on 0123456789' | head -c 1G",
    "seq 1 115000000": "seq 1 115000000",
    "head -c 1G /dev/zero | tr": "head -c 1G /dev/zero | tr '\\0' 'x'",
}


PRINTERS = {"cat": "cat {}", "zcat": "zcat {}.gz"}
"""How a log is printed: at the speed of memory, and as one that was put away is read."""


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


def capturing_logs(folder, options, rounds, sizes):
    """Each log by each printer: seconds, how long after the command's end the reply comes, and the server's work."""
    print(f"{'printed':45}   MiB  file, s captured  speed late, ms  CPU, s    memory")
    log, plain = folder / "work" / "real.log", folder / "plain.out"
    for kind in logs.KINDS:
        for size in sizes:
            if not logs.make(kind, size << 20, log):
                print(f"{kind:45} nothing to make it of: run bench/corpus.py and bench/failures.py")
                break
            subprocess.run(["gzip", "-1kf", log], check=True)
            for name, printer in PRINTERS.items():
                command = printer.format(log.name)
                with server(*options) as client:
                    client.call("terminal", command="seq 1 300000")
                    time.sleep(3)
                    rows = [
                        one_round(client, f"cd {log.parent}; {command}", command, plain, log) for _ in range(rounds)
                    ]
                    before = client.forget_peak()
                    one_round(client, f"cd {log.parent}; {command}", command, plain, log)
                    grown = client.memory("VmHWM") - before
                file, took, late, cpu = map(statistics.median, zip(*rows, strict=True))
                speed = statistics.median(row[0] / row[1] for row in rows)
                print(
                    f"{f'{name}: {kind}':45} {size:5} {file:8.3f} {took:8.3f} {speed:6.0%}"
                    f" {late * 1000:8.0f} {cpu:7.2f} {grown:+5.1f} MiB",
                    flush=True,
                )


def one_round(client, shell, command, plain, log):
    file = redirected(shell, plain)
    before = client.cpu_s()
    text, is_error, took = client.call("terminal", command=f"{command}; date +%s.%N > ended", timeout_s=600)
    ended = time.time()
    assert not is_error, text
    reply = Reply.parse(text).value
    assert reply["size"]["bytes"] == log.stat().st_size, reply
    os.truncate(reply["path"], 0)
    return file, took, ended - float((log.parent / "ended").read_text()), client.cpu_s() - before


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=4)
    parser.add_argument("--only", nargs="+", default=["logs", "floods", "pages"])
    parser.add_argument("--mib", nargs="+", type=int, default=[11, 64, 256, 1024])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "work").mkdir()
        options = ["--root", str(folder / "work"), "--data-dir", str(folder / "data"), "--patience-s", "600"]
        if "logs" in asked.only:
            capturing_logs(folder, options, asked.rounds, asked.mib)
        if "floods" in asked.only:
            capturing(folder, options, asked.rounds)
        if "pages" in asked.only:
            paging(folder, options)


if __name__ == "__main__":
    main()
