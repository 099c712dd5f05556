# SPDX-License-Identifier: Apache-2.0
"""What the kernel sees: with everything switched on, the threads that share the program's descriptor table open exactly what they open without
the profiler. The system calls are followed by strace, and so is which thread has which table: no caller can forget."""

import collections
import re
import subprocess
import tempfile

import harness
from harness import PROGRAMS, TIMEOUT, environment

OPENS = ("open", "openat", "openat2", "creat", "memfd_create", "pipe", "pipe2", "socket", "socketpair", "eventfd", "eventfd2", "epoll_create",
         "epoll_create1", "dup", "dup2", "dup3", "inotify_init1", "timerfd_create", "signalfd4", "perf_event_open", "pidfd_open", "accept4")
TABLES = ("clone", "clone3", "fork", "vfork", "unshare", "close_range")
LINE = re.compile(r"(?P<thread>\d+) +(?:<\.\.\. \w+ resumed>(?P<rest>.*)|(?P<call>\w+)\((?P<arguments>.*))")
TEMPORARY = re.compile(rf'"{re.escape(tempfile.gettempdir())}/(tmp)?[a-z0-9_]{{8}}"')  # as tempfile makes them
TABLE_OF_ITS_OWN = "own"


def calls(trace):
    """(thread, call, arguments, result) of each call, in the order in which they began."""
    found, open_calls = [], {}
    for line in trace.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        thread = match["thread"]
        if match["call"]:
            found.append([thread, match["call"], match["arguments"].removesuffix(" <unfinished ...>")])
            if line.endswith("<unfinished ...>"):
                open_calls[thread] = found[-1]
        elif thread in open_calls:
            open_calls.pop(thread)[2] += match["rest"]
    for thread, call, arguments in found:
        arguments, _, result = arguments.rpartition(" = ")
        yield thread, call, TEMPORARY.sub('"a temporary name"', arguments.rstrip()), result.split(" ")[0]


def opened_in_programs_tables(trace):
    """How often each thing was opened by threads that share a table with the program."""
    table_of = collections.defaultdict(lambda: "program")
    opened = collections.Counter()
    for thread, call, arguments, result in calls(trace):
        table = table_of[thread]
        if call in ("clone", "clone3", "fork", "vfork"):
            made_by_profiler = "CLONE_THREAD" in arguments and "CLONE_FILES" not in arguments
            table_of[result] = TABLE_OF_ITS_OWN if made_by_profiler else table
        elif call == "unshare" and "CLONE_FILES" in arguments or call == "close_range" and "CLOSE_RANGE_UNSHARE" in arguments:
            if result == "0":
                table_of[thread] = TABLE_OF_ITS_OWN
        elif call in OPENS and table == "program":
            opened[call, arguments] += 1
    return opened


def follow(folder, preload, **options):
    trace = folder / f"trace-{preload}"
    settings = environment(folder, preload, **options)
    library = settings.pop("LD_PRELOAD", None)  # of the program, not of strace
    followed = ",".join("?" + call for call in (*OPENS, *TABLES))
    done = subprocess.run(["strace", "-f", "-qq", "-s", "256", "-o", trace, "-e", "signal=none", "-e", f"trace={followed}",
                           *(["-E", f"LD_PRELOAD={library}"] if library else []), harness.PYTHON, PROGRAMS / "every_dump.py", folder],
                          capture_output=True, text=True, timeout=TIMEOUT, cwd=folder, env=settings)
    assert done.returncode == 0, done.stderr
    return opened_in_programs_tables(trace)


def of_the_loader(call, arguments):
    """The loader opens the library before anything of it runs, and finds libm, which the library needs, at another moment."""
    return call == "openat" and (f'"{harness.LIBRARY}"' in arguments or '/libm.so.6"' in arguments)


def test_the_programs_threads_open_what_they_open_without(tmp_path):
    without = follow(tmp_path, False)
    assert sum(without.values()) > 1000  # torch's import: the trace is read as it should be
    options = {"record": 1, "watch": "*", "calls": 1, "find_nan": 1, "dump_at_growth": "10%", "log": tmp_path / "log.txt", "low_memory": "5%", "quiet": 1,
               "oom_report": 0}
    with_all = follow(tmp_path, True, **options)
    for only_there in (with_all - without, without - with_all):
        assert {key: count for key, count in only_there.items() if not of_the_loader(*key)} == {}
    kinds = {path.name.split(".")[2] for path in tmp_path.glob("every_dump.*.tscope")}
    assert {"1", "oom-1", "exit"} <= kinds
    assert list(tmp_path.glob("*.recording")) and list(tmp_path.glob("*.values")) and (tmp_path / "log.txt").exists()
