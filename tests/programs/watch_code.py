"""Functions, methods and lines whose variables can be watched. Writes what it saw itself to TRUTH_DIR/truth.pt."""

import asyncio
import os
import pathlib
import sys

import torch
from torch import nn

rate = 0.5  # a variable of the module
truth = []


def note(name, value):
    truth.append((name, value.detach().clone() if isinstance(value, torch.Tensor) else value))
    return value


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.project = nn.Linear(size, size)

    def forward(this, x):  # not called self
        weights = torch.softmax(this.project(x), -1)
        if this.name == "model.0":
            note("model.0.forward:weights", weights)
        return weights * x

    def scale(self, factor):
        scaled = self.project.weight * factor
        return note("model.0.scale", scaled) if self.name == "model.0" else scaled


def loop(count):
    total = note("watch_code.py:loop:total", torch.zeros(2))
    for i in range(count):
        note("watch_code.py:loop:i", i)
        total = total + i
        note("watch_code.py:loop:total", total)
    return note("watch_code.py:loop", total)


def last_line(x):
    y = x + 1
    note("watch_code.py:last_line:y", y), note("watch_code.py:last_line:y", y * 2)
    y = (y *
         2)


class Outer:
    class Inner:
        @staticmethod
        def run(x):
            text = "value " + str(x)
            note("watch_code.py:Outer.Inner.run:text", text)
            return None

        @classmethod
        def make(cls, flag):
            flag = not flag
            return note("watch_code.py:Outer.Inner.make", flag)


def make_step(offset):
    def step(batch):
        moved = batch["x"][0] + offset
        note("watch_code.py:make_step.step:moved", moved)
        return moved
    return step


def in_place():
    x = torch.zeros(2)
    note("watch_code.py:in_place:x", x)
    x.add_(1)
    note("watch_code.py:in_place:x", x)
    x.mul_(3)
    note("watch_code.py:in_place:x", x)
    return x


def raises(x):
    y = x * 2
    note("watch_code.py:raises:y", y)
    raise ValueError(f"too much: {x}")


def handles(x):
    y = note("watch_code.py:handles:y", 1)
    try:
        y = raises(x)
    except ValueError as error:
        y = str(error)
    note("watch_code.py:handles:y", y)
    return y


def produce(count):
    for i in range(count):
        value = torch.full((2,), float(i))
        yield note("watch_code.py:produce", value)
    note("watch_code.py:produce", None)


async def wait(x):
    await asyncio.sleep(0)
    result = x + 1
    return result


def plain_values():
    a, b, c, d, e = 1, 2.5, True, None, 3 + 4j
    f = [torch.ones(1), {"k": torch.zeros(1)}]
    g = object()
    return a


def gradient(model):
    x = torch.ones(2, 3, requires_grad=True)
    note("watch_code.py:gradient:x.grad", None)
    loss = model(x).sum()
    loss.backward()
    note("watch_code.py:gradient:x.grad", x.grad)
    return x.shape[0]


def main():
    torch.manual_seed(1)
    model = nn.Sequential(Attention(3), Attention(3))
    for i, child in enumerate(model):
        child.name = f"model.{i}"
    results = []
    for step in range(2):
        results.append(gradient(model))
        results.append(loop(3).tolist())
        last_line(torch.full((1,), float(step)))
    model[0].scale(2), model[1].scale(3)
    Outer.Inner.run(7)
    Outer.Inner.make(False)
    make_step(1)({"x": [torch.ones(2)]})
    results += [in_place().tolist(), handles(3), [value.tolist() for value in produce(2)], asyncio.run(wait(1)), plain_values()]
    try:
        raises(5)
    except ValueError as error:
        frames, traceback = [], error.__traceback__
        while traceback:
            frames.append((traceback.tb_frame.f_code.co_name, traceback.tb_lineno))
            traceback = traceback.tb_next
        results.append(frames)
    results += [sys.gettrace(), sys.getprofile(), torch.rand(2).tolist()]
    return results


end = "reached"
if __name__ == "__main__":
    results = main()
    last = torch.ones(1) * 4
    if "TRUTH_DIR" in os.environ:
        torch.save(truth, pathlib.Path(os.environ["TRUTH_DIR"]) / "truth.pt")
    print(results)
