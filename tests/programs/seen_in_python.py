"""Everything that holds a tensor is in Python, and all of it grows: attributes of objects, variables, generators, graphs. Nothing is
garbage, and neither C nor C++ code alone holds anything."""

import libtensorscope as ts
import torch


class Plain:
    pass


def generate(kept):
    own = []
    while True:
        own.append(torch.ones(4096))
        yield own[-1] + kept


def train(model, optimizer, record):
    local = []
    waiting = generate(torch.ones(4096))
    for step in range(36):
        loss = model(torch.ones(64, 256)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record.losses.append(model(torch.ones(64, 256)).sum())
        record.last = torch.ones(4096)
        record.inner.plain.append(torch.ones(4096))
        local.append(torch.ones(4096))
        next(waiting)
        if step % 12 == 11:
            print(ts.dump(), flush=True)


def main():
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    record = Plain()
    record.losses = []
    record.inner = Plain()
    record.inner.plain = []
    train(model, torch.optim.Adam(model.parameters()), record)


main()
