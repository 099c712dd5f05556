# SPDX-License-Identifier: Apache-2.0
"""A second reader of dumps, in Python, written from docs/dump-format.md and the schema's generated code alone."""

# Covers: preload/dump/{chunk,process_chunks,system_totals,tensor_rows}.cc preload/support/small_file.cc
# Covers: preload/support/coverage.cc

import pathlib
import struct

import dump_reader
import harness
import pytest
from dump_reader import xxh3

pytest.importorskip("flatbuffers")

ROOTS = {"PROC": "Process", "STRS": "Strings", "MODS": "SharedObjects", "CODE": "Codes", "NATV": "NativeFrames", "PYTH": "PythonFrames",
         "SITE": "Sites", "THRD": "Threads", "TENS": "TensorRows", "ALLO": "AllocationRows", "NODE": "NodeRows", "TOTL": "Totals",
         "COVR": "Coverages", "NAME": "Names", "GRPH": "GraphRows", "REFS": "References", "CUPM": "DriverMemory",
         "KERN": "Launches", "SRCS": "SourceLines", "PMEM": "ProcessMemory", "PGRP": "ProcessGroups",
         "STEP": "Steps", "HIST": "History", "PEAK": "Peak", "END!": "EndMark"}
KNOWS_SIZES, KNOWS_STRIDES = 1 << 0, 1 << 1


def chunks(data):
    """(type, payload, offset) of every chunk, each checked."""
    magic, major, _minor, checksum = struct.unpack_from("<8sIIQ", data)
    assert magic == b"TSCOPE\r\n" and major == 1 and checksum == xxh3(data[:16])
    at = 24
    while at < len(data):
        kind, reserved, length, checksum = struct.unpack_from("<4sIQQ", data, at)
        seed = xxh3(data[at:at + 16])
        payload = data[at + 24:at + 24 + length]
        assert reserved == 0 and len(payload) == length and checksum == xxh3(payload, seed)
        end = at + 24 + length
        after = (end + 7) // 8 * 8
        assert not any(data[end:after])
        yield kind.decode(), payload, at
        at = after


class Dump:
    def __init__(self, path):
        self.parts = {}
        for before, (kind, payload, offset) in enumerate(chunks(path.read_bytes())):
            name = ROOTS.get(kind)
            assert name, f"chunk {kind} is in no table of this test"
            (size,) = struct.unpack_from("<I", payload)
            assert size == len(payload) - 4
            root = dump_reader.table(name).GetRootAs(payload, 4)
            if kind == "END!":
                assert (root.Chunks(), root.Bytes()) == (before, offset)
            self.parts.setdefault(kind, []).append(root)
        assert "END!" in self.parts

    def one(self, kind):
        (part,) = self.parts[kind]
        return part

    def rows(self, kind):
        for part in self.parts.get(kind, []):
            for i in range(part.ValuesLength()):
                yield part, part.Values(i)

    def text(self, index):
        return self.one("STRS").Values(index).decode()

    def python_stack(self, leaf):
        frames = [row for _, row in self.rows("PYTH")]
        codes = [row for _, row in self.rows("CODE")]
        while leaf:
            frame = frames[leaf]
            assert frame.Parent() < leaf
            yield self.text(codes[frame.Code()].Name()), self.text(codes[frame.Code()].File()), frame.Line()
            leaf = frame.Parent()


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    done = harness.run("views.py", folder=folder)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(harness.truth(folder, "after")["dump"])


def test_a_second_reader_agrees_with_the_first(dump):
    mine, exported = Dump(dump), harness.load(dump)
    assert mine.one("PROC").Pid() == exported["process"]["pid"]
    assert mine.one("PROC").RunId().decode() == exported["process"]["run_id"]
    assert mine.one("TOTL").TensorsLive() == exported["totals"]["tensors_live"]

    tensors = {}
    for part, row in mine.rows("TENS"):
        at, count = row.Dims(), row.Ndim()
        shape = [part.Dims(at + i) for i in range(count)] if row.Known() & KNOWS_SIZES else None
        strides = [part.Dims(at + count + i) for i in range(count)] if row.Known() & KNOWS_STRIDES else None
        tensors[row.Serial()] = (row.Address(), shape, strides, row.Site())
    assert list(tensors) == sorted(tensors) and len(tensors) >= 5
    assert {tensor["id"]: (tensor["address"], tensor["shape"], tensor["strides"], tensor["site"] or 0)
            for tensor in exported["tensors"]} == tensors

    assert len(exported["allocations"]) >= 3
    assert {row.Serial(): (row.Pointer(), row.Nbytes()) for _, row in mine.rows("ALLO")} == \
        {item["id"]: (item["pointer"], item["nbytes"]) for item in exported["allocations"]}


def test_python_stacks(dump):
    mine, exported = Dump(dump), harness.load(dump)
    sites = [row for _, row in mine.rows("SITE")]
    some = [tensor for tensor in exported["tensors"] if tensor["site"]][:20]
    assert some
    for tensor in some:
        assert list(mine.python_stack(sites[tensor["site"]].Python())) == harness.frames(tensor)


def test_any_changed_byte_is_noticed(dump):
    data = bytearray(dump.read_bytes())
    assert sum(1 for _ in chunks(bytes(data))) > 5
    for at in range(0, len(data), max(1, len(data) // 50)):
        data[at] ^= 1
        with pytest.raises((AssertionError, struct.error)):
            list(chunks(bytes(data)))
        data[at] ^= 1
