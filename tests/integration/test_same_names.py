# SPDX-License-Identifier: Apache-2.0
"""`leaks` on a real program with threads, recursion, generators, asyncio tasks, closures, dicts and sets that have lists of one name: one of
each kind grows, and no finding takes two for one."""

# Covers: preload/python/heap_inspector/naming/beginnings.cc analyzer/dump/same_names.cc

import json
import os
import re

import pytest

import harness

PROGRAM = "leak_same_names.py"
AT = "0x[0-9a-f]+"
# The list that grows in each kind, and how many lists of this name there are.
GROWS = [
    r"seen\[0\.\.\d+\] \(local of worker, thread reader-0\)",
    r"seen\[0\.\.\d+\] \(in the waiting producer \(held\.generators\[0\]\)\)",
    rf"seen\[0\.\.\d+\] \(in the waiting stream \(held\.streams\[Held at {AT}\]\)\)",
    r"seen\[0\.\.\d+\] \(in the waiting task \(tasks\[0\]\.<coroutine>\)\)",
    r"closure of held\.counter: seen\[0\.\.\d+\] \(local of main\)",
    r"closure of function: seen\[0\.\.\d+\] \(held by C code, through function, #1\)",
    r"list\[0\.\.\d+\] \(held by C code, through list, #1\)",
    r"held\.counters\[0\]\.items\[0\.\.\d+\] \(local of main\)",
    rf"held\.cache\[Held at {AT}\]\[0\.\.\d+\] \(local of main\)",
    rf"held\.bags{{Bag at {AT}}}\.items\[0\.\.\d+\] \(local of main\)",
]


WIDE = {**os.environ, "COLUMNS": "250"}


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same_names")
    done = harness.run(PROGRAM, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_each_list_that_grows_is_a_finding_and_no_other(dumps):
    text = harness.cli("leaks", *dumps, status=1, env=WIDE).stdout
    held = re.findall(r"^\d+ .* held by (.*) \(list\), \+208\.0 KiB", text, re.M)
    assert len(held) == len(GROWS), text
    for form in GROWS:
        assert sum(bool(re.fullmatch(form, name)) for name in held) == 1, f"{form}: {held}"
    # 4 and one for each step: those of the others are in none.
    assert re.findall(r"tensors in it: (.*)", text) == ["10 -> 23 -> 36"] * len(GROWS)


def test_what_does_not_grow_is_told_apart_too(dumps):
    text = harness.cli("report", dumps[-1], "--by", "holder", "--top", "0", env=WIDE).stdout
    for name in ("seen (local of worker, thread reader-1)", "seen (local of recurse, call 1)", "seen (local of recurse, call 2)",
                 "seen (in the waiting stream (held.streams[Held at 0x...]))", "seen (in the waiting task (tasks[1].<coroutine>))",
                 "list (held by C code, through list, #2)"):
        form = re.escape(name).replace(re.escape("0x..."), AT)
        assert re.search(rf" 32\.0 KiB .* {form}$", text, re.M), f"{name}: {text}"


def test_no_two_tensors_have_one_name(dumps):
    tensors = json.loads(harness.cli("export", dumps[-1], "--format", "json").stdout)["tensors"]
    names = [tensor["names"][0] for tensor in tensors if tensor["names"]]
    assert len(names) > 250
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
