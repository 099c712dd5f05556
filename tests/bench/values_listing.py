# SPDX-License-Identifier: Apache-2.0
"""How long `tensorscope values` takes to list a large file, and how much memory:

    python tests/bench/values_listing.py build/analyzer/tensorscope SMALL.values [GB]

The large file is SMALL's chunks over and over, with holes instead of elements: a listing does not read them.
"""

import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import time

import bench_history

HEADER = struct.Struct("<4sIQQ")


def chunks(data):
    at = 24
    while at < len(data):
        kind, _, length, _ = HEADER.unpack_from(data, at)
        end = at + HEADER.size + (length + 7) // 8 * 8
        yield kind, data[at:end]
        at = end


def grow(small, large, size):
    data = small.read_bytes()
    begin = [chunk for kind, chunk in chunks(data) if kind in (b"PROC", b"WTCH", b"STRS")]
    body = [(kind, chunk) for kind, chunk in chunks(data) if kind in (b"VDAT", b"VALU", b"CALL")]
    with large.open("wb") as out:
        out.write(data[:24] + b"".join(begin))
        while out.tell() < size:
            for kind, chunk in body:
                if kind == b"VDAT":
                    out.write(chunk[:HEADER.size])
                    out.seek(len(chunk) - HEADER.size, 1)
                else:
                    out.write(chunk)


def main():
    program, small, gigabytes = sys.argv[1], pathlib.Path(sys.argv[2]), float((sys.argv[3:] or ["10"])[0])
    with tempfile.TemporaryDirectory() as folder:
        large = pathlib.Path(folder) / "large.values"
        grow(small, large, gigabytes * 1e9)
        begin = time.monotonic()
        done = subprocess.run([program, "values", str(large)], capture_output=True, text=True)
        took = time.monotonic() - begin
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(done.stdout.splitlines()[0] if done.returncode == 0 else done.stderr)
        bench_history.keep(f"{gigabytes:g} GB listed", took, "s")
        bench_history.keep(f"{gigabytes:g} GB: memory", memory, "MiB")
        print(f"{large.stat().st_size / 1e9:.1f} GB listed in {took:.2f} s and {memory:.0f} MiB")


if __name__ == "__main__":
    main()
