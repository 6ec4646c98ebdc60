"""Batches made ahead of their use."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")
AHEAD = 4  # things made before they are asked for, a worker


def made_ahead(make: Callable[[Job], Made], jobs: Iterable[Job], workers: int) -> Iterator[Made]:
    """What `make` makes of each job, in order, by so many threads; by the caller itself with none.

    Threads, because they can neither outlive their process nor be killed apart from it, and arrays that
    are mapped into memory need no copies for them. Whoever stops asking ends them.
    """
    if not workers:
        yield from map(make, jobs)
        return
    pool, waiting = ThreadPoolExecutor(workers, thread_name_prefix="batches"), deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(make, job))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
