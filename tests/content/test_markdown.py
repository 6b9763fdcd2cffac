"""Every structure that a page can carry reaches the Markdown."""

# ruff: noqa: E501 - pages are easier to read in one piece

import pytest
from bursar.content.page.formulas import formulas_to_tex
from bursar.content.page.markdown import to_markdown
from bursar.content.page.prepare import parse_page, prepare
from markdown_it import MarkdownIt

BASE = "https://example.org/docs/page.html"


def render(html: str) -> str:
    document = parse_page(html)
    prepare(document)
    formulas_to_tex(document)
    return to_markdown(document, BASE)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<a href="../x?a=1#b">x</a>', "[x](https://example.org/x?a=1#b)"),
        ('<a href="//other.example/y">y</a>', "[y](https://other.example/y)"),
        ('<a href="javascript:go()">go</a> <a href="">stay</a>', "go stay"),
        ('<a href="a(1).html">paren</a>', "[paren](https://example.org/docs/a(1).html)"),
        ('<a href="a b">space</a>', "[space](https://example.org/docs/a%20b)"),
        ('<a href="/c"><h2>Card</h2><p>text</p></a>', "## [Card](https://example.org/c)\n\ntext"),
        ('<a href="/c"><div>first</div><div>second</div></a>', "[first](https://example.org/c)\n\nsecond"),
        ('<a href="/i"><img src="i.png" alt="pic"></a>', "[![pic](https://example.org/docs/i.png)](https://example.org/i)"),
    ],
)  # fmt: skip
def test_links_are_absolute_and_keep_their_text(html: str, markdown: str) -> None:
    assert render(html) == markdown


def test_links_of_the_same_site_are_as_short_as_can_be() -> None:
    html = """<a href="#top">here</a> <a href="/docs/page.html#x">there</a> <a href="other.html#a">Other</a>
    <a href="other.html#b">again</a> <a href="/docs/deep/er.html?a=1">deeper</a> <a href="../x">up</a> <a href="/">root</a>
    <a href="https://example.org.evil.example/x">foreign</a><a class="headerlink" href="#s"> ¶</a>"""
    document = parse_page(html)
    assert to_markdown(document, BASE, BASE) == (
        "here there [Other](other.html) again [deeper](deep/er.html?a=1) [up](/x) [root](/) "
        "[foreign](https://example.org.evil.example/x)"
    )


def test_a_base_element_decides_what_links_are_relative_to() -> None:
    document = parse_page('<head><base href="https://cdn.example/a/"></head><a href="b">b</a>')
    base = document.base_url(BASE)
    prepare(document)
    assert to_markdown(document, base, BASE) == "[b](https://cdn.example/a/b)"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h1>One</h1><h3>Three</h3>", "# One\n\n### Three"),
        ('<h2>Title<a class="headerlink" href="#t">¶</a></h2>', "## Title"),
        ('<h2><a href="#t" aria-hidden="true"></a>Title <b>bold</b><br>more</h2>', "## Title **bold** more"),
        ("<h2>  </h2><p>x</p>", "x"),
        ("<p># not a heading</p>", "\\# not a heading"),
        ("<p>1. not an item</p><p>1.3.0 is none</p>", "1\\. not an item\n\n1.3.0 is none"),
        ('<h4 class="code-header">pub fn <a>a_b</a>(x:<br> &amp;T)</h4>', "#### `pub fn a_b(x: &T)`"),
    ],
)
def test_headings(html: str, markdown: str) -> None:
    assert render(html) == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>", "- a\n  1. b\n  2. c\n- d"),
        ('<ol start="7"><li>a</li><li>b</li></ol>', "7. a\n8. b"),
        ("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
        ('<ul><li><input type="checkbox" checked> done</li><li><input type="checkbox"> open</li></ul>', "- [x] done\n- [ ] open"),
        ("<dl><dt>T</dt><dd>one</dd><dd>two</dd></dl>", "**T**\n\n- one\n- two"),
        ("<dl><dt><span>class</span> <span>io.</span><b>Raw_IO</b>(<i>a</i>, *)</dt><dd>d</dd></dl>", "`class io.Raw_IO(a, *)`\n\n- d"),
        ("<dl><dt><code>-a</code><br><code>--all</code></dt><dd>d</dd></dl>", "`-a --all`\n\n- d"),
        ("<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>", "> a\n>\n> > b"),
    ],
)  # fmt: skip
def test_lists_definitions_and_quotes(html: str, markdown: str) -> None:
    assert render(html) == markdown


