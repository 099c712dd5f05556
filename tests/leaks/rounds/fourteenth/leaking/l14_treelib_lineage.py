"""Nodes of a treelib.Tree (dict of nodes)."""
# after: lineage of an evolutionary search keeps the genes of the dead
# fix: lineage.get_node(dead).data = None (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "lineage._nodes"  # lineage (Tree._nodes[*].data)
# lines = ["child = genes + 0.1 * torch.randn_like(genes)"]
# bytes = 40960  # 40,960 (40x256x4); malloc 41,600
# ///
import os
import random
import torch
from torch import nn
from treelib import Tree
from ask import at

random.seed(0)
torch.manual_seed(0)
scorer = nn.Linear(256, 1)
lineage = Tree()
lineage.create_node("root", "g0", data=torch.randn(40, 256))
alive = ["g0"]


@torch.no_grad()
def generation(i):
    parent = random.choice(alive)
    genes = lineage.get_node(parent).data
    child = genes + 0.1 * torch.randn_like(genes)
    fitness = scorer(child).mean().item()
    name = f"g{i}"
    lineage.create_node(f"{fitness:.3f}", name, parent=parent, data=child)
    alive.append(name)
    if len(alive) > 4:
        dead = alive.pop(0)
        if os.environ.get("FIX"):
            lineage.get_node(dead).data = None


for i in range(1, 801):
    generation(i)
    at(i)
print(len(lineage), "nodes", lineage.depth(), "deep")
