"""Programs that do not leak, one kind a run: train, epochs, warm-up, cache, recurrent, autocast, saliency, two-optimizers,
replay, evaluate, lengths, inside."""
import collections
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import leak_steps

kind = sys.argv[1]
model = leak_steps.network()
cell = nn.LSTMCell(64, 64)
optimizer = torch.optim.Adam([*model.parameters(), *cell.parameters()], lr=0.01)
other = leak_steps.network()
other_optimizer = torch.optim.SGD(other.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5)
losses = []
tables = {}
replay = collections.deque(maxlen=8)


def train(batch=32, network=model, update=optimizer):
    update.zero_grad()
    loss = network(torch.randn(batch, 128)).square().mean()
    loss.backward()
    update.step()
    return loss


def with_loader(dumps=3):
    """Workers that prefetch, an lr scheduler, one loss an epoch kept without its graph."""
    loader = DataLoader(TensorDataset(torch.randn(256, 128)), batch_size=16, num_workers=2, persistent_workers=True)
    for epoch in range(dumps):
        for (batch,) in loader:
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
        scheduler.step()
        losses.append(loss.detach())
        leak_steps.dump()


def table(size):
    if size not in tables:
        tables[size] = torch.randn(size, 64, 64)
    return tables[size]


hidden = (torch.zeros(16, 64), torch.zeros(16, 64))


def recurrent():
    global hidden
    state = tuple(part.detach() for part in hidden)
    loss = 0
    for _ in range(5):
        state = cell(torch.randn(16, 64), state)
        loss = loss + state[0].square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hidden = state


def saliency():
    image = torch.randn(4, 128, requires_grad=True)
    model(image).sum().backward()
    return image.grad


def inside(number):
    """Dumps in the middle of a step, each time further in."""
    if number not in leak_steps.DUMPS:
        train()
        return
    layer = model[leak_steps.DUMPS.index(number)]
    handle = layer.register_forward_hook(lambda *_: leak_steps.dump())
    train()
    handle.remove()


def step(number):
    if kind == "train":
        losses[:] = [train().item()]
    elif kind == "warm-up":
        if number > leak_steps.DUMPS[0]:
            train()
    elif kind == "cache":
        table(1 + number % 12)
        train()
    elif kind == "recurrent":
        recurrent()
    elif kind == "autocast":
        with torch.autocast("cpu", dtype=torch.bfloat16):
            train()
    elif kind == "saliency":
        train()
        tables["saliency"] = saliency()
    elif kind == "two-optimizers":
        train()
        train(network=other, update=other_optimizer)
    elif kind == "replay":
        replay.append(torch.randn(64, 64))
    elif kind == "evaluate":
        with torch.no_grad():
            losses.append(model(torch.randn(32, 128)).mean().item())
    elif kind == "lengths":
        train(batch=16 * (1 + number // 8))
    elif kind == "inside":
        inside(number)


if kind == "epochs":
    with_loader()
elif kind == "inside":
    for number in range(1, leak_steps.DUMPS[-1] + 1):
        step(number)
else:
    leak_steps.run(step)