def test_code_keeps_its_language_and_every_space() -> None:
    html = '<pre><code class="language-python hljs"><span>def</span> f():\n    if x:\n\treturn `1`\n\n\n    pass\n</code></pre>'
    assert render(html) == "```python\ndef f():\n    if x:\n\treturn `1`\n\n\n    pass\n```"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<pre class="brush: ruby; toolbar: false">x</pre>', "ruby"),
        ('<div class="highlight highlight-source-js"><pre>x</pre></div>', "js"),
        ('<div class="highlight-console notranslate"><div class="highlight"><pre>x</pre></div></div>', "console"),
        ('<pre data-lang="rust"><code>x</code></pre>', "rust"),
        ('<pre><code class="cpp">x</code></pre>', "cpp"),
        ('<pre class="language-none"><code>x</code></pre>', ""),
    ],
)
def test_the_language_of_code_is_found_where_sites_put_it(html: str, language: str) -> None:
    assert render(html) == f"```{language}\nx\n```"


@pytest.mark.parametrize(
    "html",
    [
        '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td><td class="code"><pre>a\n  b</pre></td></tr></table>',
        '<table><tr><td class="blob-num" data-line-number="1"></td><td class="blob-code">a</td></tr><tr><td class="blob-num"></td><td class="blob-code">  b</td></tr></table>',
        "<pre>a<br>  b</pre>",
        "<pre><div>a</div><div>  b</div></pre>",
        '<div class="fragment"><div class="line"><span class="lineno">1 </span>a</div>\n<div class="line">  b</div></div>',
        '<div class="member-signature"><span>a</span>\n&nbsp;&nbsp;<span>b</span></div>',
        '<pre><span class="lineno">1 </span>a\n<span class="lineno">2 </span>  b</pre>',
    ],
)
def test_line_numbers_are_no_code(html: str) -> None:
    assert render(html) == "```\na\n  b\n```"


def test_code_that_holds_a_fence_gets_a_longer_one() -> None:
    assert render("<pre>```\nx\n```</pre>") == "````\n```\nx\n```\n````"


def test_tables_with_spans_are_expanded() -> None:
    html = """<table><caption>Yields</caption>
    <thead><tr><th rowspan="2">Field</th><th colspan="2">Tonnes</th></tr><tr><th>2024</th><th>2025</th></tr></thead>
    <tbody><tr><td rowspan="2">North</td><td>1</td><td>2</td></tr><tr><td colspan="2">flooded</td></tr></tbody></table>"""
    assert render(html).split("\n") == [
        "Yields",
        "",
        "| Field | Tonnes | Tonnes |",
        "| --- | --- | --- |",
        "| Field | 2024 | 2025 |",
        "| North | 1 | 2 |",
        "| North | flooded |  |",
    ]


@pytest.mark.parametrize(
    ("html", "rows"),
    [
        (
            "<table><tr><th>k</th><td>v</td></tr><tr><th>l</th><td>w</td></tr></table>",
            ["|  |  |", "| --- | --- |", "| k | v |", "| l | w |"],
        ),
        ("<table><tr><th>a</th></tr><tr><td>x | y</td></tr></table>", ["| a |", "| --- |", "| x \\| y |"]),
        (
            "<table><tr><th>a</th></tr><tr><td><p>x</p><ul><li>y</li><li>z</li></ul></td></tr></table>",
            ["| a |", "| --- |", "| x • y • z |"],
        ),
        (
            "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>",
            ["|  |  |", "| --- | --- |", "| 1 | 2 |", "| 3 |  |"],
        ),
    ],
)  # fmt: skip
def test_every_table_is_a_table_of_markdown(html: str, rows: list[str]) -> None:
    assert render(html).split("\n") == rows
    assert "table_open" in {token.type for token in MarkdownIt("gfm-like", {"linkify": False}).parse(render(html))}


