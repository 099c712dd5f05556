"""History_size pairs of vectors (12 x 2 x 40 KB), full after 2 to 3 steps of up to 5 iterations."""
# report: "LBFGS memory grows in each step": its history (old_dirs, old_stps, ro) fills to history_size=12
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(48, 192), nn.Tanh(), nn.Linear(192, 4))
opt = torch.optim.LBFGS(net.parameters(), lr=0.05, max_iter=5, history_size=12)
X = torch.randn(400, 48)
Y = torch.stack([X[:, :12].sum(1), X[:, 12:24].prod(1), X.norm(dim=1), X[:, 0]], 1)
values = []
for step in range(66):
    noise = 0.05 * torch.randn_like(X)

    def closure():
        opt.zero_grad()
        loss = (net(X + noise) - Y).pow(2).mean()
        loss.backward()
        return loss

    values.append(opt.step(closure).item())
    if step % 20 == 0:
        print(step, values[-1], len(opt.state[opt._params[0]].get("old_dirs", [])), flush=True)
