"""The shared pool: order, failures, nesting, forks, and how many threads."""

import multiprocessing
import os
import pickle
import select
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrank import _threads
from fastrank._threads import (
    available_cpus,
    query_blocks,
    resolve_n_jobs,
    row_blocks,
    run_blocks,
    run_tasks,
)

SECONDS = 20
"""More than any of this takes; a deadlock ends here."""

# Python 3.12 and later warn of forks in a process with threads, which is what is tested.
forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


def in_child(work):
    """Run work in a forked child and return its result; kill the child if it does not come back."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, pickle.dumps(work()))
        except BaseException as error:
            os.write(writer, pickle.dumps(repr(error)))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        if not select.select([reader], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the child hangs")
        return pickle.loads(os.read(reader, 1 << 16))
    finally:
        os.close(reader)
        os.waitpid(child, 0)


def two_at_once():
    """Return the names of two threads that were at work at the same time."""
    barrier = threading.Barrier(2, timeout=SECONDS / 2)

    def meet():
        barrier.wait()
        return threading.current_thread().name

    return run_tasks([meet, meet], 2)


# ---------------------------------------------------------------- run_tasks


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4, 5, 6, 7, 8, 100])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 7, 200])
def test_results_come_back_in_task_order(n_threads, n_tasks):
    done = []

    def task(i):
        if i % 5 == 0:
            time.sleep(0.0005)
        done.append(i)
        return i * i

    assert run_tasks([lambda i=i: task(i) for i in range(n_tasks)], n_threads) == [i * i for i in range(n_tasks)]
    assert sorted(done) == list(range(n_tasks))


def test_sums_over_blocks_have_the_same_bits_for_any_number_of_threads(rng):
    values = rng.standard_normal(50_000) * 10.0 ** rng.integers(-8, 8, 50_000)
    totals = {
        sum(run_blocks(lambda a, b: float(values[a:b].sum()), row_blocks(len(values), 333), n)).hex()
        for n in range(1, 9)
    }
    assert len(totals) == 1


def test_helpers_work_beside_the_caller():
    names = two_at_once()
    assert len(set(names)) == 2
    assert any(name.startswith("fastrank") for name in names)


def test_no_helper_for_one_thread_or_one_task():
    here = threading.current_thread()
    for n_tasks, n_threads in ((50, 1), (1, 8), (50, 0)):
        assert set(run_tasks([threading.current_thread] * n_tasks, n_threads)) == {here}


def test_never_more_threads_than_asked_for():
    def task():
        with lock:
            running.append(1)
            most.append(len(running))
        time.sleep(0.001)
        with lock:
            running.pop()

    for n_threads in (1, 2, 3, 5):
        lock, running, most = threading.Lock(), [], []
        run_tasks([task] * 40, n_threads)
        assert max(most) <= n_threads


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_the_exception_of_the_earliest_task_is_raised(n_threads):
    def fail(i, seconds):
        time.sleep(seconds)
        raise KeyError(i)

    # the later one fails first
    tasks = [lambda: None, lambda: None, lambda: fail(2, 0.02), lambda: fail(3, 0), lambda: None]
    with pytest.raises(KeyError, match="2"):
        run_tasks(tasks, n_threads)


def test_the_exception_does_not_depend_on_timing(monkeypatch):
    class Dawdling:
        """A lock after which the first thread to leave it waits until the others have gone far ahead."""

        def __init__(self):
            self._lock, self._first = Lock(), True

        def __enter__(self):
            self._lock.acquire()

        def __exit__(self, *_):
            first, self._first = self._first, False
            self._lock.release()
            if first:
                time.sleep(0.05)

    def fail(i):
        raise KeyError(i)

    two_at_once()  # the pool is there
    Lock = threading.Lock
    monkeypatch.setattr(_threads, "threading", SimpleNamespace(Lock=Dawdling))
    with pytest.raises(KeyError) as caught:
        run_tasks([lambda i=i: fail(i) for i in range(8)], 4)
    assert caught.value.args == (0,)


def test_nothing_runs_after_a_failure_is_raised():
    started, after = [], threading.Event()

    def task(i):
        started.append(i)
        if i == 3:
            raise KeyError(i)
        time.sleep(0.001)
        assert not after.is_set()

    with pytest.raises(KeyError):
        run_tasks([lambda i=i: task(i) for i in range(1000)], 4)
    after.set()
    n_started = len(started)
    assert n_started < 100
    time.sleep(0.02)
    assert len(started) == n_started


def test_interrupts_pass_through():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks([stop] * 4, 2)
    assert run_tasks([lambda: 1] * 4, 2) == [1] * 4


@needs_fork
@forks
def test_nested_calls_do_not_deadlock():
    def tree(depth):
        return 1 if depth == 0 else sum(run_tasks([lambda: tree(depth - 1)] * 9, 9))

    # more calls at a time than the pool has threads; in a child, which can be killed
    assert in_child(lambda: tree(4)) == 9**4


def test_callers_in_many_threads_share_the_pool():
    results = [None] * 20

    def call(i):
        results[i] = run_tasks([lambda j=j: (i, j) for j in range(30)], 8)

    callers = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(20)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(SECONDS)
    assert results == [[(i, j) for j in range(30)] for i in range(20)]
    helpers = [thread for thread in threading.enumerate() if thread.name.startswith("fastrank")]
    assert len(helpers) <= _threads._MAX_HELPERS


# ---------------------------------------------------------------- fork


@needs_fork
@forks
def test_a_forked_child_makes_threads_of_its_own():
    two_at_once()
    names = in_child(two_at_once)
    assert len(set(names)) == 2
    assert in_child(lambda: in_child(two_at_once)) == names  # and so does its child
    assert len(set(two_at_once())) == 2  # nothing is lost here


@needs_fork
@forks
def test_a_fork_while_the_lock_is_held():
    with _threads._lock:
        names = in_child(two_at_once)
    assert len(set(names)) == 2


@needs_fork
@forks
def test_forks_while_other_threads_run_tasks():
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            run_tasks([lambda: time.sleep(0.0002)] * 20, 4)

    callers = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
    for caller in callers:
        caller.start()
    try:
        for _ in range(15):
            assert len(set(in_child(two_at_once))) == 2
    finally:
        stop.set()
        for caller in callers:
            caller.join(SECONDS)


@needs_fork
@forks
def test_processes_of_multiprocessing():
    two_at_once()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    children = [context.Process(target=lambda: sender.send(two_at_once())) for _ in range(2)]
    for child in children:
        child.start()
    try:
        for _ in children:
            assert receiver.poll(SECONDS), "the child hangs"
            assert len(set(receiver.recv())) == 2
        for child in children:
            child.join(SECONDS)
            assert child.exitcode == 0
    finally:
        for child in children:
            child.kill()


# ---------------------------------------------------------------- how many threads


@pytest.fixture
def four_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(_threads, "_cgroup_cpus", lambda: float("inf"))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(None, 1), (1, 1), (3, 3), (50, 50), (np.int32(2), 2), (-1, 4), (-2, 3), (-4, 1), (-5, 1), (-99, 1)],
)
def test_n_jobs(four_cpus, n_jobs, expected):
    got = resolve_n_jobs(n_jobs)
    assert got == expected
    assert type(got) is int


@pytest.mark.parametrize(
    ("n_jobs", "error", "message"),
    [
        (0, ValueError, r"^n_jobs: expected a positive number of threads, -1 for all CPUs or None for 1, got 0$"),
        (True, TypeError, r"^n_jobs: expected an integer or None, got True$"),
        (np.True_, TypeError, r"^n_jobs: expected an integer or None"),
        ("2", TypeError, r"^n_jobs: expected an integer or None, got '2'$"),
        (2.0, TypeError, r"^n_jobs: expected an integer or None, got 2.0$"),
    ],
)
def test_bad_n_jobs(n_jobs, error, message):
    with pytest.raises(error, match=message):
        resolve_n_jobs(n_jobs)


@pytest.mark.parametrize(
    ("cap", "expected"),
    [
        ("2", 2), ("3,2", 3), (" 2 ", 2), ("1", 1), ("64", 4), ("4,2", 4), ("", 4), ("0", 4), ("-1", 4), ("many", 4),
        ("2.5", 4), (",2", 4), ("²", 4),
    ],
)  # fmt: skip
def test_omp_num_threads_is_a_cap(four_cpus, monkeypatch, cap, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", cap)
    assert available_cpus() == expected
    assert resolve_n_jobs(-1) == expected
    assert resolve_n_jobs(7) == 7


@pytest.mark.parametrize(("cpus", "expected"), [(0.5, 1), (1.0, 1), (2.9, 2), (9.0, 4), (float("inf"), 4)])
def test_the_control_group_is_a_cap(four_cpus, monkeypatch, cpus, expected):
    monkeypatch.setattr(_threads, "_cgroup_cpus", lambda: cpus)
    assert available_cpus() == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this platform")
def test_affinity(monkeypatch):
    monkeypatch.setattr(_threads, "_cgroup_cpus", lambda: float("inf"))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    assert available_cpus() == len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(_threads, "_cgroup_cpus", lambda: float("inf"))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert available_cpus() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus() == 1


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "200000 100000\n"}, 2.0),
        ({"cpu.max": "50000 100000\n"}, 0.5),
        ({"cpu.max": "max 100000\n"}, np.inf),
        ({"cpu.max": ""}, np.inf),
        ({"cpu.max": "garbage"}, np.inf),
        ({"cpu.max": "100000 0"}, np.inf),
        ({"cpu.max": "0 100000"}, np.inf),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3.0),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, np.inf),
        ({"cpu/cpu.cfs_quota_us": "300000\n"}, np.inf),
        ({"cpu/cpu.cfs_quota_us": "x", "cpu/cpu.cfs_period_us": "y"}, np.inf),
        ({"cpu.max": "200000 100000", "cpu/cpu.cfs_quota_us": "1", "cpu/cpu.cfs_period_us": "1"}, 1.0),
        ({}, np.inf),
    ],
)
def test_quotas_of_control_groups(tmp_path, files, expected):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert _threads._cgroup_cpus(tmp_path, tmp_path / "no membership") == expected


@pytest.mark.parametrize("version", [1, 2])
def test_least_quota_of_the_groups_above(tmp_path, version):
    root = tmp_path / "cgroup"
    base = root if version == 2 else root / "cpu"
    for path, quota in (("slice", 300_000), ("slice/job", 150_000), ("slice/job/step", 400_000)):
        (base / path).mkdir(parents=True)
        if version == 2:
            (base / path / "cpu.max").write_text(f"{quota} 100000\n")
        else:
            (base / path / "cpu.cfs_quota_us").write_text(f"{quota}\n")
            (base / path / "cpu.cfs_period_us").write_text("100000\n")
    membership = tmp_path / "self"
    membership.write_text("0::/slice/job/step\n" if version == 2 else "7:memory:/x\n4:cpu,cpuacct:/slice/job/step\n")
    assert _threads._cgroup_cpus(root, membership) == 1.5


# ---------------------------------------------------------------- blocks


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 30) | st.just(0), max_size=60), st.integers(1, 40))
def test_query_blocks_cover_every_query_once(sizes, rows_per_block):
    qptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
    blocks = query_blocks(qptr, rows_per_block)
    assert [query for first, last in blocks for query in range(first, last)] == list(range(len(sizes)))
    assert all(first < last for first, last in blocks)
    longest = max(sizes, default=0)
    for first, last in blocks:
        assert qptr[last] - qptr[first] <= rows_per_block + longest
    assert len(blocks) <= sum(sizes) // rows_per_block + 1
    assert all(type(end) is int for block in blocks for end in block)


def test_query_blocks_of_one_row_lists():
    qptr = np.arange(10_001)
    assert query_blocks(qptr, 4096) == [(0, 4096), (4096, 8192), (8192, 10_000)]
    assert query_blocks(np.array([0]), 4096) == []
    assert query_blocks(np.array([0, 0, 0]), 4096) == [(0, 2)]
    assert query_blocks(np.array([0, 100_000]), 4096) == [(0, 1)]


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(0, []), (1, [(0, 1)]), (8, [(0, 4), (4, 8)]), (9, [(0, 4), (4, 8), (8, 9)])]
)
def test_row_blocks(n_rows, expected):
    assert row_blocks(n_rows, 4) == expected
