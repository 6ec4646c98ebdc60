"""Fixtures of the whole suite. Imports nothing of transduce at the top: its shape checks come later."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny tensors: threads only wait for each other


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Runs a test without the suite's shape checks, as users run the package."""
    from jaxtyping import config

    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)


# machines that run tests are slow and busy: no deadlines, and the same examples each time
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")
