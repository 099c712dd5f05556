"""Text in a dict of the interpreter, with Python's warnings."""
# after: Python issue "warnings.warn with a changing message leaks": each text stays in __warningregistry__
# fix: a constant text
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "__warningregistry__"  # __warningregistry__ of the module (globals()['__warningregistry__'])
# lines = []
# bytes = 16013  # by sys.getsizeof (text 15747), 16021 by malloc
# ///
import os
import warnings
import torch
from torch import nn

torch.manual_seed(0)
torch.set_printoptions(profile="full")
count = 0


def to_counter(message, category, filename, lineno, file=None, line=None):
    global count
    count += 1


warnings.showwarning = to_counter


def check(grads):
    small = grads.abs() < 1e-3
    if small.any():
        if os.environ.get("FIX"):
            warnings.warn("gradients vanish")  # noqa: B028 - as it was run
        else:
            warnings.warn(f"gradients vanish: {grads}")  # noqa: B028 - as it was run


net = nn.Sequential(nn.Linear(16, 64), nn.Sigmoid(), nn.Linear(64, 8))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(64):
    x, y = torch.randn(64, 16), torch.randint(0, 8, (64,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    check(net[0].weight.grad)
    opt.step()
print(count)
