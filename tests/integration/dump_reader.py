# SPDX-License-Identifier: Apache-2.0
"""Chunks of a dump that the exported JSON does not show, read with the schema's generated code."""
import ctypes
import functools
import importlib
import pathlib
import struct
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import harness

SCHEMAS = [harness.ROOT / "include" / "tensorscope" / name for name in ("dump.fbs", "values.fbs")]
ROOTS = ("global", "local", "suspended", "traceback", "class", "thread", "node", "extension", "cycle", "user", "output")
ROLES = ("plain", "parameter", "buffer", "module_attribute", "optimizer_state", "saved")
KINDS = ("unknown", "device", "host", "pinned", "low_memory")
LIMITS = ("none", "device", "cgroup", "machine", "address_space", "data")
STATES = ("none", "kept_by_cpp", "referenced", "garbage")
_folder = None


@functools.cache
def _hash():
    function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return function


def xxh3(data, seed=0):
    """The checksum of a file's header and of its chunks."""
    return _hash()(data, len(data), seed)


def table(name):
    """The generated class of a table, of a dump or a values file."""
    return getattr(module(name), name)


def module(name):
    """The generated code of a table. Its package is not called tensorscope: that is the one people install, and tests import both."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory()
        schemas = [pathlib.Path(_folder.name) / schema.name for schema in SCHEMAS]
        for schema, copy in zip(SCHEMAS, schemas):
            copy.write_text(schema.read_text().replace("namespace tensorscope.format;", "namespace generated_by_flatc;"))
        subprocess.run(["flatc", "--python", "-o", _folder.name, *map(str, schemas)], check=True)
    sys.path.insert(0, _folder.name)
    try:
        return importlib.import_module(f"generated_by_flatc.{name}")
    finally:
        sys.path.remove(_folder.name)


def payloads(path, kind):
    data = pathlib.Path(path).read_bytes()
    at = 24
    while at < len(data):
        found, _, length, _ = struct.unpack_from("<4sIQQ", data, at)
        if found.decode() == kind:
            yield data[at + 24:at + 24 + length]
        at += 24 + (length + 7) // 8 * 8


class References:
    """The REFS chunk; tensors are keyed by address."""

    def __init__(self, path):
        addresses = {}
        for payload in payloads(path, "TENS"):
            rows = table("TensorRows").GetRootAs(payload, 4)
            for i in range(rows.ValuesLength()):
                addresses[rows.Values(i).Serial()] = rows.Values(i).Address()
        (payload,) = payloads(path, "REFS")
        refs = table("References").GetRootAs(payload, 4)
        text = [refs.Strings(i).decode() for i in range(refs.StringsLength())]
        self.complete, self.detail = refs.Complete(), refs.Detail().decode()
        self.objects, self.gil_ns = refs.Objects(), refs.GilNs()
        self.stopped_by = ("none", "time", "memory")[refs.StoppedBy()]
        self.memory_limit, self.memory_taken = refs.MemoryLimit(), refs.MemoryTaken()
        self.rows, self.tensors = {}, {}
        # The running call whose variable a reference begins with: the thread's name and the call's depth.
        calls = [None] + [(text[row.ThreadName()], row.Depth()) for row in map(refs.Calls, range(refs.CallsLength()))]
        call_of = [refs.CallOf(i) for i in range(refs.CallOfLength())]
        # The other ways to the nearest object on a reference's chain that has several.
        ways = [text[refs.OtherWays(i).Text()] for i in range(refs.OtherWaysLength())]
        shared = [None] + [(text[row.Text()], ways[row.FirstWay():row.FirstWay() + row.Ways()])
                           for row in map(refs.Shared, range(refs.SharedLength()))]
        shared_of = [refs.SharedOf(i) for i in range(refs.SharedOfLength())]
        for i in range(refs.ReferencesLength()):
            row = refs.References(i)
            self.rows.setdefault(addresses.get(row.Tensor()), []).append(SimpleNamespace(
                text=text[row.Text()], scope=text[row.Scope()], holder=text[row.Holder()], node=row.Node(),
                steps=row.Steps(), root=ROOTS[row.Root()], role=ROLES[row.Role()],
                call=calls[call_of[i]] if i < len(call_of) else None,
                shared=shared[shared_of[i]] if i < len(shared_of) else None))
        for i in range(refs.TensorsLength()):
            row = refs.Tensors(i)
            self.tensors[addresses.get(row.Tensor())] = SimpleNamespace(
                type=text[row.TypeName()], references=row.References(), state=STATES[row.State()],
                optimized=bool(row.Optimized()), trained=bool(row.Trained()))
        self.slots = {}
        for i in range(refs.SlotsLength()):
            row = refs.Slots(i)
            self.slots.setdefault(text[row.ClassName()], {})[row.Ordinal()] = text[row.Name()]
        self.nodes = [SimpleNamespace(text=text[row.Text()], scope=text[row.Scope()], node=row.Node(),
                                      root=ROOTS[row.Root()])
                      for row in map(refs.Nodes, range(refs.NodesLength()))]

    def of(self, address):
        return [(row.root, row.scope, row.text) for row in self.rows.get(address, [])]

    def texts(self, address, role=None):
        return [row.text for row in self.rows.get(address, []) if role is None or row.role == role]


RUNTIME_KINDS = ("device", "async", "pinned", "registered", "managed")
SOURCES = ("none", "snapshot", "runtime_calls")
BLOCK_STATES = ("allocated", "pending_free", "free")


def rows(vector, length, **fields):
    """The structs of a vector: each field's name and how it is made of the struct."""
    return [SimpleNamespace(**{name: read(vector(i)) for name, read in fields.items()}) for i in range(length())]


