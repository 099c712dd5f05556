"""Holds the GIL over a dump's first part, frees tensors while the dump waits for the GIL to look up names, and then gives
the GIL up as each of them dies: `flag` (first argument) appears when the dump waits. Some tensors stay, some only C++ holds."""
import ctypes
import sys
import time

import torch

held = ctypes.PyDLL(None)  # its functions are called with the GIL held
flag = sys.argv[1].encode()
stays = [torch.ones(1000) for _ in range(3)]
freed = [torch.ones(1000) for _ in range(50)]
graph = (torch.ones(500, requires_grad=True) * 2).exp()
sys.setswitchinterval(1000)
print("ready", flush=True)
while held.access(flag, 0) != 0:
    held.usleep(1000)
del freed
sys.setswitchinterval(0.005)
print("freed", flush=True)
time.sleep(600)
