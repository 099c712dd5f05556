"""Programs that make a NaN or an infinity in one place, each marked `# here`, or none at all. Prints what came of it in
full, so that runs can be compared bit for bit."""

import ctypes
import sys

import numpy
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.inner = inner
        self.last = nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.inner(torch.tanh(self.first(x))))


class Log(nn.Module):
    def forward(self, x):
        return torch.log(x - 2)  # here: log


class Zero(nn.Module):
    def forward(self, x):
        zero = x * 0
        return zero / zero  # here: zero


class Root(nn.Module):
    def forward(self, x):
        return torch.sqrt(x - x)  # here: root


class Half(nn.Module):
    def forward(self, x):
        return torch.exp(x.to(torch.float16) * 50).float()  # here: half


class Quiet(nn.Module):
    def forward(self, x):
        return x


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2 / (gradient - gradient)  # here: function


class Custom(nn.Module):
    def forward(self, x):
        return Double.apply(x)


@torch.jit.script
def scripted_log(x):
    return torch.tanh((x - 2).log() * 3)


class Scripted(nn.Module):
    """TorchScript, which frees what an operation was given before the operation is over."""

    def forward(self, x):
        return scripted_log(x)  # here: script


class Masked(nn.Module):
    """Attention over rows of 16 whose later half is masked, or all of it."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, x):
        mask = torch.arange(16) >= self.seen
        scores = x.masked_fill(mask, float("-inf"))
        return torch.softmax(scores, dim=-1)  # here: row


class Added(nn.Module):
    """The same mask as a tensor of 0 and -inf that is added, moved and cut before."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.full((4, 16), float("-inf")).triu(1).clone())

    def forward(self, x):
        return torch.softmax(x + self.mask[-1:].expand(x.shape[0], 16).contiguous(), dim=-1)


class Division(torch.optim.SGD):
    def step(self):
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.div_(parameter.grad.sub(parameter.grad).abs())  # here: division


def train(inner, steps=3, make=lambda p: torch.optim.SGD(p, lr=0.01), data=None, after=lambda loss: None):
    torch.manual_seed(0)
    model = Net(inner)
    optimizer = make(model.parameters())
    for step in range(steps):
        x = torch.randn(32, 8) if data is None else data(step)
        loss = model(x).square().mean()  # here: data
        loss.backward()  # backward
        optimizer.step()
        optimizer.zero_grad()
        after(loss)
    stolen = []
    model.first.weight.register_hook(lambda gradient: stolen.append(gradient.data_ptr()))
    model(torch.ones(1, 8)).sum().backward()
    print(stolen == [model.first.weight.grad.data_ptr()])
    print([parameter.sum().item() for parameter in model.parameters()], loss.item(), torch.rand(1).item())


def from_numpy(step):
    values = numpy.linspace(-1, 1, 256, dtype=numpy.float32).reshape(32, 8)
    if step == 2:
        values[3, 4] = numpy.nan
    return torch.from_numpy(values)


def from_list(step):
    return torch.tensor(from_numpy(step).tolist())


def scaled(overflows):
    """Scales its loss: the overflow of the first step is expected, and the scaler skips that step."""
    torch.manual_seed(0)
    model = Net(Quiet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for step in range(4):
        x = torch.randn(32, 8)
        y = model(x).square().mean() * (1e30 if step in overflows else 1.0)
        with torch.no_grad():
            y.fill_(1.0)
        scaler.scale(y * (1e8 if step in overflows else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print([parameter.sum().item() for parameter in model.parameters()], scaler.get_scale())


def garbage():
    """Memory that nobody has written, then written in full; in the end a part that was not written is read."""
    for _ in range(4):
        bad = torch.full((1000,), float("inf"))
        del bad
        x = torch.empty(1000)
        y = torch.empty_like(x)
        x.copy_(torch.ones(1000))
        torch.mul(x, 2, out=y)
        y[:10].zero_()
    x = torch.empty(1000)
    ctypes.memset(x.data_ptr(), 0xff, x.nbytes)  # the garbage, of NaN
    x[:10].zero_()
    y = x[:20] * 2
    print(y[:10].sum().item(), y.isnan().sum().item())


def replaced():
    """Operations that make a NaN within and replace it: the gradient of a norm at zero, nan_to_num in one kernel."""
    x = torch.zeros(8, requires_grad=True)
    y = x.norm() + torch.linalg.vector_norm(x) + nn.functional.normalize(x, dim=0).sum() + x.pow(0.0).sum()
    y.backward()
    z = torch.logsumexp(torch.full((3, 4), float("-inf")), dim=1)
    print(x.grad.tolist(), z.tolist())


def inference():
    with torch.inference_mode():
        x = torch.linspace(-1, 1, 9)
        x.div_(2)
        x.log_()  # here: inference
    print(x.isnan().sum().item())


def first():
    """The program's very first operations: from them it is learnt where torch keeps arguments and results."""
    mask = torch.full((4,), float("-inf"))
    x = torch.zeros(4)
    y = x / x  # here: first
    print(y.isnan().sum().item(), mask.sum().item())


def foreach():
    parameters = [nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(3))]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer = torch.optim.Adam(parameters, lr=float("inf"), foreach=True)
    optimizer.step()  # here: foreach
    print([parameter.tolist() for parameter in parameters])


PROGRAMS = {
    "log": lambda: train(Log()),
    "zero": lambda: train(Zero()),
    "root": lambda: train(Root()),
    "half": lambda: train(Half()),
    "function": lambda: train(Custom()),
    "data": lambda: train(Quiet(), data=from_numpy),
    "written": lambda: train(Quiet(), data=from_list),
    "division": lambda: train(Quiet(), make=lambda p: Division(p, lr=0.1)),
    "row": lambda: train(Masked(seen=0)),
    "script": lambda: train(Scripted()),
    "mask": lambda: train(Masked(seen=8)),
    "added": lambda: train(Added()),
    "fine": lambda: train(Quiet(), make=lambda p: torch.optim.AdamW(p, lr=0.01)),
    "scaled": lambda: scaled((0, 2)),
    "garbage": garbage,
    "replaced": replaced,
    "inference": inference,
    "first": first,
    "foreach": foreach,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
    print("end")
