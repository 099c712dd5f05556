"""The ctx of an autograd.Function is kept to be looked at later; its output hangs on it."""
# after: pytorch/pytorch: page on extending it, and debugging
# fix: do not keep ctx (keep y.mean().item()); Swish.trace.clear()
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "Swish.trace"
# lines = ["y = x * torch.sigmoid(x)"]
# bytes = 131072  # 128 x 256 floats: ctx.y; x, which is saved, is freed by backward
# ///
import torch
from torch import nn

torch.manual_seed(0)


class Swish(torch.autograd.Function):
    trace = []

    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.y = y
        ctx.save_for_backward(x)
        Swish.trace.append(ctx)
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + ctx.y * (1 - s))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 256)
        self.b = nn.Linear(256, 4)

    def forward(self, x):
        return self.b(Swish.apply(self.a(x)))


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(66):
    x = torch.randn(128, 32)
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), Swish.trace[0].y.mean().item(), len(Swish.trace))
