"""A program of a given size: the target of scale.py. Arguments: live tensors, modules, allocation sites.

Sites: seven functions call each other, each from ten lines by turns, so that tensor i has a stack of its own up to ten million.
The tensors that live are spread over them. Two dumps, with a thousand tensors more in the second; prints a JSON row of each.
"""

import json
import os
import pathlib
import sys
import time

import torch
from torch import nn

import libtensorscope

LINES = 10
LEVELS = 7
GROWN = 1000


def chain():
    """level_0(path) ... level_6(path): line path[n] of level n calls the next one, the last makes a tensor."""
    lines = []
    for level in range(LEVELS):
        lines.append(f"def level_{level}(path):\n    line = path[{level}]")
        for line in range(LINES):
            call = f"level_{level + 1}(path)" if level + 1 < LEVELS else "empty(2)"
            lines.append(f"    if line == {line}:\n        return {call}")
    path = pathlib.Path("levels.py").resolve()
    path.write_text("\n".join(lines) + "\n")
    names = {"empty": torch.empty}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["level_0"]


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2))


def model_of(count):
    """A tree of `count` modules, a hundred leaves in each branch."""
    branches = nn.ModuleList()
    for _ in range((count - 1) // 101):
        branches.append(nn.ModuleList(Leaf() for _ in range(100)))
    return branches


def status(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024


def dump():
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    before, wall, processor = status("VmRSS"), time.monotonic(), time.process_time()
    path = libtensorscope.dump()
    print(json.dumps({"dump": path, "seconds": time.monotonic() - wall, "processor": time.process_time() - processor,
                      "before": before, "peak": status("VmHWM"), "after": status("VmRSS"), "size": os.path.getsize(path)}),
          flush=True)


def main():
    tensors, modules, sites = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    began = time.process_time()
    model = model_of(modules)
    parameters = sum(1 for _ in model.parameters())
    make, kept = chain(), []
    free = tensors - parameters
    every = max(1, sites // free)
    for number in range(max(sites, free)):
        tensor = make([number // 10 ** level % 10 for level in range(LEVELS)])
        if number % every == 0 and len(kept) < free:
            kept.append(tensor)
    print(json.dumps({"processor": time.process_time() - began, "modules": sum(1 for _ in model.modules()),
                      "tensors": len(kept) + parameters, "resident": status("VmRSS")}), flush=True)
    dump()
    growing = [make([number % 10] * LEVELS) for number in range(GROWN)]
    dump()
    assert len(growing) == GROWN


main()
