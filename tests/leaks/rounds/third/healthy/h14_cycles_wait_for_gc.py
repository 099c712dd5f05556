"""Each step leaves a reference cycle (tree nodes with parents) that holds tensors; the collector frees it when its generation is due."""
# /// healthy
# dumps = "asks"
# ///
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


class Node:
    def __init__(self, parent, state):
        self.parent, self.state, self.children, self.info = parent, state, [], {}
        if parent is not None:
            parent.children.append(self)


def search(model, width=4, depth=3):
    root = Node(None, torch.randn(8, 64))
    level = [root]
    for _ in range(depth):
        following = []
        for node in level:
            for _ in range(2):
                following.append(Node(node, model(node.state + 0.1 * torch.randn(8, 64))))
        level = following
    return max(n.state.mean().item() for n in level)


model = torch.nn.Linear(64, 64).requires_grad_(False)
best = -1.0
for step in range(1, 67):
    best = max(best, search(model))
    at(step)
print(round(best, 4))
