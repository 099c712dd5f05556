"""64 threads on two processors that make and free tensors at once: no event is lost, while they run and in the end."""

import json

import harness

THREADS = 64
KEPT = 16
IN_HAND = 3  # one in the mailbox or just taken from it, a new one not yet in its place, one made of another


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
    numbers, allocations = numbers_by_thread(harness.load(row["dump"]))
    for thread, found in numbers.items():
        before, after = row["before"][thread - 1], row["after"][thread - 1]
        assert KEPT <= len(found) <= KEPT + IN_HAND, (thread, found)
        assert KEPT <= allocations[thread] <= KEPT + IN_HAND, (thread, allocations[thread])
        known = sorted(number for number in found if number is not None)
        assert len(set(known)) == len(known), (thread, known)
        assert all(before - KEPT - IN_HAND < number <= after + 1 for number in known), (thread, before, known, after)


def check_at_rest(row, kept):
    """Each thread has exactly its newest `kept`, and the site's counters every event of the run."""
    exported = harness.load(row["dump"])
    numbers, allocations = numbers_by_thread(exported)
    for thread, found in numbers.items():
        made = row["after"][thread - 1]
        assert sorted(found) == list(range(made - kept + 1, made + 1)), (thread, made, found)
        assert allocations[thread] == kept
    made = sum(row["after"])
    names = [f"worker-{thread}" for thread in range(1, THREADS + 1)]
    assert {thread["name"] for thread in exported["threads"]} >= set(names)
    totals = exported["totals"]
    [device] = [item for item in totals["devices"] if item["device"] == "cpu"]
    assert device["total_count"] >= made and totals["tensors_total"] >= 2 * made
    return device["total_count"] - made, totals["tensors_total"] - 2 * made, device["live_count"]


def test_64_threads_lose_nothing(tmp_path, long):
    """The dumps meanwhile hold of each thread a state that it was in; the totals count every tensor of the whole run."""
    harness.needs_build_against_this_torch()
    done = harness.run("many_threads", *(("200000", "20") if long else ("1000", "2")), folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    rows = moments(done)
    for row in rows[:-2]:
        check_running(row)
    others = check_at_rest(rows[-2], KEPT)
    assert others[0] == others[1] == 0 and others[2] == THREADS * KEPT, others
    others = check_at_rest(rows[-1], 0)
    assert others == (0, 0, 0), others
