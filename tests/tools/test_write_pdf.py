"""The tool writes a document whole or not at all, and tells what the model could not see otherwise."""

import base64
import io
import os

import anyio
import pytest
from bursar.artifacts import Limits, Store
from bursar.budget import tokens
from bursar.budget.reply import dumps
from bursar.errors import BursarError
from bursar.guard.paths import Workspace
from bursar.server.schema import described
from bursar.tools.write_pdf import WritePdf, WritePdfArgs
from harness import call_of
from loopback import net_for, page, site
from PIL import Image

pytestmark = pytest.mark.anyio


class Desk:
    """A workspace and a session to write in."""

    def __init__(self, base, workers):
        self.root = base / "work"
        self.root.mkdir()
        self.store = Store(base / "store", Limits())
        self.session = self.store.create("local:1")
        self.workers = workers
        self.told = []

    async def write(self, net=None, patience_s=30, **arguments):
        tool, args = WritePdf(), WritePdfArgs(**arguments)
        workspace = Workspace([self.root], closed=[self.store.root]).opening(self.session.directory)
        given = {"workspace": workspace, "net": net, "workers": self.workers}
        call = call_of(tool, args, self.session, progress=self.progress, patience_s=patience_s, **given)
        done = await tool.run(args, call)
        assert not [path.name for path in self.session.directory.iterdir() if "tmp" in path.suffix]
        return dict(done.facts)

    async def progress(self, done, total=None, message=""):
        self.told.append((done, total))

    def keep(self, content: bytes, label: str) -> str:
        with self.session.writer(tool="test", did="made", label=label) as writer:
            writer.write(content)
        return writer.commit().ref


@pytest.fixture
def desk(tmp_path, workers):
    return Desk(tmp_path, workers)


def png(color="navy") -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (80, 40), color).save(made, "PNG")
    return made.getvalue()


async def test_a_document_is_an_artifact_unless_a_path_is_given(desk):
    told = await desk.write(content="# Title\n\ntext 😀1️⃣", title="")
    artifact = told["artifact"]
    assert artifact.read(0, 5) == b"%PDF-"
    assert (told["pages"], told["bytes"]) == (1, artifact.size)
    assert "[keycap 1]" in " ".join(told["replaced"])
    assert "could not be drawn" in told["characters"]


async def test_a_file_appears_whole_and_is_not_overwritten_unless_asked(desk):
    told = await desk.write(content="first", path="out.pdf")
    first = (desk.root / "out.pdf").read_bytes()
    assert told["path"] == str(desk.root / "out.pdf")
    assert told["bytes"] == len(first)
    with pytest.raises(BursarError, match="exists"):
        await desk.write(content="second", path="out.pdf")
    assert (desk.root / "out.pdf").read_bytes() == first
    await desk.write(content="second text", path="out.pdf", overwrite=True)
    assert (desk.root / "out.pdf").read_bytes() != first
    assert [path.name for path in desk.root.iterdir()] == ["out.pdf"]


async def test_a_stored_text_need_not_pass_through_the_model(desk):
    reference = desk.keep(b"# Long\n\n" + b"text " * 20_000, "long.md")
    told = await desk.write(artifact=reference)
    assert told["pages"] > 5


async def test_pictures_come_from_artifacts_files_and_addresses_and_failures_are_told(desk):
    kept = desk.keep(png(), "a.png")
    (desk.root / "my chart.png").write_bytes(png("red"))
    (desk.root / "page.html").write_text("<html>")
    async with site({"/good.png": page(png("green")), "/no.png": page(b"no", 403)}) as there:
        good, bad = there.url("/good.png"), there.url("/no.png")
        text = "".join(
            f"![x](<{target}>)\n\n"
            for target in (kept, "my chart.png", good, bad, "page.html", "../out.png", "gone.png", "ftp://x/y.png")
        )
        told = await desk.write(net=net_for(there), content=text)
    assert told["images_embedded"] == 3
    missing = told["images_missing"]
    assert len(missing) == 5
    assert any("403" in line for line in missing)
    assert any(line.startswith("gone.png: ") for line in missing)


async def test_a_picture_that_an_artifact_refers_to_is_the_file_of_that_very_name(desk):
    spelled, meant = desk.root / r"p\xff.png", desk.root / os.fsdecode(b"p\xff.png")
    spelled.write_bytes(png())
    meant.write_text("another file\n")
    artifact = desk.session.refer(str(spelled), spelled.stat(), tool="read_file", did="read", opener=os.open)
    told = await desk.write(content=f"![it]({artifact.ref})")
    assert told["images_embedded"] == 1, told


async def test_a_picture_may_be_its_own_address_however_long(desk):
    noise = io.BytesIO()
    Image.effect_noise((1400, 900), 90).save(noise, "PNG")
    address = "data:image/png;base64," + base64.b64encode(noise.getvalue()).decode()
    assert len(address) > 1 << 20
    told = await desk.write(content=f"![chart]({address})\n\n![again](data:image/png;base64,%%)")
    assert told["images_embedded"] == 1
    assert len(told["images_missing"]) == 1


