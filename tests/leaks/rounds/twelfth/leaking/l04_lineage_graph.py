"""Graph of a Rust library whose nodes' data hold state dicts, with rustworkx."""
# after: "population based training: lineage graph keeps every ancestor's weights" (PBT / evolutionary training forum threads)
# fix: store the score only (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "lineage"  # `lineage` (rustworkx.PyDiGraph, node data `weights`)
# lines = ["return {k: v + 0.02 * torch.randn_like(v) for k, v in weight"]
# bytes = 21252  # 5313 x 4 = 21,252 bytes (20.75 KiB) of tensor storages (measured); 24.5 KiB allocated bytes
# ///
import os

import rustworkx as rx
import torch
import torch.nn as nn

from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
x = torch.randn(256, 16)
y = x[:, :1] * x[:, 1:2]
lineage = rx.PyDiGraph()
best = net.state_dict()
parent, best_score = None, float("inf")


@torch.no_grad()
def mutate(weights):
    return {k: v + 0.02 * torch.randn_like(v) for k, v in weights.items()}


for i in range(1, 71):
    child = mutate(best)
    net.load_state_dict(child)
    with torch.no_grad():
        score = nn.functional.mse_loss(net(x), y).item()
    node = {"generation": i, "score": score}
    if not os.environ.get("FIX"):
        node["weights"] = child
    n = lineage.add_node(node)
    if parent is not None:
        lineage.add_edge(parent, n, "mutation")
    if score < best_score:
        best, best_score, parent = {k: v.clone() for k, v in child.items()}, score, n
    at(i)
print(best_score, lineage.num_nodes())
