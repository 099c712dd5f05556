"""The second stage (LazyLinear layers, its parameters and Adam's state) comes to life in step 30, and a third in step 50: both stay, and nothing grows after."""
# /// healthy
# dumps = "steps"
# ///
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

stages = torch.nn.ModuleList([
    torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU()),
    torch.nn.Sequential(torch.nn.LazyLinear(512), torch.nn.ReLU(), torch.nn.LazyLinear(128)),
    torch.nn.Sequential(torch.nn.LazyLinear(512), torch.nn.ReLU(), torch.nn.LazyLinear(128)),
])
opt = torch.optim.Adam(stages[0].parameters(), lr=1e-3)
for step in range(1, 67):
    depth = 1 + (step >= 30) + (step >= 50)
    h = x = torch.randn(16, 128)
    for i in range(depth):
        h = h + stages[i](h)
    if step in (30, 50):
        opt.add_param_group({"params": list(stages[depth - 1].parameters())})
    loss = (h - x.roll(1, 1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3), "groups", len(opt.param_groups))
