"""Asks for dumps in forked children that may take only so much more memory, from nothing to more than a dump needs."""

import os
import re
import resource
import sys

import torch

import truth

STEP = 256 << 10
MOST = 14 << 20

# So many that naming them needs more memory than the rest of the dump.
model = torch.nn.Sequential(*[torch.nn.Identity() for _ in range(20_000)])
ends = []
for room in range(0, MOST, STEP):
    pid = os.fork()
    if pid == 0:
        used = int(re.search(r"VmData:\s+(\d+)", open("/proc/self/status").read())[1]) << 10
        resource.setrlimit(resource.RLIMIT_DATA, (used + room, used + room))
        os._exit(0 if truth.dump() else 1)
    status = os.waitpid(pid, 0)[1]
    ends.append(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status))
print(*ends)
sys.exit(0 if set(ends) <= {0, 1} else 1)
