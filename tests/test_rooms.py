import importlib

import pytest


@pytest.mark.parametrize(
    "room",
    [
        "errors",
        "budget",
        "budget.request",
        "budget.request.dialects",
        "artifacts",
        "guard",
        "guard.net",
        "guard.workers",
        "content",
        "content.page",
        "content.sql",
        "pdf",
        "history",
        "history.adapters",
        "tools",
        "agent",
        "server",
    ],
)
def test_every_room_says_in_a_sentence_what_it_is_for(room: str) -> None:
    said = importlib.import_module(f"bursar.{room}").__doc__ or ""
    assert len(said.split()) >= 4
    assert said.endswith(".")