def test_a_table_with_listings_is_opened_so_that_they_stay_exact() -> None:
    html = "<table><tr><th>Operator</th></tr><tr><td><p>joins</p><pre>a ||\n  b</pre></td></tr></table>"
    assert render(html) == "Operator\n\njoins\n\n```\na ||\n  b\n```"


def test_a_table_that_only_places_things_is_no_table() -> None:
    html = '<table role="presentation"><tr><td><h2>News</h2><p>one</p></td><td><p>two</p></td></tr></table>'
    assert render(html) == "## News\n\none\n\ntwo"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<math><semantics><mi>a</mi><annotation encoding="application/x-tex">a^2</annotation></semantics></math>', "$a^2$"),
        ('<script type="math/tex">x_1</script>', "$x_1$"),
        ('<script type="math/tex; mode=display">x_1</script>', "$$x_1$$"),
        ('<span class="katex"><span class="katex-mathml"><math><semantics><mi>y</mi><annotation encoding="application/x-tex">y*y</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">y∗y</span></span>', "$y*y$"),
        ("<math><mfrac><mi>a</mi><msqrt><mi>β</mi></msqrt></mfrac><mo>≤</mo><msup><mi>x</mi><mn>10</mn></msup></math>",
         r"$\frac{a}{\sqrt{\beta }}\le x^{10}$"),
        ('<math display="block"><munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub></math>',
         r"$$\sum _i^nx_i$$"),
        ('<img class="mwe-math-fallback-image-inline" alt="E=mc^{2}" src="x.svg">', ""),
        ('<img class="latex" alt="E=mc^2" src="https://s0.wp.com/latex.php?x">', "$E=mc^2$"),
        ("10<sup>6</sup> H<sub>2</sub>O 1<sup>st</sup>", "10⁶ H₂O 1st"),
    ],
)  # fmt: skip
def test_mathematics_is_readable(html: str, markdown: str) -> None:
    assert render(f"<p>{html}</p>") == markdown


def test_footnotes_are_footnotes() -> None:
    html = """<p>Fact<sup id="fnref:1"><a href="#fn:1" class="footnote-ref">1</a></sup> and more.</p>
    <div class="footnotes"><ol><li id="fn:1"><p>The <b>source</b>. <a href="#fnref:1">↩</a></p></li></ol></div>"""
    assert render(html) == "Fact[^1] and more.\n\n[^1]: The **source**."


def test_a_reference_without_its_note_stays_raised() -> None:
    assert render('<p>x<sup><a href="#fn9">9</a></sup></p>') == "x⁹"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<img src="a.png" alt="A &quot;b&quot;">', '![A "b"](https://example.org/docs/a.png)'),
        ('<img src="data:image/gif;base64,AA" data-src="/b.png" alt="b">', "![b](https://example.org/b.png)"),
        ('<img srcset="/s.png 1x, /l.png 2x" alt="c">', "![c](https://example.org/l.png)"),
        ('<img src="/t.gif" width="1" height="1">', ""),
        (
            '<figure><img src="/d.png" alt="d"><figcaption>Cap</figcaption></figure>',
            "![d](https://example.org/d.png)\n\nCap",
        ),
    ],
)
def test_images_have_their_text_and_real_address(html: str, markdown: str) -> None:
    assert render(html) == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("a<br>b", "a  \nb"),
        ("a<br><br> <br>b", "a\n\nb"),
        ("<b>x</b><i>y</i> 2*3*4 a_b", "**x***y* 2\\*3\\*4 a_b"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("x\x00y\x08z", "xyz"),
        ("<details><summary>More</summary><p>text</p></details>", "More\n\ntext"),
        ("<my-card>a</my-card><my-card>b</my-card>", "a\n\nb"),
        ("<p>a</p><script>b()</script><style>c{}</style><template><p>d</p></template>", "a"),
    ],
)
def test_the_rest_of_a_page(html: str, markdown: str) -> None:
    assert render(html) == markdown


