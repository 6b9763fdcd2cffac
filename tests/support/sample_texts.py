"""Texts as tools meet them, generated the same every time: ordinary kinds, and the pathological ones."""

import base64
import json
import random
from collections.abc import Callable
from functools import cache
from pydoc_data import topics

_WORDS = "auth billing cache gateway ingest mailer orders payments search sessions uploads worker"
_VERBS = "accepted closed connected dropped enqueued expired failed finished parsed refused resumed retried"
_CHINESE = """
我们 系统 数据 分析 结果 显示 用户 在 上海 北京 使用 这个 功能 的 时候 经常 遇到 问题 因此 需要 进行 优化 模型 训练
过程 中 内存 占用 较高 可以 通过 调整 参数 来 解决 今天 天气 很好 大家 一起 去 公园 散步 经济 发展 带来 了 新的 机会
和 挑战 科学 研究 表明 学习 语言 最好 方法 是 坚持 每天 阅读 历史 文化 传统 龘 饕餮 氤氲 踯躅 鳜鱼
"""
_EMOJI = "😀 😂 🥰 👍🏽 🇫🇷 👩‍👩‍👧 🎉 🔥 ❤️ 🏳️‍🌈 🤷🏿‍♀️ 🐙 🚀 ✅ ⚠️ 🧑🏻‍🚒 1️⃣"

_NAMES, _DEEDS, _HAN, _FACES = (words.split() for words in (_WORDS, _VERBS, _CHINESE, _EMOJI))


def _until(chars: int, line: Callable[[], str]) -> str:
    lines: list[str] = []
    length = 0
    while length < chars:
        lines.append(line())
        length += len(lines[-1])
    return "".join(lines)[:chars]


def prose(chars: int, rng: random.Random) -> str:
    paragraphs = [p for text in topics.topics.values() for p in text.split("\n\n") if p]
    return _until(chars, lambda: rng.choice(paragraphs) + "\n\n")


def log(chars: int, rng: random.Random) -> str:
    def line() -> str:
        hour, minute, thousandth = rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 999)
        stamp = f"2026-11-{rng.randint(1, 30):02}T{hour:02}:{minute:02}:07.{thousandth:03}Z"
        level = rng.choice(("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"))
        where = f"[{rng.choice(_NAMES)}-{rng.randint(1, 40)}]"
        if rng.random() < 0.02:
            place = f'File "/srv/app/{rng.choice(_NAMES)}.py", line {rng.randint(1, 900)}'
            return f"{stamp} {level} {where} Traceback\n  {place}\n"
        request = f"{rng.getrandbits(64):016x} {rng.choice(_DEEDS)} in {rng.randint(1, 9999)} ms"
        return f"{stamp} {level} {where} request {request}\n"

    return _until(chars, line)


def json_records(chars: int, rng: random.Random) -> str:
    def record() -> str:
        return json.dumps(
            {
                "id": rng.getrandbits(40),
                "name": rng.choice(_NAMES),
                "price": round(rng.random() * 1000, 2),
                "tags": rng.sample(_DEEDS, rng.randint(0, 4)),
                "note": rng.choice((None, 'said "yes"', "C:\\temp\\x", "ünïcode", "")),
            }
        )

    return _until(chars, lambda: record() + rng.choice((",", ",\n  ")))


def minified_js(chars: int, rng: random.Random) -> str:
    def name() -> str:
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz$_", k=rng.choice((1, 1, 1, 2))))

    def statement() -> str:
        a, b, c = name(), name(), name()
        word = rng.choice(_NAMES) + rng.choice(_DEEDS).title()
        return rng.choice(
            (
                f"function {a}({b},{c}){{return {b}.{word}({c}>>>{rng.randint(0, 31)})}}",
                f"var {a}={{{b}:!0,{c}:void 0,{word}:{rng.random():.3f}}};",
                f'"use strict";for(var {a}=0;{a}<{b}.length;{a}++){c}[{a}]^={b}.charCodeAt({a});',
                f"{a}=>({{...{b},{word}:{c}??[]}}),",
                f'throw new Error("{word} {rng.choice(_DEEDS)}: "+{a});',
                f'"{base64.b64encode(rng.randbytes(rng.choice((12, 90)))).decode()}",',
            )
        )

    return _until(chars, statement)


def source(chars: int, rng: random.Random) -> str:
    def function() -> str:
        a, b = rng.choice(_NAMES), rng.choice(_DEEDS)
        return (
            f"def {a}_{b}(self, {b}: int = {rng.randint(0, 99)}) -> None:\n"
            f"    # {rng.choice(_NAMES)} must have {b} before\n"
            f"    if not self._{a}[{b}]:\n        raise ValueError(f'{{{b}!r}} {rng.choice(_DEEDS)}')\n\n"
        )

    return _until(chars, function)


def csv(chars: int, rng: random.Random) -> str:
    return _until(
        chars, lambda: f"{rng.getrandbits(30)},{rng.choice(_NAMES)},{rng.random():.6f},,{rng.choice(_DEEDS)}\r\n"
    )


def base64_lines(chars: int, rng: random.Random) -> str:
    return _until(chars, lambda: base64.b64encode(rng.randbytes(57)).decode() + "\n")


def base64_one_line(chars: int, rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(chars)).decode()[:chars]


def hex_one_line(chars: int, rng: random.Random) -> str:
    return rng.randbytes(chars).hex()[:chars]


def chinese(chars: int, rng: random.Random) -> str:
    def sentence() -> str:
        return "".join(rng.choices(_HAN, k=rng.randint(4, 20))) + rng.choice("，，，。。！？\n")

    return _until(chars, sentence)


def chinese_without_marks(chars: int, rng: random.Random) -> str:
    return _until(chars, lambda: rng.choice(_HAN))


def emoji(chars: int, rng: random.Random) -> str:
    return _until(chars, lambda: rng.choice(_FACES))


def chat(chars: int, rng: random.Random) -> str:
    def line() -> str:
        words = " ".join(rng.choices(_NAMES + _DEEDS, k=rng.randint(1, 9)))
        return f"{rng.choice(_NAMES)}: {words} {''.join(rng.choices(_FACES, k=rng.randint(0, 5)))}\n"

    return _until(chars, line)


KINDS: dict[str, Callable[[int, random.Random], str]] = {
    "prose": prose,
    "log": log,
    "JSON": json_records,
    "minified JS": minified_js,
    "source": source,
    "CSV": csv,
    "base64": base64_lines,
    "base64, one line": base64_one_line,
    "hex, one line": hex_one_line,
    "Chinese": chinese,
    "Chinese, no marks": chinese_without_marks,
    "emoji": emoji,
    "chat with emoji": chat,
}

REPEATED = {
    "letter": "a",
    "capital": "A",
    "space": " ",
    "tab": "\t",
    "ideographic space": "\u3000",
    "line break": "\n",
    "space and line break": " \n",
    "digit": "7",
    "dash": "-",
    "slash": "/",
    "NUL": "\0",
    "combining mark": "\u0301",
    "ideograph": "中",
    "one emoji": "😀",
    "flag": "🇫🇷",
    "family": "👩‍👩‍👧",
    "lone surrogate": "\ud800",
    "quote": '"',
    "backslash": "\\",
}


@cache
def ordinary(kind: str, chars: int, seed: int = 1) -> str:
    """Return text of a kind in `KINDS`; the same for the same seed."""
    return KINDS[kind](chars, random.Random(seed))


def repeated(kind: str, chars: int) -> str:
    """Return one thing of `REPEATED` over and over."""
    unit = REPEATED[kind]
    return unit * (chars // len(unit))