class DeviceMemory:
    """One DEVM chunk; segments carry their blocks."""

    def __init__(self, payload):
        chunk = table("DeviceMemory").GetRootAs(payload, 4)
        self.device = chunk.DeviceIndex() if chunk.DeviceType() == 1 else None
        self.name, self.backend, self.settings = (text.decode() for text in (chunk.Name(), chunk.Backend(), chunk.Settings()))
        self.total, self.free, self.own = chunk.DriverTotal(), chunk.DriverFree(), chunk.OwnBytes()
        self.processes = [(row.pid, row.bytes) for row in rows(chunk.Processes, chunk.ProcessesLength,
                                                               pid=lambda row: row.Pid(), bytes=lambda row: row.Bytes())]
        self.driver_detail, self.detail = chunk.DriverDetail().decode(), chunk.SegmentsDetail().decode()
        self.source, self.looked_ns = SOURCES[chunk.SegmentsFrom()], chunk.LookedNs()
        self.blocks = rows(chunk.Blocks, chunk.BlocksLength, address=lambda row: row.Address(), size=lambda row: row.Size(),
                           requested=lambda row: row.Requested(), state=lambda row: BLOCK_STATES[row.State()])
        self.segments = rows(chunk.Segments, chunk.SegmentsLength, address=lambda row: row.Address(), size=lambda row: row.Size(),
                             allocated=lambda row: row.Allocated(), active=lambda row: row.Active(),
                             requested=lambda row: row.Requested(), stream=lambda row: row.Stream(),
                             pool=lambda row: (row.PoolUser(), row.Pool()), count=lambda row: row.Blocks(),
                             small=lambda row: bool(row.Flags() & 1), expandable=lambda row: bool(row.Flags() & 2))
        at = 0
        for segment in self.segments:
            segment.blocks = self.blocks[at:at + segment.count]
            at += segment.count
        assert at == len(self.blocks)


def device_memory(path):
    """The DEVM chunks by the device's index."""
    return {chunk.device: chunk for chunk in map(DeviceMemory, payloads(path, "DEVM"))}


def runtime_blocks(path):
    found = []
    for payload in payloads(path, "RUNT"):
        chunk = table("RuntimeBlocks").GetRootAs(payload, 4)
        found += rows(chunk.Values, chunk.ValuesLength, serial=lambda row: row.Serial(), pointer=lambda row: row.Pointer(),
                      nbytes=lambda row: row.Nbytes(), created_ns=lambda row: row.CreatedNs(), site=lambda row: row.Site(),
                      thread=lambda row: row.Thread(), kind=lambda row: RUNTIME_KINDS[row.Kind()],
                      by_torch=lambda row: bool(row.ByTorch()), device=lambda row: (row.DeviceType(), row.DeviceIndex()))
    return found




def failure(path):
    """The FAIL chunk, None where there is none."""
    chunks = [table("Failure").GetRootAs(payload, 4) for payload in payloads(path, "FAIL")]
    if not chunks:
        return None
    (row,) = chunks
    return SimpleNamespace(
        kind=KINDS[row.Kind()], limit=LIMITS[row.Limit()], limit_bytes=row.LimitBytes(), left_bytes=row.LeftBytes(),
        device=(row.DeviceType(), row.DeviceIndex()), requested=row.Requested(),
        allocated=row.AllocatorAllocated(), reserved=row.AllocatorReserved(), error=row.Error().decode(), site=row.Site(),
        thread=row.Thread(), node=row.Node(), failed_ns=row.FailedNs(), failures=row.Failures(), without_dump=row.WithoutDump())
