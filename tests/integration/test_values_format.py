# SPDX-License-Identifier: Apache-2.0
"""Values files are as docs/values-format.md says: framing, checksums, order of chunks, and what rows refer to."""

import pathlib
import re
import struct

import dump_reader
import harness
import pytest
import values_reader
from dump_reader import xxh3

pytest.importorskip("flatbuffers")
PAGE = (harness.ROOT / "docs" / "values-format.md").read_text()
TYPES = re.findall(r"^\| `(\w{4})` \| `(\w+)`", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("format")
    watch = "full:model,full:optimizer_state:model.head,model.layers.*.norm,model.nothing"
    assert harness.run("watch_model.py", folder=folder, exit="never", watch=watch, calls=1).returncode == 0
    (path,) = pathlib.Path(folder).glob("*.values")
    return path.read_bytes()


def test_the_page_names_every_chunk():
    header = (harness.ROOT / "include" / "tensorscope" / "values_format.h").read_text()
    named = set(re.findall(r'chunk_type\("(\w{4})"\)', header)) | {"PROC", "STRS"}
    assert {kind for kind, _ in TYPES} == named and dict(TYPES) == values_reader.ROOTS


def test_framing(data):
    magic, major, minor, checksum = struct.unpack_from("<8sIIQ", data)
    assert (magic, major, minor, checksum) == (b"TSVALU\r\n", 1, 0, xxh3(data[:16]))
    at, kinds = 24, []
    while at < len(data):
        kind, reserved, length, checksum = struct.unpack_from("<4sIQQ", data, at)
        payload, end = data[at + 24:at + 24 + length], at + 24 + length
        after = (end + 7) // 8 * 8
        assert reserved == 0 and checksum == xxh3(payload, xxh3(data[at:at + 16])) and not any(data[end:after])
        assert struct.unpack_from("<I", payload)[0] == length - 4  # size-prefixed
        kinds.append(kind.decode())
        at = after
    assert at == len(data) and kinds[0] == "PROC" and kinds[-1] == "VEND" and set(kinds) <= dict(TYPES).keys()
    assert {"STRS", "WTCH", "VDAT", "VALU", "CALL", "NOMT"} <= set(kinds) and kinds.count("PROC") == 1


def test_what_rows_refer_to_came_before(data):
    strings, elements, serials, calls, counts = 0, 0, set(), set(), {}
    for kind, payload in values_reader.chunks(data):
        counts[kind] = counts.get(kind, 0) + 1
        root = dump_reader.table(values_reader.ROOTS[kind]).GetRootAs(payload, 4)
        if kind == "STRS":
            assert strings or not root.Values(0)
            strings += root.ValuesLength()
        elif kind == "VDAT":
            elements += root.DataLength()
        elif kind == "VALU":
            for i in range(root.RowsLength()):
                row = root.Rows(i)
                assert max(row.Name(), row.Module(), row.Operation(), row.Site(), row.Note()) < strings
                assert row.Serial() not in serials and (not row.SameAs() or row.SameAs() in serials)
                assert row.Shape() + row.Ndim() <= root.SizesLength() and row.DataBegin() + row.DataSize() <= elements
                serials.add(row.Serial())
            elements = 0
        elif kind == "CALL":
            for i in range(root.RowsLength()):
                row = root.Rows(i)
                assert row.Id() not in calls and max(row.Module(), row.ClassName(), row.Site()) < strings
                calls.add(row.Id())
        elif kind == "VEND":
            assert (root.Chunks(), root.Values(), root.Calls()) == (sum(counts.values()) - 1, len(serials), len(calls))
    assert sorted(serials) == list(range(1, len(serials) + 1)) and len(calls) > 50
