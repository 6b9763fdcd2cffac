"""What is long in a message is taken out of it, and put back it is the message again."""

import json
import random

import pytest
from bursar.content import json_parts
from bursar.errors import BursarError

SIGNS = ["a", "é", "漢", "😀", "\\", '"', "\n", "\u2028", "\x01", "\ud83d", "\ude00", "\udc00", " ", "{", "]"]


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """Return what takes a message apart, with bounds so small that everything is long."""
    monkeypatch.setattr(json_parts, "_BLOCK", 50)
    monkeypatch.setattr(json_parts, "LONG_BYTES", 20)

    def taken(raw):
        (tmp_path / "message").write_bytes(raw)
        (tmp_path / "parts").touch()
        found = json_parts.take_apart(
            str(tmp_path / "message"), str(tmp_path / "parts"), "MARK", whole="structuredContent"
        )
        return found, (tmp_path / "parts").read_bytes()

    return taken


def whole(text):
    """Return a text as it can be kept: halves of characters replaced."""
    return "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)


def put_back(value, found, parts, is_json=False):
    if isinstance(value, str) and value.startswith("MARK:"):
        offset, length = found["parts"][int(value[5:])]
        text = parts[offset : offset + length].decode()
        return put_back(json.loads(text), found, parts) if is_json else text
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [put_back(one, found, parts) for one in value]
    if isinstance(value, dict):
        return {whole(key): put_back(one, found, parts, key == "structuredContent") for key, one in value.items()}
    return value


def test_any_message_is_the_same_when_it_is_put_back(apart):
    chance = random.Random(5)

    def text(most):
        return "".join(chance.choices(SIGNS, k=chance.randint(0, most)))

    for number in range(1500):
        result = {
            "content": [{"type": "text", "text": text(300)} for _ in range(chance.randint(0, 3))],
            "structuredContent": {f"k{text(3)}": [text(40), {"structuredContent": {"x": text(30)}}]},
            "z": text(50),
        }
        raw = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        found, parts = apart(raw)
        assert put_back(json.loads(found["skeleton"]), found, parts) == put_back(json.loads(raw), found, parts)


def test_a_value_that_repeats_a_text_is_not_kept_twice(apart):
    text = 'a "quoted"\n}}} text ' * 5
    for structured, is_repeated in (
        ({"content": text}, True),
        ({"content": text, "more": 1}, False),
        ({"content": text[:-1]}, False),
        ([text], False),
    ):
        result = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
        found, _ = apart(json.dumps({"result": result}).encode())
        assert (list(found["parts"][-1]) == [0, 0]) is is_repeated


@pytest.mark.parametrize("raw", [b'{"a": "' + b"\\" * 101 + b'"', b'{"a": "\\x' + b"y" * 100 + b'"}'])
def test_what_is_no_json_is_refused_or_stays_what_it_is(apart, raw):
    with pytest.raises((BursarError, ValueError)):
        json.loads(apart(raw)[0]["skeleton"])


def test_a_message_of_many_short_parts_is_refused(apart, monkeypatch):
    monkeypatch.setattr(json_parts, "SKELETON_MAX_BYTES", 1000)
    with pytest.raises(BursarError, match="beside its long texts"):
        apart(json.dumps({"result": {"content": ["short"] * 1000}}).encode())
