"""The traps that other tests set do spring: else those tests could not fail."""

import pytest

from tests.unsafe import springs, traps


@pytest.mark.parametrize("kind", ["pickle", "torch", "text pickle"])
def test_CKP_11_a_trap_springs_where_it_is_unpickled(tmp_path, kind):
    assert springs(traps(tmp_path / "marker")[kind], tmp_path / "marker")
