"""Memory of a device comes from an allocator that the program plugs into torch, until there is none."""
import sys

import torch

MEBIBYTE = 1 << 20
allocator = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "plugged_malloc", "plugged_free")
torch.cuda.memory.change_current_allocator(allocator)
kept = [torch.empty(20 * MEBIBYTE, dtype=torch.uint8, device="cuda") for _ in range(4)]


def asks():
    temporary = torch.empty(MEBIBYTE, dtype=torch.uint8, device="cuda")
    return torch.empty(1000 * MEBIBYTE, dtype=torch.uint8, device=temporary.device)


try:
    asks()
except torch.OutOfMemoryError as error:
    print(str(error).splitlines()[0])
