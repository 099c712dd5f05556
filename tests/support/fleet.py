# SPDX-License-Identifier: Apache-2.0
"""Makes the dumps of many ranks out of a few real ones: copies with another rank, process and run."""

import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import dump_reader
from dump_reader import xxh3

HEADER = 24  # of the file, and of each chunk


class Copies:
    """One dump, whose process is written anew into each copy. Numbers are changed where they lie, and so is the run's name."""

    def __init__(self, path):
        self.data = bytearray(pathlib.Path(path).read_bytes())
        kind, _, self.length, _ = struct.unpack_from("<4sIQQ", self.data, HEADER)
        assert kind == b"PROC", "a dump begins with its process"
        process = dump_reader.table("Process").GetRootAs(self.payload(), 4)
        self.run_id = process.RunId()
        self.places = {name: (process._tab.Pos + process._tab.Offset(4 + 2 * index), form)
                       for name, index, form in (("pid", 0, "<I"), ("start_unix_ns", 9, "<Q"), ("dump_unix_ns", 11, "<Q"), ("rank", 16, "<i"),
                                                 ("local_rank", 17, "<i"), ("world_size", 18, "<i"), ("step", 25, "<q"))
                       if process._tab.Offset(4 + 2 * index)}
        self.values = {name: struct.unpack_from(form, self.payload(), at)[0] for name, (at, form) in self.places.items()}

    def payload(self):
        return self.data[2 * HEADER:2 * HEADER + self.length]

    def write(self, path, run, **values):
        payload = self.payload()
        for name, value in values.items():
            at, form = self.places[name]
            struct.pack_into(form, payload, at, value)
        begin = payload.index(self.run_id)
        payload[begin:begin + len(self.run_id)] = f"{run:0{len(self.run_id)}x}".encode()
        head = bytes(self.data[HEADER:HEADER + 16])
        struct.pack_into("<Q", self.data, HEADER + 16, xxh3(bytes(payload), xxh3(head)))
        with open(path, "wb") as out:
            out.write(self.data[:2 * HEADER])
            out.write(payload)
            out.write(self.data[2 * HEADER + self.length:])


def made_fleet(folder, sources, ranks, pid=100_000, world_size=None):
    """`ranks`: which source each rank is a copy of, by its number."""
    copies = [Copies(source) for source in sources]
    for rank, source in enumerate(ranks):
        copy = copies[source]
        copy.write(pathlib.Path(folder) / f"rank{rank:05}.1.tscope", run=rank + 1, pid=pid + rank, rank=rank, local_rank=rank % 8,
                   world_size=world_size or len(ranks))
