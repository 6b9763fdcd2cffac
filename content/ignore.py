"""What .gitignore files hide, as git reads them: the nearest file that has a rule for a path decides."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

RULES_BYTES = 256 * 1024
"""Of one .gitignore file; what is beyond is no rule that a person wrote."""

_RULES_MAX, _RULE_MAX_CHARACTERS = 3000, 1000
"""Beyond either, compiling the rules takes seconds or fails."""


class Rules:
    """The rules that hold in one directory; its subdirectories derive theirs from it."""

    __slots__ = ("_chain",)

    def __init__(self, chain: tuple[tuple[str, "GitIgnoreSpec"], ...] = ()) -> None:
        self._chain = chain

    def within(self, directory: str, text: bytes | None) -> "Rules":
        """Return these rules and those of the .gitignore `text` of `directory`, which ends with a slash or is empty."""
        spec = _spec(text) if text else None
        return Rules(((directory, spec), *self._chain)) if spec else self

    def hides(self, path: str, *, is_directory: bool) -> bool:
        """Tell whether the rules hide a path, given as from the top of the tree that they were read for."""
        for directory, spec in self._chain:
            inside = path[len(directory) :] + ("/" if is_directory else "")
            verdict = spec.check_file(inside).include
            if verdict is not None:
                return verdict
        return False

    def __bool__(self) -> bool:
        return bool(self._chain)


def _spec(text: bytes) -> "GitIgnoreSpec | None":
    lines = text.decode("utf-8", "replace").splitlines()
    rules = [line for line in lines if line.strip() and not line.startswith("#") and len(line) <= _RULE_MAX_CHARACTERS]
    return _compiled(rules[:_RULES_MAX]) or _compiled([rule for rule in rules[:_RULES_MAX] if _compiled([rule])])


def _compiled(rules: list[str]) -> "GitIgnoreSpec | None":
    """Compile rules; None if there are none, or one of them is malformed: git skips such rules."""
    if not rules:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(rules)
    except Exception:  # noqa: BLE001 - each engine of pathspec raises errors of its own
        return None
