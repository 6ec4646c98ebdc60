"""Fixtures of the whole suite. Imports nothing of transduce at the top: its shape checks come later."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Runs a test without the suite's shape checks, as users run the package."""
    from jaxtyping import config

    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)
