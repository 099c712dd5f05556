"""Log dicts of a solver hold potentials with the graph of all iterations, with POT."""
# after: "ot.sinkhorn with torch backend inside a training loop: memory grows when I keep the log" (POT issues on the torch backend)
# fix: keep float(log["err"][-1]) only (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "logs"  # `logs` (list of dicts: u, v)
# lines = ["M = torch.cdist(net(src), dst) ** 2", "plan, log = ot.sinkhorn(w, w, M / M.detach().max(), reg=0.5,"]
# bytes = [68506, 70042]  # 68.4 KiB (allocated bytes: graph of 10 iterations: 4.6 KiB are tensors that Python sees, the rest saved tensors and nodes); correction: 66.9 KiB by malloc in use; storages alone 4,868
# ///
import os

import ot
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
w = torch.full((32,), 1 / 32)
logs = []
for step in range(1, 71):
    src, dst = torch.randn(32, 2), torch.randn(32, 2) * 0.5 + 1
    M = torch.cdist(net(src), dst) ** 2
    plan, log = ot.sinkhorn(w, w, M / M.detach().max(), reg=0.5, numItermax=10, log=True, warn=False)
    loss = (plan * M).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    logs.append(float(log["err"][-1]) if os.environ.get("FIX") else log)
print(len(logs))