async def test_a_picture_that_does_not_come_in_time_is_missing(desk):
    async def dripping(asked, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n")
        while True:
            writer.write(b"x")
            await anyio.sleep(0.05)

    async with site({"/slow.png": dripping}) as there:
        told = await desk.write(net=net_for(there), patience_s=2, content=f"text ![x]({there.url('/slow.png')})")
    assert told["pages"] == 1
    assert "was not there within" in told["images_missing"][0]
    assert "--patience-s above 2" in told["images_missing"][0]


async def test_what_came_in_place_of_a_picture_is_told_as_such(desk):
    with desk.session.writer(tool="download_image", did="GET image http://site.test/x.png", label="no.html") as writer:
        writer.write(b"<html>403")
    told = await desk.write(content=f"![x]({writer.commit().ref})")
    assert "its download failed (GET image http://site.test/x.png)" in told["images_missing"][0]


async def test_a_long_list_of_missing_pictures_is_short_and_counts_them(desk):
    told = await desk.write(content="\n\n".join(f"![]({'x' * 180}{i}.png)" for i in range(50)))
    assert len(told["images_missing"]) == 13
    assert told["images_missing"][-1] == "and 38 more"
    assert "not a picture" in told["images_missing"][0] or "does not exist" in told["images_missing"][0]


async def test_progress_only_rises(desk, monkeypatch):
    monkeypatch.setattr("bursar.tools.progress.LOOK_S", 0.01)
    await desk.write(content="text **bold** `code`\n\n" * 8_000)
    done = [done for done, _ in desk.told]
    assert done
    assert done == sorted(set(done))


async def test_pictures_are_counted_all(desk):
    text = ""
    for number in range(110):
        (desk.root / f"{number}.png").write_bytes(png())
        text += f"![]({number}.png)\n\n"
    assert (await desk.write(content=text))["images_embedded"] == 110


async def test_a_document_that_takes_too_long_is_refused_in_time_and_says_how_to_go_on(desk):
    text = "| a | b |\n|---|---|\n" + "| text | text |\n" * 400_000
    with pytest.raises(BursarError, match=r"timeout.*parts.*patience"):
        await desk.write(content=text, patience_s=1, path="big.pdf")
    assert list(desk.root.iterdir()) == []


async def test_text_that_was_cut_is_refused_and_names_the_line(desk):
    with pytest.raises(BursarError, match=r"truncated_content.*line 2"):
        await desk.write(content="a\n...12 lines truncated...\n", path="cut.pdf")
    assert not (desk.root / "cut.pdf").exists()
    told = await desk.write(content="a\n...12 lines truncated...\n", allow_markers=True)
    assert told["status"] == "ok"


@pytest.mark.parametrize("arguments", [{}, {"content": "a", "artifact": "a1"}, {"content": " "}])
async def test_exactly_one_source_is_asked_for(desk, arguments):
    with pytest.raises(BursarError, match="bad_argument"):
        await desk.write(**arguments)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"page_size": "A99"}, "bad_page_size"),
        ({"page_size": "A" * (2 << 20)}, "bad_argument"),
        ({"title": "t" * (2 << 20)}, "bad_argument"),
        ({"margin_mm": 200}, "bad_margin"),
        ({"path": "../out.pdf"}, "path_outside_roots"),
        ({"path": "report.md", "overwrite": True}, "bad_path"),
        ({"path": "nowhere/out.pdf"}, "not_found"),
    ],
)
async def test_what_cannot_be_done_is_refused_and_leaves_nothing(desk, arguments, code):
    with pytest.raises(BursarError, match=code):
        await desk.write(content="text", **arguments)
    assert list(desk.root.iterdir()) == []


async def test_a_long_list_of_replacements_is_kept_beside(desk):
    told = await desk.write(content=" ".join(chr(i) for i in range(0x11680, 0x116A0)))
    assert told["all_replaced"].startswith("32 kinds: ")
    assert len(told["replaced"]) == 12
    reference = told["all_replaced"].split()[-1]
    listing = desk.session.open(reference)
    assert listing.read(0, listing.size).count(b"TAKRI") >= 20


async def test_a_script_without_a_font_is_the_first_that_the_reply_says_and_how_to_have_it(desk):
    told = await desk.write(content="ok 中文 \U00011680\U00011681", path="out.pdf")
    assert list(told)[:3] == ["status", "cause", "fix"]
    assert told["status"] == "incomplete"
    assert told["cause"].startswith("no font for Takri (2 letters)")
    assert "Noto Sans Takri" in told["fix"]
    assert (desk.root / "out.pdf").exists()


async def test_a_cancelled_call_leaves_no_file(desk):
    with anyio.move_on_after(0.3):
        await desk.write(content="| a | b |\n|---|---|\n" + "| text | text |\n" * 100_000, path="big.pdf")
    assert list(desk.root.iterdir()) == []


def test_the_tool_costs_little_to_describe():
    assert tokens.count(dumps(described(WritePdf()))) <= 260
