"""The running sum of a penalty is not detached; it begins after the warm-up, in step 25."""
# after: rtqichen/torchdiffeq: memory grows during training
# fix: reg_sum = reg_sum + reg.detach() (reg.item())
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = "reg_sum"
# lines = ["return self.net(y)", "y = odeint("]
# bytes = [149940, 173400]  # 170,000 measured with malloc, from step 25 on: of 40 steps 36; 2 % of either
# ///
import torch
from torchdiffeq import odeint

torch.manual_seed(0)
torch.set_num_threads(1)


class Func(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(32, 48), torch.nn.Tanh(), torch.nn.Linear(48, 32))

    def forward(self, t, y):
        return self.net(y)


func = Func()
opt = torch.optim.Adam(func.parameters(), lr=1e-3)
t = torch.linspace(0, 1, 3)
reg_sum = torch.zeros(())
WARM_UP = 24
for step in range(1, 67):
    y0 = torch.randn(32, 32)
    y = odeint(func, y0, t, method="rk4")
    loss = (y[-1] - y0.roll(1, 1)).pow(2).mean()
    if step > WARM_UP:
        reg = (y[1:] - y[:-1]).pow(2).sum(-1).mean()
        reg_sum = reg_sum + reg
        loss = loss + 0.01 * reg.detach()
    opt.zero_grad()
    loss.backward(retain_graph=step > WARM_UP)
    opt.step()
print("mean penalty", round((reg_sum / 42).item(), 4))
