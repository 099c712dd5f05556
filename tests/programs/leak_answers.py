"""Programs whose leak is easily blamed on the wrong thing, one kind a run: see the branches of step()."""
import ctypes
import os
import sys
import warnings

import torch
from torch import nn

import leak_steps

kind = sys.argv[1]
model = leak_steps.network()
cell = nn.RNNCell(128, 128)
optimizer = torch.optim.Adam([*model.parameters(), *cell.parameters()], lr=0.01)
kept = []
many = []
table = {}
buffer = torch.empty(0)


def make(floats):
    return torch.ones(floats)


class Trainer:
    def __init__(self):
        self.hidden = torch.zeros(32, 128)


trainer = Trainer()


def output_of_a_batch():
    return model[0](torch.randn(256, 128))


def activations():
    return model(torch.randn(256, 128))


def train():
    optimizer.zero_grad()
    out = output_of_a_batch()
    out.square().mean().backward()
    optimizer.step()
    return out


def retained():
    """The state is carried on with its graph, backward goes back through all of it, and something else leads to it."""
    trainer.hidden = cell(torch.randn(32, 128), trainer.hidden)
    loss = trainer.hidden.square().mean()
    loss.backward(retain_graph=True)
    trainer.last = loss.grad_fn


def new_head(number):
    head = nn.Linear(128, 128)
    optimizer.add_param_group({"params": list(head.parameters())})
    head(torch.randn(4, 128)).square().mean().backward()
    optimizer.step()


def step(number):
    if kind == "two-lines":
        kept.append((torch.ones(number), torch.ones(number), torch.ones(number)))
        kept.append(make(8192))
    elif kind == "outputs":
        kept.append(train())
    elif kind == "outputs-with-graph":
        kept.append(output_of_a_batch())
    elif kind == "losses-with-graph":
        prediction = activations()
        kept.append(prediction.square().mean())
    elif kind == "rows-with-graph":
        prediction = activations()
        kept.append(prediction.square().mean(dim=1)[:2])
    elif kind == "retained":
        retained()
    elif kind == "detached":
        logits = output_of_a_batch()
        kept.append(logits.detach())
    elif kind == "numpy":
        logits = output_of_a_batch()
        kept.append(logits.detach().cpu().numpy())
    elif kind == "resize":
        buffer.resize_(number * 8192)
    elif kind == "heads":
        new_head(number)
    elif kind == "cycle-leaf":
        cycle_of_a_leaf()
    elif kind == "cycle-hook":
        cycle_of_a_hook()


class Packed:
    def __init__(self, x):
        self.x = x


def cycle_of_a_leaf():
    leaf = torch.ones(64, 64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaf.pow(3).sum().backward(create_graph=True)


def cycle_of_a_hook():
    x = torch.ones(64, 64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(Packed, lambda packed: packed.x):
        x.exp()  # its node saves its own result


def memory_that_malloc_keeps():
    """200 MiB in blocks that are too small to be mapped, given back below one that stays."""
    leak_steps.dump()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(ctypes.c_size_t(64 << 10)) for _ in range(3200)]
    for block in blocks:
        ctypes.memset(block, 1, 64 << 10)
    for block in blocks[:-1]:
        libc.free(block)
    leak_steps.dump()


def workers_that_copy():
    """A child that writes to 64 MiB which it had in common with its parent."""
    data = bytearray(64 << 20)
    turns = [os.pipe() for _ in range(2)]
    child = os.fork()
    if child == 0:
        os.read(turns[0][0], 1)
        data[::4096] = b"x" * len(data[::4096])
        os.write(turns[1][1], b"x")
        os.read(turns[0][0], 1)
        os._exit(0)
    leak_steps.dump()
    os.write(turns[0][1], b"x")
    os.read(turns[1][0], 1)
    leak_steps.dump()
    os.write(turns[0][1], b"x")
    os.waitpid(child, 0)


if kind == "kept-by-malloc":
    memory_that_malloc_keeps()
elif kind == "workers":
    workers_that_copy()
elif kind == "dictionary":
    table["big"] = make(2 << 20)
    for _ in range(50):
        many.append(make(64))
    leak_steps.dump()
else:
    leak_steps.run(step)
