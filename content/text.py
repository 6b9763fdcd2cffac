"""Brings text of any encoding to UTF-8; runs in a worker process, because guessing an encoding takes time."""

from pathlib import Path

from .charset import decode


def run(source: str, target: str, url: str = "", charset: str = "") -> dict[str, str | int]:
    """Write the text in the file `source` to the file `target` as UTF-8.

    Returns:
        `encoding`, `told_by`, `broken`.
    """
    decoded = decode(Path(source).read_bytes(), charset)
    Path(target).write_bytes(decoded.text.encode("utf-8", "replace"))
    return {"encoding": decoded.encoding, "told_by": decoded.told_by, "broken": decoded.broken}
