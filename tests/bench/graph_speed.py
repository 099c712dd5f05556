# SPDX-License-Identifier: Apache-2.0
"""What the autograd graph costs a dump (docs/benchmarks.md).

Makes a graph of `--nodes` nodes in the real torch under the preload and takes `--dumps` dumps with it and as many without:
the difference is what reading and writing the graph costs. Processor time, which other work on the machine disturbs less,
and elapsed time.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import bench_history
from dump_speed import run_target

KINDS = ("chain", "saving", "wide", "custom")


def build(kind, nodes):
    """The graph of `nodes` operations, as what keeps it alive."""
    import torch

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, data):
            ctx.save_for_backward(data)
            return data.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    value = torch.ones(2, requires_grad=True)
    if kind == "wide":
        return torch.stack([value + 1 for _ in range(nodes)]).sum()
    for _ in range(nodes):
        value = value + 1 if kind == "chain" else value * value if kind == "saving" else Same.apply(value)
    return value


def dump(count):
    import libtensorscope

    rows = []
    for _ in range(count):
        clocks = time.process_time_ns(), time.perf_counter_ns()
        os.unlink(libtensorscope.dump())
        rows.append((time.process_time_ns() - clocks[0], time.perf_counter_ns() - clocks[1]))
    return rows


def target(arguments):
    """Runs in the process that is profiled."""
    import torch

    torch.set_num_threads(1)
    without = dump(arguments.dumps)
    kept = build(arguments.kind, arguments.nodes)
    with_graph = dump(arguments.dumps)
    for i, what in enumerate(("processor time", "elapsed time")):
        difference = statistics.median(row[i] for row in with_graph) - statistics.median(row[i] for row in without)
        bench_history.keep(f"{arguments.kind} {arguments.nodes} operations, {what}", difference / 1e6, "ms")
        print(f"{arguments.kind:8} {arguments.nodes} operations, {what:15} {difference / 1e6:8.1f} ms")
    sys.stdout.flush()
    assert kept is not None
    os._exit(0)  # what a long chain takes to be destroyed is no part of this


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--dumps", type=int, default=5)
    parser.add_argument("--kind", choices=KINDS)
    arguments = parser.parse_args()
    if arguments.kind:
        return target(arguments)
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            print(run_target(__file__, "--kind", kind, folder=folder), end="", flush=True)


if __name__ == "__main__":
    main()
