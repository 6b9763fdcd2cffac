"""What a process and all that it started use: memory and processor time, as the kernel counts them."""

import os
import re
from pathlib import Path


def family(pid: int) -> set[int]:
    """Return the process and all its descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(_stat(entry)[1])
            except OSError:
                continue
    found = {pid}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def pss_mib(pid: int) -> float:
    """Return the memory of a family, what several share counted once."""
    total = 0
    for one in family(pid):
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        if found := re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE):
            total += int(found[1])
    return total / 1024


def cpu_s(pid: int) -> float:
    """Return the processor time of a family, of those that have ended included."""
    ticks = 0
    for one in family(pid):
        try:
            ticks += sum(map(int, _stat(Path(f"/proc/{one}"))[11:15]))
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(process: Path) -> list[str]:
    """Return the fields of `stat` from the third on; the second, the name, may hold anything."""
    return (process / "stat").read_text().rpartition(")")[2].split()
