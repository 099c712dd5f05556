"""Tree search goes on from the node that was played; its parent, and with that the whole tree before, stays reachable."""
# opendilab/LightZero#492: fix(mc): fix search tree memory leaks in AlphaZero ctree variants
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "root"
# lines = ["return torch.tanh("]
# bytes = 32768  # eight nodes with a state of 16 x 64 floats
# ///
import sys

import torch
from torch import nn


class Node:
    def __init__(self, parent, hidden_state):
        self.parent, self.hidden_state, self.children, self.visits = parent, hidden_state, {}, 0


def recurrent_inference(dynamics, state, action):
    return torch.tanh(dynamics(state) + action)


@torch.no_grad()
def search(dynamics, root):
    for action in range(8):
        root.children[action] = Node(root, recurrent_inference(dynamics, root.hidden_state, action))
        root.visits += 1


dynamics = nn.Linear(64, 64)
root = Node(None, torch.randn(16, 64))
for line in sys.stdin:
    search(dynamics, root)
    root = root.children[int(line) % 8]
    print(root.hidden_state.mean().item(), flush=True)
