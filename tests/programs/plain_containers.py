"""Containers of plain Python objects: some stay as they are (their sizes by sys.getsizeof are printed), and in each step
a list of dictionaries, an object's list with its index, and futures whose results C++ keeps become more."""
import array
import collections
import io
import itertools
import json
import os
import sqlite3
import sys
import threading

import numpy as np
import torch

import leak_steps


def rounded(size):
    return (size + 15) // 16 * 16


def size_of(container, entries):
    return rounded(sys.getsizeof(container)) + sum(rounded(sys.getsizeof(entry)) for entry in entries)


class Store:
    """The same records twice: in a list, and by number."""

    def __init__(self):
        self.records = []
        self.by_number = {}

    def add(self, number):
        record = [os.urandom(8_000), f"record {number}"]
        self.records.append(record)
        self.by_number[number] = record


class Storage:
    """A few large results, by name: a dict that the collector does not track."""

    def __init__(self):
        self.results = {f"result {number}": os.urandom(3_000) for number in range(20)}


@torch.jit.script
def double(values: torch.Tensor):
    return values * 2


blobs = [os.urandom(5_000 + number) for number in range(100)]
short = [f"text {number}" * 3 for number in range(2_000)]
wide = ["\u20ac" * (20 + number % 7) for number in range(2_000)]
waiting = collections.deque(f"message {number}" * 5 for number in range(1_000))
names = {f"member {number}" * 4 for number in range(1_000)}
numbers = [10 ** 12 + number for number in range(3_000)]
arrays = [np.ones(1_000 + number) for number in range(50)]
matrix = np.ones((300, 70), dtype=np.int16).T
doubles = array.array("d", range(20_000))
nested = [(number + 0.5, f"pair {number}") for number in range(3_000)]
shared = [blobs[number % 100] for number in range(10_000)]
words = [f"word {number}" * 4 for number in range(3_000)]
bigrams = {pair: True for pair in zip(words, words[1:])}  # a word is in two of them
del words
files = [io.BytesIO() for number in range(50)]
for number, file in enumerate(files):
    file.write(os.urandom(2_000 + number))
pages = [io.StringIO() for number in range(50)]
for page in pages:
    page.write("page" * 500)
    page.read(1)  # from here on characters of 32 bits
del file, page
ordered = collections.OrderedDict((number, None) for number in range(1_000))
metrics = {f"norm of layer {number}": number + 0.5 for number in range(2_000)}
counts = collections.Counter({f"word {number}": number for number in range(1_000)})
storage = Storage()
database = threading.local()
database.connection = sqlite3.connect(":memory:")
rows, pending, store = [], [], Store()
memory = np.zeros(64, dtype=[("reward", np.float32), ("state", object)])

sizes = {
    "blobs": rounded(sys.getsizeof(blobs)), "shared": rounded(sys.getsizeof(shared)),  # each of the two keeps the bytes
    "short": size_of(short, short), "wide": size_of(wide, wide), "waiting": size_of(waiting, waiting),
    "names": size_of(names, names), "numbers": size_of(numbers, numbers), "arrays": size_of(arrays, arrays),
    "files": size_of(files, files), "pages": size_of(pages, pages) + sum(rounded(2_000 * 4) for _ in pages),
    "ordered": size_of(ordered, ordered) - sum(rounded(sys.getsizeof(key)) for key in range(257)),
    "bigrams": size_of(bigrams, bigrams) + sum(rounded(sys.getsizeof(word)) for word in {word for pair in bigrams for word in pair}),
    "counts": size_of(counts, itertools.chain(*counts.items())) - sum(rounded(sys.getsizeof(value)) for value in range(257)),
    "storage.results": size_of(storage.results, itertools.chain(*storage.results.items())),
    "metrics": size_of(metrics, itertools.chain(*metrics.items())),
    "matrix": 300 * 70 * 2, "doubles": rounded(sys.getsizeof(doubles)),
    "nested": size_of(nested, nested) + sum(rounded(sys.getsizeof(part)) for pair in nested for part in pair),
}


def step(number):
    rows.extend({"step": 10 ** 9 + number, "loss": number / 3 + part, "note": f"{number}: {part}" * 3} for part in range(600))
    for part in range(3):
        store.add(number * 10 + part)
    with torch.no_grad():
        future = torch.jit.fork(double, torch.ones(4_096))
    torch.jit.wait(future)
    pending.append(future)
    memory[number] = (0.5, torch.ones(2_048))


leak_steps.run(step)
print(json.dumps(sizes))
