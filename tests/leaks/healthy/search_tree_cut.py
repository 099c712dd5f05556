"""Tree search goes on from the node that was played, which is cut off from its parent."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch
from torch import nn


class Node:
    def __init__(self, parent, hidden_state):
        self.parent, self.hidden_state, self.children = parent, hidden_state, {}


@torch.no_grad()
def search(dynamics, root):
    for action in range(8):
        if action not in root.children:
            root.children[action] = Node(root, torch.tanh(dynamics(root.hidden_state) + action))
    for child in root.children.values():
        child.children[0] = Node(child, torch.tanh(dynamics(child.hidden_state)))


dynamics = nn.Linear(64, 64)
root = Node(None, torch.randn(16, 64))
for line in sys.stdin:
    search(dynamics, root)
    played = root.children[int(line) % 8]
    for child in root.children.values():
        child.parent = None
    root.children.clear()
    root = played
    print(root.hidden_state.mean().item(), flush=True)
