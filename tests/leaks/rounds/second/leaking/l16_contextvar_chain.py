"""Each step puts a new link in front of the old one in a context variable, and never resets its token."""
# after: contextvars as a trace, as OpenTelemetry's spans
# fix: token = trace.set(...) and trace.reset(token) at the end of the step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["trace", "parent"]
# lines = ["hidden = torch.tanh(self.enter(x))"]
# bytes = 98304  # 64 x 384 floats: a chain of Span, by Span.parent
# ///
import contextvars
from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(0)
trace = contextvars.ContextVar("trace", default=None)


@dataclass(eq=False, repr=False)
class Span:
    name: str
    value: object
    parent: object


def record(name, value):
    trace.set(Span(name, value, trace.get()))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(48, 384)
        self.leave = nn.Linear(384, 3)

    def forward(self, x):
        hidden = torch.tanh(self.enter(x))
        record("hidden", hidden.detach())
        return self.leave(hidden)


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(66):
    loss = net(torch.randn(64, 48)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), trace.get().name)
