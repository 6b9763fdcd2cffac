"""What a site's robots.txt asks of automatic readers, by the rules of RFC 9309."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

AGENT = "bursar"
MAX_BYTES = 500 * 1024
"""RFC 9309 §2.5: a reader must take in at least this much."""

_MAX_RULES = 5000

_MAX_PATTERN = 8192
"""Signs of a rule: no address that is fetched has a longer path."""

_MAX_STEPS = 100_000_000
"""Signs compared for one address at most; some 0.1 s. Real files of some hundred rules need a thousandth of it."""

QUICK_STEPS = 1_000_000
"""What may be compared on an event loop."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that apply to us: pattern and whether it allows; the longest first, and `Allow` before its like."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allow(self, target: str) -> bool:
        """Tell whether a path with its query may be read; the longest pattern that fits decides, on a tie `Allow`.

        Once it has taken as long as only a file could that is made for it, what is left forbids nothing.
        """
        if target == "/robots.txt":
            return True
        path = _canonical(target)
        left = _MAX_STEPS
        # The standard library's robotparser takes the first rule and knows no wildcards, which most sites rely on.
        for pattern, allows in self.rules:
            left -= _steps(pattern, path)
            if left < 0:
                break
            if _fits(pattern, path):
                return allows
        return True

    def steps(self, target: str) -> int:
        """Bound the signs that `allow` compares."""
        return sum(_steps(pattern, target) for pattern, _ in self.rules)


def parse(content: bytes, agent: str = AGENT) -> Rules:
    """Read a robots.txt: the groups that name `agent`, or those for everybody when none does."""
    groups: dict[str, list[tuple[str, bool]]] = {agent: [], "*": []}
    named = in_rules = False
    concerned: set[str] = set()
    for line in content[:MAX_BYTES].decode("utf-8", "replace").lstrip("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if in_rules:
                concerned.clear()
            in_rules = False
            concerned |= {_token(value)} & groups.keys()
            named = named or agent in concerned
        elif key in ("allow", "disallow"):
            in_rules = True
            for name in concerned:
                if 0 < len(value) <= _MAX_PATTERN and len(groups[name]) < _MAX_RULES:
                    groups[name].append((_canonical(value), key == "allow"))
    rules = groups[agent if named else "*"]
    return Rules(tuple(sorted(rules, key=lambda rule: (len(rule[0]), rule[1]), reverse=True)))


def _token(value: str) -> str:
    found = re.match(r"[a-zA-Z_-]+|\*", value)
    return found.group().lower() if found else ""


def _canonical(path: str) -> str:
    """Write a path so that equal ones are equal, whatever they spell with percent signs."""
    return quote(unquote_to_bytes(path.replace("%2F", "%252F").replace("%2f", "%252F")), safe="/*$?&=:@!'()+,;~%")


def _steps(pattern: str, path: str) -> int:
    """Bound the signs that are compared: for text behind a `*`, each of it at each place of the path."""
    return len(pattern) * (len(path) if "*" in pattern else 1)


def _fits(pattern: str, path: str) -> bool:
    """Match `*` as anything and a final `$` as the end, within `_steps`."""
    if len(pattern) - pattern.count("*") - 1 > len(path):
        return False
    anchored = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    for index, part in enumerate(rest):
        if anchored and index == len(rest) - 1:
            return len(path) - len(part) >= position and path.endswith(part)
        found = path.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return not anchored or position == len(path)
