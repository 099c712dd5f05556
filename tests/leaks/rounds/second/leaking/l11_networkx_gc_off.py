"""A graph and its cached view of edges refer to each other, and the garbage collector is off in the loop."""
# after: networkx/networkx: Graph.edges, with gc.disable() against pauses
# fix: gc.collect() every few steps (or leave gc on)
# /// leak
# dumps = "steps"
# kinds = ["reference-cycle"]
# holders = ["cycle", "Graph", "EdgeView"]
# lines = ["graph.add_node(n, h=torch.randn(512))"]
# bytes = 97280  # 32 nodes x 512 floats (65,536), 31 edges x 256 (31,744); nothing that is reachable holds them
# ///
import gc

import networkx as nx
import torch
from torch import nn

torch.manual_seed(0)


def tree(nodes=32):
    graph = nx.Graph()
    for n in range(nodes):
        graph.add_node(n, h=torch.randn(512))
        if n:
            graph.add_edge(n, (n - 1) // 2, w=torch.rand(256))
    return graph


def pool(graph):
    rows = [graph.nodes[n]["h"] for n in graph]
    weights = torch.stack([graph.edges[e]["w"] for e in graph.edges])
    return torch.stack(rows).mean(0), weights.mean()


model = nn.Sequential(nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
gc.collect()
gc.disable()
for step in range(66):
    h, w = pool(tree())
    loss = (model(h) - w).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
