"""A WeakKeyDictionary whose values refer to their keys: nothing ever dies."""
# kind: weak-key map, with torch, weakref
# after: "WeakKeyDictionary leaks" (value holds a strong reference to the key)
# fix: Plan does not keep the graph (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "cache.data"  # cache (WeakKeyDictionary: graph -> Plan with .graph)
# lines = ["self.norm = d[:, None] * adj * d", "self.x = torch.randn(n, 64)", "self.adj = (torch.rand(n, n) > 0.9).float()"]  # norm, x, adj
# bytes = 30720  # plan.norm 48x48x4 = 9216, graph.x 48x64x4 = 12288, graph.adj 48x48x4 = 9216: 30720; measured, bytes a step in 20..40, 40..60: tensors that gc sees 30720,30720, malloc in use 32367,32348, rss 34611,35635; with FIX: malloc 395,143, rss 0,614
# ///
import os
import weakref
import torch
from torch import nn

torch.manual_seed(0)
cache = weakref.WeakKeyDictionary()


class Plan:
    def __init__(self, graph):
        if not os.environ.get("FIX"):
            self.graph = graph
        adj = graph.adj + torch.eye(len(graph.adj))
        d = adj.sum(1).rsqrt()
        self.norm = d[:, None] * adj * d


class Graph:
    def __init__(self, n):
        self.adj = (torch.rand(n, n) > 0.9).float()
        self.x = torch.randn(n, 64)


def plan_of(graph):
    if graph not in cache:
        cache[graph] = Plan(graph)
    return cache[graph]


gcn = nn.ModuleList([nn.Linear(64, 32), nn.Linear(32, 4)])
opt = torch.optim.Adam(gcn.parameters(), 1e-2)
for step in range(70):
    graph = Graph(48)
    h = graph.x
    for layer in gcn:
        h = torch.relu(layer(plan_of(graph).norm @ h))
    loss = (h.sum(1) - graph.adj.sum(1)).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), "plans", len(cache))
