"""One container that several variables reach: of the main function, of one that it calls, of the program's own module and
class; and a tensor that only the graph holds, whose address is left over on the interpreter's stack."""
import sys
import types

import libtensorscope
import torch

registry = types.ModuleType("registry")
registry.__file__ = __file__
registry.seen = [torch.ones(11)]
sys.modules["registry"] = registry


class Trainer:
    def __init__(self):
        self.history = []

    def step(self):
        history = self.history
        seen = registry.seen
        history.append(torch.ones(12))
        libtensorscope.dump()
        return len(history) + len(seen)


class App:
    def __init__(self):
        self.trainer = Trainer()


def total(first, second, result):
    return result.sum()


def main():
    app = App()
    app.trainer.step()
    libtensorscope.dump()
    x = torch.ones(13, requires_grad=True)
    loss = total(1, 2, (x * 2).exp())  # the argument's slot keeps its last value
    libtensorscope.dump()
    return app, loss


main()
