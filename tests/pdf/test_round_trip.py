"""What is copied out of a document is what was put in, in every script."""

import pytest
from round_trip import SAMPLES, recovered

pytestmark = pytest.mark.needs("pdftotext")


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.md")))
def test_the_text_comes_back_in_logical_order(name):
    assert recovered(name) >= 99.9
