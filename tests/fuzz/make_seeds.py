#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/fuzz/corpus: small first inputs of the fuzzers, cut from files that a program of a few tensors writes.

    tests/fuzz/make_seeds.py

An input is `C` and chunks {type, length, payload}, without checksums (reader_fuzz.cc). Chunks larger than an input are left out: of dumps the
loaded libraries, of recordings each new list of them; make_corpus.cc has small ones. So are marks of a file's end. Letters of folders become `d`, so that no input
depends on where it was made.
"""

import pathlib
import re
import shutil
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "damaged_files")]
import damage
import harness

CORPUS = HERE / "corpus"
LEFT_OUT = (b"MODS", b"END!", b"REND", b"VEND")
INPUT_BYTES = 12 << 10  # the tables of a dump that refer to each other
PROGRAM = """
import torch, libtensorscope
from torch import nn
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters())
losses = [torch.eye(3).to_sparse()]
for step in range(2):
    losses.append(model(torch.ones(3, 2)).sum())
    losses[-1].backward()
    optimizer.step()
try:
    torch.empty(1 << 58)
except RuntimeError:
    pass
"""


def without_folders(payload):
    """Two path components at least: a fraction or a unit has one slash."""
    return re.sub(rb"/(?:[\w.+@-]+/)+", lambda found: re.sub(rb"[^/]", b"d", found.group()), payload)


def as_input(kind, chunks):
    return kind + b"".join(struct.pack("<4sI", name, len(payload)) + payload for name, payload in chunks)


def packed(chunks, heads):
    """Inputs of INPUT_BYTES at most from chunks that follow each other, each behind the file's chunks of these names: without them none is read."""
    first = [chunk for chunk in chunks if chunk[0] in heads]
    groups, room = [], 0
    for name, payload in chunks:
        size = 8 + len(payload)
        if name in heads or size > INPUT_BYTES // 2:
            continue
        if size > room:
            groups.append(list(first))
            room = INPUT_BYTES - sum(8 + len(each) for _, each in first)
        groups[-1].append((name, payload))
        room -= size
    return groups


def seeds_of(path):
    """(fuzzer, name, input) of each input that this file gives."""
    _, chunks = damage.cut(path.read_bytes())
    chunks = [(name, without_folders(bytes(payload))) for name, payload in chunks if name not in LEFT_OUT]
    fuzzer = {".tscope": "reader"}.get(path.suffix, path.suffix[1:])
    groups = packed(chunks, {b"PROC", b"SEGM"})
    if fuzzer == "values":
        yield fuzzer, "growing", as_input(b"G", groups[0])
    kind = "failure" if ".oom-" in path.name else path.suffix[1:]
    for number, group in enumerate(groups, 1):
        yield fuzzer, f"{kind}-{number}", as_input(b"C", group)


def main():
    with tempfile.TemporaryDirectory() as folder:
        done = harness.run_source(PROGRAM, folder=folder, record=1, calls=1, watch="full:quantiles:model.**", native="off", confidential=1, quiet=1, oom_report=0)
        if done.returncode != 0:
            raise SystemExit(f"the program that writes the files failed: {done.stderr}")
        shutil.rmtree(CORPUS, ignore_errors=True)
        for path in sorted(pathlib.Path(folder).glob("program.*.*")):
            for fuzzer, name, data in seeds_of(path):
                target = CORPUS / fuzzer / f"{name}.seed"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)


if __name__ == "__main__":
    main()
