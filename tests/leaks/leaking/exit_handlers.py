"""Each trial has a writer that wants to be closed at exit; the handler keeps the writer, and the writer the trial that made it."""
# pytorch/pytorch#61186: possible SummaryWriter memory leak
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "atexit"
# lines = ["self.weights = "]
# bytes = 65536  # 128 x 128 floats
# ///
import atexit

import torch


class Writer:
    def __init__(self, owner):
        self.owner, self.events = owner, []
        atexit.register(self.close)

    def add_scalar(self, name, value):
        self.events.append((name, value))

    def close(self):
        self.events.clear()


class Trial:
    def __init__(self, number):
        self.weights = torch.nn.Parameter(torch.full((128, 128), 1.0 / (number + 1)))
        self.optimizer = torch.optim.SGD([self.weights], lr=0.1)
        self.writer = Writer(self)

    def run(self):
        loss = (torch.randn(8, 128) @ self.weights).square().mean()
        loss.backward()
        self.optimizer.step()
        self.writer.add_scalar("loss", loss.item())
        self.optimizer.zero_grad()


for number in range(60):
    Trial(number).run()
