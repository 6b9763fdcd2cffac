"""Tells which files are read as something else than their bytes, by how they begin and what they are called."""

from pathlib import PurePath

from ...budget.formats import recognise

HEAD_BYTES = 64 * 1024
"""As much of the start as a decision needs."""

_FORMS = {
    "PDF document": "pdf",
    "tar archive": "tar",
    "gzip": "packed",
    "xz": "packed",
    "zstd": "packed",
    "bzip2": "packed",
    "ar archive": "ar",
    "RPM package": "rpm",
}
_SUFFIXES = {".ipynb": "notebook", ".eml": "mail", ".mbox": "mailbox", ".rtf": "rtf"}
_STARTS = {"notebook": b"{", "mailbox": b"From ", "rtf": b"{\\rtf", "mail": b""}


def form_of(head: bytes, name: str) -> str:
    """Return how a file is read: `pdf`, `zip` (and documents that are one), `tar`, `packed` …; empty for as it is.

    Args:
        head: its first bytes, `HEAD_BYTES` of them or all.
        name: its path.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    form = _FORMS.get(recognise(head)) or _SUFFIXES.get(PurePath(name).suffix.lower(), "")
    return form if head.lstrip().startswith(_STARTS.get(form, b"")) else ""
