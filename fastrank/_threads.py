"""Plain threads over GIL-free kernels: one small shared pool, the same results for any number of threads.

(a) Work is cut into tasks that do not depend on the number of threads, and results come back in task order; so whoever
    adds them up adds the same numbers in the same order.
(b) The calling thread works too. Helpers that find nothing left to do are cancelled, so nested calls cannot deadlock.
(c) No OpenMP. After a fork the child has no helper threads: it forgets the pool and makes its own when needed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

ROWS_PER_BLOCK = 4096
"""Rows that make a block of queries: large enough to hide a call, small enough to balance threads."""

_MAX_HELPERS = 64
_CGROUP_ROOT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def _forget_pool() -> None:
    """Start anew in a forked child, whose copy of the pool has no threads and whose lock may be held by nobody."""
    global _lock, _pool
    _lock = threading.Lock()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            # Threads start only when there is work for them, so the limit costs nothing.
            _pool = ThreadPoolExecutor(_MAX_HELPERS, thread_name_prefix="fastrank")
        return _pool


def _cgroup_cpus(root: Path = _CGROUP_ROOT, membership: Path = _MEMBERSHIP) -> float:
    """CPUs that the control groups of this process may use, from the least quota; infinity where unlimited.

    A quota may be set on the group itself or on any group above it, of version 2 or 1.
    """
    least = float("inf")
    for group in _groups(root, membership):
        for above in (group, *group.parents):
            least = min(least, _quota(above))
            if above == root:
                break
    return least


def _groups(root: Path, membership: Path) -> list[Path]:
    """The folders of the process's own groups: `0::/path` in version 2, `4:cpu,cpuacct:/path` in version 1."""
    groups = [root, root / "cpu"]
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return groups
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            groups.append(root / path.lstrip("/"))
        elif "cpu" in controllers.split(","):
            groups.append(root / "cpu" / path.lstrip("/"))
    return groups


def _quota(group: Path) -> float:
    try:
        if (group / "cpu.max").exists():
            quota, period = map(int, (group / "cpu.max").read_text().split())  # "max" is no integer: no limit
        else:
            quota, period = (int((group / name).read_text()) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    except (OSError, ValueError):
        return float("inf")
    return quota / period if quota > 0 and period > 0 else float("inf")


def available_cpus() -> int:
    """CPUs this process may use: affinity, control group, and OMP_NUM_THREADS as a cap. At least 1."""
    cpus = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    cpus = min(cpus, _cgroup_cpus())
    cap = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if cap.isdecimal() and int(cap) > 0:
        cpus = min(cpus, int(cap))
    return max(1, int(cpus))


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Turn `n_jobs` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None is 1 thread, -1 every CPU this process may use (`available_cpus`), -2 all but one, and so on.

    Raises
    ------
    ValueError
        For 0.
    TypeError
        For what is not an integer.
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs: expected an integer or None, got {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs: expected a positive number of threads, -1 for all CPUs or None for 1, got 0")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cpus() + 1 + int(n_jobs))


def run_tasks(tasks: Sequence[Callable[[], T]], n_threads: int) -> list[T]:
    """Run every task on up to `n_threads` threads and return their results in order.

    The exception of the earliest task that failed is raised, after the tasks under way have ended.
    """
    if n_threads <= 1 or len(tasks) <= 1:
        return [task() for task in tasks]
    results: list[Any] = [None] * len(tasks)
    failures: list[tuple[int, BaseException]] = []
    next_task = iter(range(len(tasks)))
    hand_out = threading.Lock()

    def work() -> None:
        while True:
            with hand_out:
                # A task that is handed out is run: so all before the first failure are, whatever the timing.
                index = None if failures else next(next_task, None)
            if index is None:
                return
            try:
                results[index] = tasks[index]()
            except BaseException as error:  # raised again in the calling thread, below
                failures.append((index, error))
                return

    pool = _shared_pool()
    helpers: list[Future[None]] = [pool.submit(work) for _ in range(min(n_threads, len(tasks)) - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    if failures:
        raise min(failures, key=lambda failure: failure[0])[1]
    return results


def query_blocks(qptr: NDArray[np.int64], rows_per_block: int = ROWS_PER_BLOCK) -> list[tuple[int, int]]:
    """Cut queries into consecutive ranges of about `rows_per_block` rows, the same for any number of threads."""
    n_queries = len(qptr) - 1
    targets = np.arange(rows_per_block, int(qptr[-1]), rows_per_block)
    cuts = np.unique(np.concatenate(([0], np.searchsorted(qptr, targets), [n_queries])))
    return [(int(first), int(last)) for first, last in pairwise(cuts)]


def row_blocks(n_rows: int, rows_per_block: int = ROWS_PER_BLOCK) -> list[tuple[int, int]]:
    """Cut rows into consecutive ranges of `rows_per_block`, the same for any number of threads."""
    return [(first, min(first + rows_per_block, n_rows)) for first in range(0, n_rows, rows_per_block)]


def run_blocks(kernel: Callable[[int, int], T], blocks: Sequence[tuple[int, int]], n_threads: int) -> list[T]:
    """Call `kernel(first, last)` for each block and return the results in block order."""
    return run_tasks([partial(kernel, first, last) for first, last in blocks], n_threads)
