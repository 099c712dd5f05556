"""Memory of the process that no tensor has: grows between two dumps, and says itself how much. `truth.json` has the
numbers of each dump as the program knows them."""
import json
import mmap
import sys

import torch

import leak_steps
import python_heap

MIB = 1 << 20
kind = sys.argv[1]
kept = []
truth = []


def mappings():
    """{name: [resident, anonymous]} of /proc/self/smaps."""
    sums = {}
    with open("/proc/self/smaps") as smaps:
        for line in smaps:
            words = line.split(None, 5)
            if not words[0].endswith(":"):
                now = sums.setdefault(words[5].rstrip("\n") if len(words) > 5 else "", [0, 0])
            elif words[0] in ("Rss:", "Anonymous:"):
                now[words[0] == "Anonymous:"] += int(words[1]) * 1024
    return sums


def dump():
    truth.append({"python": python_heap.own_words(), "mappings": mappings()})
    leak_steps.dump()


def file_of(nbytes):
    with open("data.bin", "wb") as file:
        file.write(b"x" * nbytes)
    return open("data.bin", "r+b")


x = torch.ones(1000)
dump()
if kind == "objects":
    kept.extend((str(i), i) for i in range(1_000_000, 1_700_000))
elif kind == "freed-objects":
    some = [(str(i), i) for i in range(1_000_000, 1_700_000)]
    kept.extend(some[::100])
    del some
elif kind == "copied":
    file = file_of(80 * MIB)
    kept.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    kept[0][::4096] = b"y" * len(kept[0][::4096])
elif kind == "mapped":
    file = file_of(80 * MIB)
    kept.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    sum(kept[0][::4096])
dump()
with open("truth.json", "w") as out:
    json.dump(truth, out)
