"""Each trial has a writer that wants to be closed at exit, and is closed, and its handler unregistered, at the end of the trial."""
# /// healthy
# dumps = "steps"
# ///
import atexit

import torch


class Writer:
    def __init__(self):
        self.events = []
        atexit.register(self.close)

    def add_histogram(self, name, values):
        self.events.append((name, values.clone()))

    def close(self):
        self.events.clear()
        atexit.unregister(self.close)


class Trial:
    def __init__(self, number):
        self.weights = torch.nn.Parameter(torch.full((128, 128), 1.0 / (number + 1)))
        self.optimizer = torch.optim.SGD([self.weights], lr=0.1)
        self.writer = Writer()

    def run(self):
        for step in range(2):
            loss = (torch.randn(8, 128) @ self.weights).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.writer.add_histogram("weights", self.weights.detach())
        self.writer.close()


for number in range(30):
    Trial(number).run()
