import json
from math import inf, nan
from typing import Any

import pytest
from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.budget.json_size import cost, dumps, less, within
from hypothesis import given
from hypothesis import strategies as st

_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=5), inner, max_size=5)),
    max_leaves=20,
).filter(lambda value: json.dumps(value, ensure_ascii=False).isprintable())
_ALLOWANCES = st.builds(Allowance, st.integers(0, 60), st.integers(0, 200))


def test_a_form_is_compact_and_shows_every_character_as_itself() -> None:
    assert dumps({"名": ["é", 1.5, None]}) == '{"名":["é",1.5,null]}'


@pytest.mark.parametrize("sign", ["\x7f", "\x80", "\x9b", "\u202e", "\u2066", "\u200f", "\ufff9", "\U000e0041"])
def test_what_acts_on_a_terminal_or_hides_is_written_as_an_escape_and_means_the_same(sign: str) -> None:
    form = dumps({sign: f"a{sign}{sign}é"})
    assert sign not in form
    assert "é" in form
    assert json.loads(form) == {sign: f"a{sign}{sign}é"}


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_what_strict_parsers_reject_is_never_written(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps({"loss": [number]})


@given(_VALUES, _ALLOWANCES)
def test_what_costs_no_more_than_an_allowance_is_within_it(value: Any, allowance: Allowance) -> None:
    spent = cost(value)
    assert spent == Allowance(tokens.count(dumps(value)), len(dumps(value).encode()))
    assert within(value, allowance) == (spent.tokens <= allowance.tokens and spent.bytes <= allowance.bytes)


def test_less_than_nothing_never_remains() -> None:
    assert less(Allowance(10, 40), Allowance(3, 50)) == Allowance(7, 0)
