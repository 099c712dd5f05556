# SPDX-License-Identifier: Apache-2.0
"""Limits of a search for names in a large heap: how long it holds the GIL, and how much memory it takes."""

import json

import harness
import pytest

pytest.importorskip("flatbuffers")

import dump_reader

CHAIN = 100_000
FIRST_BATCH = 64  # as many tensors get names whatever the clock says (tensor_batches.h)
MIB = 1 << 20


def take_dump(folder, **options):
    folder.mkdir()
    done = harness.run("large_heap.py", str(CHAIN), folder=folder, exit="never", **options)
    assert done.returncode == 0, done.stderr
    (path,) = harness.dumps(folder)
    return json.loads(done.stdout), path, dump_reader.References(path)


@pytest.fixture(scope="module")
def heap(tmp_path_factory):
    return tmp_path_factory.mktemp("large_heap")


@pytest.fixture(scope="module")
def without_names(heap):
    return take_dump(heap / "off", names=0)


LIMITS = {"time": dict(names_gil_ms=0), "memory": dict(names_memory="8M", names_gil_ms=600_000)}


@pytest.fixture(scope="module", params=LIMITS)
def limited(request, heap):
    return request.param, *take_dump(heap / request.param, **LIMITS[request.param])


@pytest.fixture(scope="module")
def dump(limited):
    return harness.load(limited[2])


def test_the_dump_is_whole_and_its_totals_are_right(limited, dump):
    _, truth, path, _ = limited
    assert "complete dump" in harness.cli("info", path).stdout
    assert len(dump["tensors"]) == dump["totals"]["tensors_live"] == truth["tensors"]


def test_the_largest_tensors_have_names(limited):
    _, truth, _, found = limited
    largest = list(enumerate(truth["large"]))[-FIRST_BATCH:]
    assert [(i, found.of(address)) for i, address in largest] == [
        (i, [("global", "large_heap.py", f"large[{i}]")]) for i, _ in largest]


def test_the_dump_says_how_far_it_got(limited):
    limit, truth, path, found = limited
    assert not found.complete and found.stopped_by == limit
    assert FIRST_BATCH <= len(found.tensors) < truth["tensors"]
    assert found.detail == f"the {limit} limit for finding names was reached (TENSORSCOPE_NAMES_{'GIL_MS' if limit == 'time' else 'MEMORY'})"
    said = "0 us (TENSORSCOPE_NAMES_GIL_MS)" if limit == "time" else "8.0 MiB (TENSORSCOPE_NAMES_MEMORY)"
    report = " ".join(harness.cli("report", path).stdout.split())
    assert f"Names: {len(found.tensors):,} of {truth['tensors']:,} tensors, largest first; stopped by the {limit} limit of {said}." in report
    info = " ".join(harness.cli("info", path).stdout.split())
    assert f"tensor names {len(found.tensors):,} {limit} limit of {said}" in info


def test_what_was_not_looked_up_is_not_known(limited, dump):
    _, truth, _, found = limited
    unknown = [tensor for address, tensor in harness.by_address(dump).items() if address not in found.tensors]
    assert len(unknown) == truth["tensors"] - len(found.tensors)
    assert {holder["text"] for tensor in unknown for holder in tensor["holders"]} == {"not known: " + found.detail}


def test_the_process_grows_by_no_more_than_the_limit(without_names, limited):
    limit, truth, _, found = limited
    assert 0 < found.memory_taken <= found.memory_limit
    if limit == "memory":
        assert found.memory_limit == 8 * MIB
        without, _, _ = without_names
        assert truth["grown"] - without["grown"] < 16 * MIB  # the same and what a thread and the chunk take


def test_other_threads_go_on(limited):
    _, truth, _, _ = limited
    assert truth["counted"] > 0


def test_without_a_limit_every_tensor_has_a_name(heap):
    truth, path, found = take_dump(heap / "whole", names_gil_ms=600_000)
    assert (found.complete, found.stopped_by, found.detail) == (True, "none", "")
    assert len(found.tensors) == truth["tensors"] and all(found.rows.get(address) for address in found.tensors)
    assert found.memory_taken < CHAIN * 800 + 64 * MIB
    assert "stopped at" not in harness.cli("info", path).stdout
