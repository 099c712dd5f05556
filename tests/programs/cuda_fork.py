"""A process that has used CUDA forks: the child cannot use it."""
import os

import torch

import truth

kept = torch.empty(1000, device="cuda")
truth.moment("parent")
child = os.fork()
if child == 0:
    truth.moment("child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
