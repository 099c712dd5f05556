"""Slow weights are made once per parameter at the first synchronisation (step 5); then updated in place."""
# report: "Lookahead keeps slow weights: memory grows when it first synchronises"
# looks like: optimizer state that appears late; the inner optimizer is the one that counts steps
# library: torch-optimizer
# /// healthy
# dumps = "steps"
# ///
import torch
import torch_optimizer

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
inner = torch.optim.Adam(net.parameters(), lr=1e-3)
opt = torch_optimizer.Lookahead(inner, k=5, alpha=0.5)
history = []
for step in range(70):
    x, y = torch.randn(64, 128), torch.randint(0, 10, (64,))
    loss = torch.nn.functional.cross_entropy(net(x), y)
    net.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
print(sum(history[-10:]) / 10)
