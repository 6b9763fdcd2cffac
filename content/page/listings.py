"""Brings code on a page into one form: a `pre` with a `code` in it, its language in the class, white space exact."""

import re

from turbohtml import Element, Node, Text

_CODE_CELL = (
    "td.code, td.blob-code, td.rouge-code, td.hljs-ln-code, td.highlight, td.crayon-code, td.lntd, td.listing_code"
)
_NUMBERS = (
    ".lineno, .linenos, .linenumber, .line-number, .line-numbers-rows, .lnt, .ln, .gutter, "
    ".hljs-ln-numbers, .blob-num, .react-syntax-highlighter-line-number, .linenodiv, .rouge-gutter, .crayon-nums, "
    "[data-line-number]:empty"
)
_PREFIXED = re.compile(
    r"(?:^|[\s-])(language|lang|highlight-source|highlight-text|highlight(?!-lang)|source|brush|sourceCode)[-:]\s*([\w+#.-]+)"
)
_PLAIN = re.compile(r"^[\w+#-]{1,20}$")
_LANGUAGES = (
    "bash sh shell console zsh powershell python py python3 pycon javascript js jsx typescript ts tsx java kotlin "
    "scala groovy c cpp c++ csharp cs objc swift go golang rust ruby rb php perl lua r julia haskell elixir erlang "
    "clojure lisp scheme ocaml fsharp dart sql mysql pgsql html xml css scss less json json5 yaml yml toml ini diff "
    "patch makefile make cmake dockerfile docker nginx apache http graphql proto protobuf vim tex latex matlab octave "
    "fortran pascal ada asm nasm llvm wasm zig nim solidity terraform hcl vue svelte sass wikitext markdown md text "
    "plaintext"
)
_KNOWN = frozenset(_LANGUAGES.split())
_NO_LANGUAGE = frozenset({"none", "plain", "plaintext", "text", "txt", "nohighlight", "default", "notranslate", "auto",
                          "unknown", "sourcecode"})  # fmt: skip
_BREAKS = frozenset({"div", "li", "p", "tr", "ol", "ul", "table", "tbody", "section"})


def tidy_listings(root: Element) -> None:
    """Bring every code listing inside `root` into one form, in place."""
    for cell in root.select(_CODE_CELL):
        _open_table(cell)
    for label in root.select("div[class*=language-] > span.lang"):
        label.extract()
    for block in root.select("pre"):
        if block.closest("pre") is block and block.parent is not None:
            _tidy(block)


def _open_table(cell: Element) -> None:
    """A table that only exists to number lines becomes the code it numbers."""
    table = cell.closest("table")
    if table is None or table.parent is None:
        return
    outer = table.closest("pre")
    cells = [found for found in table.select(_CODE_CELL) if found.closest("table") is table]
    for found in cells:
        for number in found.select(_NUMBERS):
            number.decompose()
    listings = [found for found in cells if found.select_one("pre") is not None]
    text = "\n".join(_code(found).strip("\n") for found in (listings or cells))
    language = _language(table) or next((said for pre in table.select("pre, code") if (said := _language(pre))), "")
    (outer if outer is not None else table).replace_with(_listing(text, language))


def _tidy(block: Element) -> None:
    for extra in block.select(f"{_NUMBERS}, button, .copy, .copy-button, .clipboard"):
        extra.decompose()
    inner = block.select_one("code")
    language = _language(block) or (_language(inner) if inner is not None else "")
    block.replace_with(_listing(_code(block), language))


def _listing(text: str, language: str) -> Element:
    code = Element("code", {"class": [f"language-{language}"]} if language else {}, [Text(text)])
    return Element("pre", {}, [code])


def _code(root: Element) -> str:
    """The text as it stands, with a line break for each break and around each element drawn as a line of its own."""
    parts: list[str] = []
    stack: list[Node | None] = list(reversed(root.children))
    while stack:
        node = stack.pop()
        if node is None:
            _end_line(parts)
        elif isinstance(node, Text):
            parts.append(node.data)
        elif isinstance(node, Element):
            if node.tag == "br":
                parts.append("\n")
                continue
            if node.tag in _BREAKS:
                _end_line(parts)
                stack.append(None)
            stack.extend(reversed(node.children))
    return "".join(parts).replace("\r\n", "\n").replace("\u00a0", " ").rstrip()


def _end_line(parts: list[str]) -> None:
    if parts and parts[-1] and not parts[-1].endswith("\n"):
        parts.append("\n")


def _language(element: Element) -> str:
    for level, around in enumerate([element, *element.ancestors]):
        if level > 3 or not isinstance(around, Element):
            break
        said = (
            around.attr("data-lang")
            or around.attr("data-language")
            or around.attr("data-enlighter-language")
            or (around.attr("lang") if level == 0 else "")
            or ""
        )
        if said and _PLAIN.match(said) and (level == 0 or said in _KNOWN):
            return _named(said)
        classes = around.attr("class") or ""
        for found in _PREFIXED.finditer(classes):
            said = _named(found[2])
            if said in _KNOWN or level == 0 or (level == 1 and found[1] in ("language", "lang") and _PLAIN.match(said)):
                return said
        if level < 2:
            bare = next((name for name in classes.lower().split() if name in _KNOWN), "")
            if bare:
                return _named(bare)
    return ""


def _named(said: str) -> str:
    name = said.lower().strip(";.,")
    return "" if name in _NO_LANGUAGE else name