def test_text_cannot_pose_as_markdown() -> None:
    assert (
        render("<p>[x](http://evil.example) `c` &lt;script&gt; *b*</p>")
        == r"\[x\](http://evil.example) \`c\` \<script> \*b\*"
    )


def test_marks_in_a_page_that_look_like_ours_do_no_harm() -> None:
    assert render("<p>\uf8f00\uf8f1</p>") == ""
    assert render("<p>\uf8f09\uf8f1 x</p>").strip() == "x"


@pytest.mark.parametrize(
    ("html", "read"),
    [
        ("a <em>b</em>.", "a <em>b</em>."),
        ("a<b> b </b>c", "a <strong>b</strong> c"),
        ("<b>a</b><i>b</i>", "<strong>a</strong><em>b</em>"),
        ("<b>a</b><b>b</b>", "<strong>ab</strong>"),
        ("<b>Note:</b>text", "<strong>Note:</strong> text"),
        ("<em>a <strong>b</strong></em>", "<em>a <strong>b</strong></em>"),
        ("<em>a <em>b</em></em>", "<em>a b</em>"),
        ('a<b>"b"</b>', "a <strong>&quot;b&quot;</strong>"),
    ],
)
def test_emphasis_is_read_as_emphasis(html: str, read: str) -> None:
    assert MarkdownIt().renderInline(render(f"<p>{html}</p>")) == read


def test_emphasis_is_marks_in_pages_of_any_length() -> None:
    found = render("<p>" + "one <em>two</em> three <strong>four</strong>. " * 2000 + "</p>")
    assert "<" not in found
    assert found.count("*two*") == found.count("**four**") == 2000


def test_an_item_that_lost_its_text_gives_its_place_to_its_list() -> None:
    assert render("<ul><li>a</li><li><ul><li>b</li></ul></li></ul>") == "- a\n- b"


def test_labels_that_only_their_style_keeps_apart_get_a_space() -> None:
    assert render("<p><span>129 €</span><span>in stock</span></p>") == "129 € in stock"
    assert render("<p><span>H</span><span>i</span></p>") == "Hi"
    assert render("<p><code><span>ab</span><span>.cd</span></code></p>") == "`ab.cd`"


@pytest.mark.parametrize(
    "html",
    [
        '<h2><span class="mw-headline">History</span><span class="mw-editsection">[<a href="/w?edit">edit</a>]</span></h2>',
        '<div class="mw-heading"><h2>History</h2><span class="mw-editsection">[<a href="/w?edit">edit</a>]</span></div>',
        "<h2>&nbsp;History&#160;</h2><p>\u00a0</p>",
    ],
)
def test_headings_come_without_links_to_edit_them_and_without_spaces_that_no_one_sees(html: str) -> None:
    assert render(html) == "## History"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        (
            '<div class="language-vue x"><button class="copy"></button><span class="lang">vue</span><pre><code>a</code></pre></div>',
            "vue",
        ),
        ('<div class="mw-highlight mw-highlight-lang-sql mw-content-ltr"><pre><span></span>a</pre></div>', "sql"),
        ('<div class="highlight highlight-source-shell"><pre>a</pre></div>', "shell"),
        ('<pre data-enlighter-language="python">a</pre>', "python"),
    ],
)
def test_the_language_of_code_is_found_on_what_wraps_it(html: str, language: str) -> None:
    assert render(html) == f"```{language}\na\n```"
