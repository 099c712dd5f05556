"""Gc is off and called every 7 steps (as large trainings do); cycles (tree nodes with parents) wait for it: a saw-tooth of at most 7 steps, never more."""
# looks like: memory grows over several steps, objects that nobody can reach
# library: torch only
# /// healthy
# dumps = "steps"
# ///
import gc

import torch
import torch.nn as nn

torch.manual_seed(0)


class Node:
    def __init__(self, parent, feature):
        self.parent, self.children, self.feature = parent, [], feature
        if parent is not None:
            parent.children.append(self)


def tree(depth=3):
    root = Node(None, torch.randn(64))
    level = [root]
    for _ in range(depth):
        level = [Node(n, n.feature * 0.5 + torch.randn(64)) for n in level for _ in range(3)]
    return root


class TreeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.out = nn.Linear(128, 64), nn.Linear(64, 2)

    def embed(self, node):
        if not node.children:
            return node.feature
        below = torch.stack([self.embed(c) for c in node.children]).mean(0)
        return torch.tanh(self.up(torch.cat([node.feature, below])))

    def forward(self, root):
        return self.out(self.embed(root))


gc.disable()
net = TreeNet()
optimizer = torch.optim.Adagrad(net.parameters(), lr=0.01)
for step in range(1, 86):
    trees = [tree() for _ in range(4)]
    logits = torch.stack([net(t) for t in trees])
    loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 7 == 0:
        gc.collect()
print(round(loss.item(), 3))
