"""Tensor subclass whose attribute refers to the operands (a chain), with __torch_function__."""
# after: forum "tensor subclass with metadata: a running average keeps its whole history"
# fix: state.parents = () at the end of the step (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "state.parents"  # `state.parents` (chain: state.parents[0].parents[0]...); `state` is the name of the newest
# lines = ["state = torch.add(torch.mul(state, 0.9), out.detach(), alpha"]
# bytes = 32768  # two results a step (0.9 * state, and the sum), each 64 x 64 x 4 = 16384: 32768 a step; measured tensors 32768
# ///
import os
import torch

torch.manual_seed(0)


class Tracked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(out, Tracked):
            out.parents = tuple(a for a in args if isinstance(a, Tracked))
            out.made_by = getattr(func, "__name__", "?")
        return out


net = torch.nn.Linear(64, 64)
opt = torch.optim.Adam(net.parameters())
state = torch.zeros(64, 64).as_subclass(Tracked)
for step in range(70):
    x = torch.randn(64, 64)
    out = net(x)
    loss = (out - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = torch.add(torch.mul(state, 0.9), out.detach(), alpha=0.1)  # LEAK
    if os.environ.get("FIX"):
        state.parents = ()
print(state.made_by, loss.item())
