"""What a body of a request may hold, where it is read."""

from __future__ import annotations

import pytest

from german_whist.engine.checking import converted
from german_whist.table.browser.requests import Malformed, WantedMove


def test_of_a_long_name_that_is_not_known_only_the_beginning_is_told() -> None:
    with pytest.raises(Malformed, match="the body: 'xxxx") as refused:
        converted({"x" * 9999: 1}, WantedMove, "the body", error=Malformed)
    assert len(str(refused.value)) < 200
