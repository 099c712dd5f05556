"""Calls of modules in every way that the interpreter has for them. Prints what the program itself sees of them."""
import inspect
import sys
import threading
import time
import traceback

import torch
from torch import nn

torch.manual_seed(0)


class Plain(nn.Module):
    def forward(self, x, *, scale=1, extra=None):
        return x * scale


class OwnCall(nn.Module):
    """Its super().__call__ has fixed arguments: up to CPython 3.11 the interpreter goes there without a call in C."""

    def __call__(self, x):
        return super().__call__(x) + 1

    def forward(self, x):
        return x * 2


class Mixin:
    pass


class Mixed(Mixin, nn.Module):
    def forward(self, x):
        return x - 1


class Recursive(nn.Module):
    def forward(self, x, depth=2):
        return self(x, depth - 1) if depth else x


class Interrupted(nn.Module):
    def forward(self, x):
        raise KeyboardInterrupt("in forward")


class Compiled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Sleeping(nn.Module):
    def forward(self, x):
        time.sleep(1000)


class Root(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain, self.own_call, self.mixed, self.recursive, self.interrupted = Plain(), OwnCall(), Mixed(), Recursive(), Interrupted()
        self.hooked, self.compiled, self.sleeping = Plain(), Compiled(), Sleeping()
        self.hooked.register_forward_pre_hook(lambda module, arguments: (arguments[0] + 100,))
        self.hooked.register_forward_hook(lambda module, arguments, result: result + 0.5)
        self.compiled.compile(backend="eager", fullgraph=True)

    def forward(self, x):
        x = self.plain(x, scale=2, extra={"mask": x > 0})
        x = self.plain(x=x)
        x = nn.Module.__call__(self.plain, x)
        x = self.hooked(self.recursive(self.mixed(self.own_call(x))))
        x = self.compiled(x)
        try:
            self.interrupted(x)
        except KeyboardInterrupt as error:
            print(repr(error), error.__context__, [frame.name for frame in traceback.extract_tb(error.__traceback__)])
        return x


root, x = Root(), torch.randn(3, 4)
print(root(x).sum().item(), torch.rand(1).item())
print(len(nn.modules.module._global_forward_hooks), nn.Module.__call__.__qualname__, nn.Module._call_impl.__code__.co_name)
strict = {"strict": False} if "strict" in inspect.signature(torch.export.export).parameters else {}  # torch 2.3 on
exported = torch.export.export(root.mixed, (x,), **strict).module()(x)
print(torch.equal(exported, x - 1), sys.gettrace(), sys.getprofile())
threading.Thread(target=root.sleeping, args=(x,), daemon=True).start()  # ended inside by the interpreter's end
time.sleep(0.2)
print("ends", flush=True)
