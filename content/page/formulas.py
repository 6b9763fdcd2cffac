"""Turns mathematics on a page into TeX: MathML, KaTeX, MathJax and pictures of formulas."""

import re
from collections.abc import Callable

from turbohtml import Document, Element, Text

INLINE, DISPLAY = "tex-inline", "tex-display"
"""Classes of the `code` elements that hold TeX until the page is rendered."""

_RENDERED = (
    ".katex-html, .MathJax_Preview, .MathJax_Display, .MathJax, .MathJax_SVG, .MathJax_CHTML, mjx-assistive-mml ~ *, "
    ".mwe-math-fallback-image-inline, .mwe-math-fallback-image-display"
)
_DISPLAY_STYLE = re.compile(r"^\{\\(display|text)style\s*(.*)\}$", re.DOTALL)
_PICTURE = re.compile(r"\b(latex|tex|math|equation|formula)\b", re.IGNORECASE)
_TEX_LOOK = re.compile(r"[\\^_{}=]")
_OPERATORS = {
    "×": r"\times ", "÷": r"\div ", "·": r"\cdot ", "⋅": r"\cdot ", "±": r"\pm ", "≤": r"\le ", "≥": r"\ge ",
    "≠": r"\ne ", "≈": r"\approx ", "→": r"\to ", "⇒": r"\Rightarrow ", "∞": r"\infty ", "∑": r"\sum ",
    "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ", "∇": r"\nabla ", "∈": r"\in ", "∀": r"\forall ",
    "∃": r"\exists ", "−": "-", "…": r"\dots ", "⋯": r"\cdots ", "∘": r"\circ ", "∪": r"\cup ", "∩": r"\cap ",
    "⊂": r"\subset ", "⊆": r"\subseteq ", "{": r"\{", "}": r"\}", "%": r"\%", "#": r"\#", "&": r"\&",
    "\u2061": "", "\u2062": "", "\u2063": ",", "\u2064": "+", "‖": r"\|", "∥": r"\|", "⟨": r"\langle ",
    "⟩": r"\rangle ", "¯": r"\bar ", "^": r"\hat ", "→⃗": r"\vec ",
}  # fmt: skip
_GREEK = {
    letter: f"\\{name} "
    for letters, names in (
        ("αβγδεζηθικλμ", "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"),
        ("νξπρστυφχψω", "nu xi pi rho sigma tau upsilon phi chi psi omega"),
        ("ΓΔΘΛΞΠΣΦΨΩ", "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"),
        ("ϵϕϑ", "epsilon varphi vartheta"),
    )
    for letter, name in zip(letters, names.split(), strict=True)
}  # fmt: skip
_MAX_DEPTH = 60


def formulas_to_tex(document: Document) -> None:
    """Replace every formula by a `code` element of class `tex-inline` or `tex-display` that holds its TeX, in place."""
    if document.select_one('math, script[type^="math/"], .katex, .MathJax, mjx-container, img[alt]') is None:
        return
    for script in document.select('script[type^="math/"]'):
        kind = script.attr("type") or ""
        tex = script.text if kind.startswith("math/tex") else ""
        _put(script, tex, display="mode=display" in kind.replace(" ", ""))
    for math in document.select("math"):
        if math.closest(f".{INLINE}, .{DISPLAY}") is None:
            _replace_math(math)
    document.remove(_RENDERED)
    for picture in document.select("img[alt]"):
        _replace_picture(picture)


def _replace_math(math: Element) -> None:
    around = math.closest(".katex-display, .MathJax_Display, mjx-container[display], .mwe-math-element-block")
    display = math.attr("display") == "block" or around is not None
    note = next(
        (e for e in math.iter_elements("annotation") if "tex" in (e.attr("encoding") or "").lower()),
        None,
    )
    tex = note.text if note is not None else (math.attr("alttext") or _mathml(math, 0))
    shell = math.closest(".katex, .MathJax, .mwe-math-element, mjx-container, .MathJax_SVG, .MathJax_CHTML")
    _put(shell if shell is not None else math, tex, display=display)


def _replace_picture(picture: Element) -> None:
    alt = (picture.attr("alt") or "").strip()
    about = f"{picture.attr('class') or ''} {picture.attr('src') or ''}"[:400]
    if alt and _TEX_LOOK.search(alt) and _PICTURE.search(about):
        _put(picture, alt.strip("$"), display=False)


def _put(element: Element, tex: str, *, display: bool) -> None:
    tex = " ".join(tex.split())
    styled = _DISPLAY_STYLE.match(tex)
    if styled:
        tex = styled.group(2).strip()
    if tex:
        element.replace_with(Element("code", {"class": [DISPLAY if display else INLINE]}, [Text(tex)]))
    else:
        element.decompose()


def _mathml(element: Element, depth: int) -> str:
    """Write presentation MathML as TeX; what is not known is written as its text."""
    if depth > _MAX_DEPTH:
        return element.text
    inside = [child for child in element.children if isinstance(child, Element)]
    parts = [_mathml(child, depth + 1) for child in inside]
    if not inside:
        return _leaf(element)
    shape = _SHAPES.get(element.tag)
    if shape is not None and len(parts) >= shape[0]:
        return shape[1](parts)
    if element.tag == "mtable":
        return r"\begin{matrix}" + r" \\ ".join(parts) + r"\end{matrix}"
    if element.tag == "mtr":
        return " & ".join(parts)
    if element.tag == "mfenced":
        return (element.attr("open") or "(") + ",".join(parts) + (element.attr("close") or ")")
    if element.tag == "semantics":
        return parts[0]
    return "".join(parts)


def _leaf(element: Element) -> str:
    text = " ".join(element.text.split())
    if element.tag == "mtext":
        return rf"\text{{{text}}}" if text else " "
    if element.tag == "mspace":
        return " "
    if element.tag == "mi" and len(text) > 1 and text.isascii() and text.isalpha():
        return rf"\operatorname{{{text}}}"
    return "".join(_OPERATORS.get(letter, _GREEK.get(letter, letter)) for letter in text)


def _group(part: str) -> str:
    part = part.strip()
    return part if len(part) == 1 else f"{{{part}}}"


_SHAPES: dict[str, tuple[int, Callable[[list[str]], str]]] = {
    "msup": (2, lambda p: f"{p[0]}^{_group(p[1])}"),
    "msub": (2, lambda p: f"{p[0]}_{_group(p[1])}"),
    "msubsup": (3, lambda p: f"{p[0]}_{_group(p[1])}^{_group(p[2])}"),
    "munderover": (3, lambda p: f"{p[0]}_{_group(p[1])}^{_group(p[2])}"),
    "munder": (2, lambda p: f"{p[0]}_{_group(p[1])}"),
    "mover": (2, lambda p: f"{p[1].strip()}{{{p[0]}}}" if p[1].startswith("\\") else f"{p[0]}^{_group(p[1])}"),
    "mfrac": (2, lambda p: rf"\frac{{{p[0]}}}{{{p[1]}}}"),
    "msqrt": (1, lambda p: rf"\sqrt{{{''.join(p)}}}"),
    "mroot": (2, lambda p: rf"\sqrt[{p[1]}]{{{p[0]}}}"),
}
