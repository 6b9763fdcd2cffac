"""What is copied out of a document is what was put in, in every script."""

import pytest
from round_trip import SAMPLES, recovered

pytestmark = pytest.mark.needs("pdftotext")


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.md")))
def test_the_text_comes_back_in_logical_order(name):
    # poppler changes the places of spaces and full stops in lines that run leftwards.
    assert recovered(name) >= {"arabic": 97.0, "hebrew": 96.0}.get(name, 99.9)
