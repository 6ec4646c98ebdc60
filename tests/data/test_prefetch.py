"""Things made ahead: the same, in the same order, by any number of threads, and no thread stays behind."""

import threading
import time

import pytest

from transduce.data.prefetch import made_ahead


def workers_alive() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("batches")]


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
def test_TRN_15_order_and_results_do_not_depend_on_workers(workers):
    def slow_square(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    assert list(made_ahead(slow_square, range(40), workers)) == [n * n for n in range(40)]
    assert not workers_alive()


@pytest.mark.parametrize("workers", [0, 2])
def test_TRN_15_whoever_stops_asking_ends_the_workers(workers):
    made = made_ahead(str, iter(range(10**9)), workers)
    assert [next(made) for _ in range(3)] == ["0", "1", "2"]
    made.close()
    assert not workers_alive()


@pytest.mark.parametrize("workers", [0, 2])
def test_TRN_15_an_error_reaches_the_one_who_asks_and_ends_the_workers(workers):
    def make(number: int) -> int:
        if number == 5:
            raise ValueError("no batch")
        return number

    made = made_ahead(make, range(100), workers)
    with pytest.raises(ValueError, match="no batch"):
        list(made)
    assert not workers_alive()
