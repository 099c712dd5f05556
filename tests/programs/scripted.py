"""TorchScript keeps tensors in a list, dicts, a submodule and a scripted class, and grows by some at each step; a graph that is kept has
checkpointed inputs (SavedTensor, from torch 2.13 on). Dumps at the steps given."""
import sys
from typing import Dict, List

import torch
from torch.utils.checkpoint import checkpoint

import libtensorscope


@torch.jit.script
class Pool(object):
    def __init__(self):
        self.kept = torch.jit.annotate(List[torch.Tensor], [])

    def put(self, x: torch.Tensor):
        self.kept.append(x.clone())


class Sub(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
        self.state = torch.zeros(1)

    def forward(self, x: torch.Tensor):
        self.state = torch.cat([self.state, x.flatten()])
        return self.fc(x)


class Net(torch.nn.Module):
    history: List[torch.Tensor]
    cache: Dict[str, torch.Tensor]
    pairs: Dict[int, List[torch.Tensor]]

    def __init__(self):
        super().__init__()
        self.sub = Sub()
        self.history = torch.jit.annotate(List[torch.Tensor], [])
        self.cache = torch.jit.annotate(Dict[str, torch.Tensor], {})
        self.pairs = torch.jit.annotate(Dict[int, List[torch.Tensor]], {})

    def forward(self, x: torch.Tensor, n: int):
        self.history.append(x.repeat(1024, 1))
        self.cache["k" + str(n % 3)] = x + 1
        self.pairs[n % 2] = [x + 2, x + 3]
        return self.sub(x)


def main(steps):
    net = torch.jit.script(Net())
    pool = Pool()
    made = torch.jit.fork(torch.relu, torch.ones(33))
    weight = torch.ones(4, requires_grad=True)
    loss = checkpoint(lambda x: (x * weight).sum(), torch.ones(57, 4), use_reentrant=False)
    for n in range(1, max(steps) + 1):
        with torch.no_grad():
            net(torch.ones(4, 8) * n, n)
        pool.put(torch.ones(100))
        if n in steps:
            libtensorscope.dump()
    return net, pool, made, loss


if __name__ == "__main__":
    main([int(step) for step in sys.argv[1].split(",")])
