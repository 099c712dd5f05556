"""Runs out of memory with a graph alive, losses kept, garbage and, on a GPU, free memory in pieces; prints what torch's allocator says
right after. Argument: a device. On the CPU the address space is limited to what is used and a little."""
import gc
import json
import mmap
import resource
import sys

import libtensorscope
import torch
from torch import nn

DEVICE = sys.argv[1]
MEBIBYTE = 1 << 20


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


class Cycle:
    pass


def make_garbage():
    cycle = Cycle()
    cycle.itself = cycle
    cycle.tensor = torch.zeros(3 * MEBIBYTE, device=DEVICE)


def ask_for_too_much(nbytes):
    return torch.empty(nbytes, dtype=torch.uint8, device=DEVICE)


def limit_address_space():
    used = int(open("/proc/self/statm").read().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + 128 * MEBIBYTE, resource.getrlimit(resource.RLIMIT_AS)[1]))


torch.manual_seed(0)
gc.disable()
model = nn.Sequential(*[Block() for _ in range(4)]).to(DEVICE)
losses = [torch.zeros(MEBIBYTE, device=DEVICE)]
libtensorscope.dump()
losses += [torch.zeros(MEBIBYTE, device=DEVICE) for _ in range(3)]
make_garbage()
output = model(torch.zeros(4096, 64, device=DEVICE))

request, facts = 512 * MEBIBYTE, {}
if DEVICE == "cpu":
    limit_address_space()
else:
    fences = []
    for _ in range(10):  # each takes the beginning of what was freed, and the rest is too small for the next one
        piece = torch.empty(30 * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
        del piece
        fences.append(torch.empty(16 * MEBIBYTE, dtype=torch.uint8, device=DEVICE))
    free, _ = torch.cuda.mem_get_info()
    fill = torch.empty((free - 20 * MEBIBYTE) // MEBIBYTE * MEBIBYTE, dtype=torch.uint8, device=DEVICE)
    request = 100 * MEBIBYTE
try:
    ask_for_too_much(request)
except RuntimeError as error:
    facts["error"] = type(error).__name__
if DEVICE != "cpu":
    stats = torch.cuda.memory_stats()
    facts.update({what: stats[f"{what}_bytes.all.current"] for what in ("allocated", "reserved", "active")})
    facts["free"], facts["total"] = torch.cuda.mem_get_info()
print(json.dumps({"request": request, **facts}))
