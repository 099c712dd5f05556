# SPDX-License-Identifier: Apache-2.0
"""How long a dump holds the GIL to find out who refers to each tensor (docs/benchmarks.md).

Makes `--objects` Python objects and `--tensors` tensors in lists, dictionaries, instances and closures of the real torch
(`--kind linked`: each tensor in an object that refers to the next one) under the preload, takes `--dumps` dumps and
prints medians and least values: the time with the GIL, the processor time of the whole dump, which other work on the
machine disturbs less, and by how much the process grew at most.
"""
import argparse
import os
import re
import sys
import tempfile

from dump_speed import ROOT, rows_of, run_target, show, timed_dumps


def kibibytes(field):
    with open("/proc/self/status") as status:
        return int(re.search(rf"{field}:\s+(\d+)", status.read())[1])


def measured_dumps(dumps):
    with open("/proc/self/clear_refs", "w") as forget:
        forget.write("5")  # VmHWM begins anew
    resident = kibibytes("VmRSS")
    timed_dumps(dumps)
    print(f"grown {kibibytes('VmHWM') - resident} kept {kibibytes('VmRSS') - resident}")


def linked(tensors, dumps):
    """Runs in the process that is profiled."""
    import torch

    class Node:
        def __init__(self, value, following):
            self.value = value
            self.following = following

    torch.set_num_threads(1)
    chain = None
    for _ in range(tensors):
        chain = Node(torch.empty(2), chain)
    measured_dumps(dumps)
    sys.stdout.flush()
    os._exit(0)  # the chain ends by recursion


def target(objects, tensors, dumps):
    """Runs in the process that is profiled."""
    import gc

    import torch

    class Record:
        def __init__(self, value, number):
            self.value = value
            self.number = number
            self.more = {"kept": [number]}

    def closure(value):
        return lambda: value

    torch.set_num_threads(1)
    make = [lambda t, i: {"loss": t, "step": i}, Record, lambda t, i: [t, (i, [i])], lambda t, i: closure(t)]
    history = [make[i % 4](torch.empty(2), i) for i in range(tensors)]
    records = []
    while len(gc.get_objects()) < objects:
        records.extend(Record(None, i) for i in range(10_000))
    measured_dumps(dumps)
    assert len(history) == tensors


def measure(arguments):
    sys.path.insert(0, str(ROOT / "tests" / "integration"))
    import dump_reader
    with tempfile.TemporaryDirectory() as folder:
        *lines, grown = run_target(__file__, "--target", folder=folder).splitlines()
        rows = rows_of("\n".join(lines))
        found = [dump_reader.References(path) for _, path in rows]
    assert all(each.complete for each in found), [each.detail for each in found]
    show("with the GIL", [each.gil_ns for each in found])
    show("processor time of a dump", [int(ns) for ns, _ in rows])
    print("the process, in KiB:", grown)
    print(f"{found[-1].objects} objects, {len(found[-1].tensors)} tensors with a Python object, "
          f"{sum(map(len, found[-1].rows.values()))} references")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=500_000)
    parser.add_argument("--tensors", type=int, default=50_000)
    parser.add_argument("--dumps", type=int, default=5)
    parser.add_argument("--kind", choices=["mixed", "linked"], default="mixed")
    parser.add_argument("--target", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.target and arguments.kind == "linked":
        linked(arguments.tensors, arguments.dumps)
    elif arguments.target:
        target(arguments.objects, arguments.tensors, arguments.dumps)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
