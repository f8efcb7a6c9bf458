"""Whoever is killed, a worker comes back as long as the server lives, and ends with it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A worker that tells its number and that of its parent, with which it ends, as ours does.
WORKER = """
import os, sys, time
print(os.getpid(), os.getppid(), flush=True)
while os.getppid() == int(sys.argv[2]): time.sleep(0.02)
"""
# One process of a server, which keeps a worker.
PROCESS = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from config import worker
worker.RESTART_SECONDS = 0.05
worker.keep_alive([sys.executable, "-c", sys.argv[3]], Path(sys.argv[2]), os.environ)
"""


@pytest.fixture
def begin(tmp_path) -> Iterator:
    """Begins a process of a server. All tell the numbers of their workers through one pipe."""
    reader, writer = os.pipe()
    begun = []

    def begin() -> subprocess.Popen:
        command = [sys.executable, "-c", PROCESS, str(ROOT), str(tmp_path), WORKER]
        begun.append(subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL))
        return begun[-1]

    with open(reader) as pipe:
        begin.told = lambda: [int(number) for number in pipe.readline().split()]
        yield begin
        for process in begun:
            process.kill()
            process.wait()
        os.close(writer)
        # Workers hold the pipe open: it ends when the last of them has.
        pipe.read()


def test_a_worker_that_was_killed_is_replaced(begin):
    process = begin()
    first, keeper = begin.told()
    os.kill(first, signal.SIGKILL)
    second, after = begin.told()
    assert second != first and keeper == after == process.pid


def test_where_worker_and_keeper_are_killed_another_process_keeps_the_next(begin):
    first = begin()
    worker, keeper = begin.told()
    other = begin()
    first.kill()
    os.kill(worker, signal.SIGKILL)
    while keeper == first.pid:  # which may have begun one more
        _, keeper = begin.told()
    assert keeper == other.pid


def test_of_several_processes_one_keeps_a_worker(begin):
    first = begin()
    worker, _ = begin.told()
    begin()
    for _ in range(3):
        os.kill(worker, signal.SIGKILL)
        worker, keeper = begin.told()
        assert keeper == first.pid


def test_a_worker_that_cannot_even_begin_is_told_and_tried_again(tmp_path, caplog, monkeypatch):
    from config import worker

    tried = []

    def refused(*args, **options):
        tried.append(args)
        raise OSError("no such program")

    def pause(seconds):
        if len(tried) == 3:
            raise SystemExit
        pauses.append(seconds)

    pauses = []
    monkeypatch.setattr(worker.subprocess, "Popen", refused)
    monkeypatch.setattr(worker.time, "sleep", pause)
    with pytest.raises(SystemExit):
        worker.keep_alive(["nothing"], tmp_path, {})
    assert pauses == [worker.RESTART_SECONDS] * 2
    assert caplog.text.count("no such program") == 2
