# SPDX-License-Identifier: Apache-2.0
"""64 threads on two processors that make and free tensors at once: no event is lost, while they run and in the end."""

import json

import harness

THREADS = 64
FIRST = 8
NEWEST = 16
IN_HAND = 3  # one in the mailbox, one that was taken from it, a new one


def moments(done):
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["moment"] for row in rows][-2:] == ["kept", "freed"] and all(row["status"] == 0 for row in rows), rows
    return rows


def numbers_by_thread(exported):
    """For each thread, the numbers of its live tensors, None for one that was freed before its shape was read; and how many
    of its allocations are alive."""
    numbers = {thread: [] for thread in range(1, THREADS + 1)}
    allocations = dict.fromkeys(numbers, 0)
    for tensor in exported["tensors"]:
        name = tensor["thread_name"] or ""
        if name.startswith("worker-"):
            thread = int(name.removeprefix("worker-"))
            shape = tensor["shape"]
            if shape is not None and len(shape) == 1:  # the one of which the expanded one is made
                shape = None
            assert shape is None or shape[1] == thread, tensor
            numbers[thread].append(shape and shape[0])
    for allocation in exported["allocations"]:
        name = allocation["thread_name"] or ""
        if name.startswith("worker-"):
            thread = int(name.removeprefix("worker-"))
            assert allocation["nbytes"] == thread, allocation
            allocations[thread] += 1
    return numbers, allocations


def check_running(row):
    """Of each thread a state that it was in. Most tensors are freed before their shapes are read: they count."""
    numbers, allocations = numbers_by_thread(harness.load(row["dump"]))
    for thread, found in numbers.items():
        before, after = row["before"][thread - 1], row["after"][thread - 1]
        assert 0 <= allocations[thread] - FIRST - NEWEST <= IN_HAND, (thread, allocations[thread])
        assert 0 <= len(found) - FIRST - NEWEST <= IN_HAND + 1, (thread, found)  # and the tensor of which the new one is made
        known = sorted(number for number in found if number is not None)
        assert known[:FIRST] == list(range(1, FIRST + 1)), (thread, known)
        assert len(set(known)) == len(known), (thread, known)
        assert all(number <= after + 1 for number in known), (thread, before, known, after)
        # The one that the next thread has taken is as old as that thread has waited for a processor.
        assert sum(number <= before - NEWEST - IN_HAND for number in known[FIRST:]) <= 1, (thread, before, known, after)


def check_at_rest(row, first, newest):
    """Each thread has exactly these tensors. Returns what the totals count beyond the threads' own tensors."""
    exported = harness.load(row["dump"])
    numbers, allocations = numbers_by_thread(exported)
    for thread, found in numbers.items():
        made = row["after"][thread - 1]
        assert sorted(found) == [*range(1, first + 1), *range(made - newest + 1, made + 1)], (thread, made, found)
        assert allocations[thread] == first + newest
    made = sum(row["after"])
    totals = exported["totals"]
    [device] = [item for item in totals["devices"] if item["device"] == "cpu"]
    return (device["total_count"] - made, totals["tensors_total"] - 2 * made,
            device["live_count"] - THREADS * (first + newest))


def test_64_threads_lose_nothing(tmp_path, long):
    harness.needs_build_against_this_torch()
    done = harness.run("many_threads", *(("200000", "20") if long else ("1000", "2")), folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    rows = moments(done)
    for row in rows[:-2]:
        check_running(row)
    assert check_at_rest(rows[-2], FIRST, NEWEST) == (0, 0, 0)
    assert check_at_rest(rows[-1], 0, 0) == (0, 0, 0)
