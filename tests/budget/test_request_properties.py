"""Whatever a history holds: what is made of it is valid, within its limit, in order, stable, and nothing is lost."""

import json

import pytest
from bursar.budget.clean import utf8
from bursar.budget.request import Limit, Request, RequestTooLarge, State, estimate, fit, problems
from histories import FORMS, MUTATORS, random_history, tools
from hypothesis import given
from hypothesis import strategies as st
from strict_provider import rejected, texts

REASONED = "I think of "
"""Reasoning of finished loops is dropped for good."""

pytestmark = pytest.mark.hypothesis

histories = st.builds(
    lambda seed, mutator: MUTATORS[mutator](random_history(seed)),
    st.integers(0, 10**6),
    st.sampled_from(list(MUTATORS)),
)
dialects = st.sampled_from(list(FORMS))
limits = st.sampled_from([Limit(tokens=4000), Limit(tokens=16_000, reply=2000), Limit(chars=40_000)])


@given(histories, dialects, limits, st.data())
def test_every_request_is_valid_within_its_limit_stable_and_in_order(history, dialect, limit, data):
    system, messages = FORMS[dialect](history)
    offered = tools(dialect)
    pins = frozenset(data.draw(st.lists(st.integers(0, max(0, len(messages) - 1)), max_size=2)))
    stored, state = set(), State()

    def store(leaving):
        data = leaving.data.decode()
        documents = data.split("\n") if leaving.media_type == "application/x-ndjson" else [data]
        stored.update([data] if leaving.media_type == "text/plain" else texts([json.loads(one) for one in documents]))
        return "a1"

    for end in sorted({len(messages), data.draw(st.integers(0, len(messages)))}):
        request = Request(dialect, messages[:end], system, offered, pins=frozenset(pin for pin in pins if pin < end))
        if problems(request):
            continue
        try:
            fitted = fit(request, limit, store, state)
        except RequestTooLarge:
            return
        state = fitted.state
        # valid
        assert problems(Request(dialect, fitted.messages)) == []
        assert not rejected(dialect, fitted.messages) or rejected(dialect, messages[:end])
        # within its limit
        estimated = estimate(request, state)
        assert limit.tokens is None or estimated.tokens <= limit.tokens - limit.reply
        assert limit.chars is None or estimated.chars <= limit.chars
        # stable, also after a restart
        again = fit(request, limit, store, State.from_json(state.to_json()))
        assert not again.told
        assert json.dumps(again.messages) == json.dumps(fitted.messages)
        # in order, and what is pinned is the same object
        places = {id(message): place for place, message in enumerate(messages)}
        kept = [places[id(message)] for message in fitted.messages if id(message) in places]
        assert kept == sorted(kept)
        assert request.pins <= set(kept)
        # nothing is lost
        if fitted.told:
            found = stored | set(map(utf8, texts(fitted.messages)))
            missing = {utf8(text) for text in texts(messages[:end])} - found
            assert not [text for text in missing if not text.startswith(REASONED)]
