"""Graphs that `tensorscope graph` is asked about: what hangs below each root, as the program's own walk finds it.

Writes TRUTH_DIR/1.json; the walk over next_functions comes after the dump, because it makes Python objects for nodes.
"""

import json
import os

import torch
from torch import nn

import truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.norm = nn.LayerNorm(32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, data):
        return self.fc2(self.norm(torch.relu(self.fc1(data))))


def below(root):
    """Nodes reached, and for each leaf its number of paths and the length of a shortest one."""
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((following, False) for following, _ in node.next_functions if following is not None)
    paths, steps = {root: 1}, {root: 0}
    for node in reversed(order):  # users before what they use
        for following, _ in node.next_functions:
            if following is not None:
                paths[following] = paths.get(following, 0) + paths[node]
                steps[following] = min(steps.get(following, 1 << 60), steps[node] + 1)
    leaves = {node.variable._cdata: [paths[node], steps[node]] for node in order if hasattr(node, "variable")}
    return {"operations": len(order) - len(leaves), "leaves": leaves, "root": type(root).__name__}


def main():
    torch.manual_seed(0)
    model = Net()
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 12)
    data = torch.randn(8, 16)
    losses = [model(data).square().mean() for _ in range(5)]
    freed = model(data).sum()
    freed.backward()
    encoded = encoder(torch.randn(2, 6, 16)).sum()
    weight = torch.ones(4, requires_grad=True)
    squared = weight * weight
    view = squared[1:3]
    doubled = weight
    for _ in range(18):
        doubled = doubled + doubled
    chain = weight
    for _ in range(5000):
        chain = chain * 1.5
    sizes = {"kept_by_loss": 8 * 32 * 4 * 2 + 8 * 4 * 4 + 2 * 8 * 4}  # relu, norm, out, and norm's two statistics
    truth.moment()
    path = os.path.join(os.environ["TRUTH_DIR"], "1.json")
    with open(path) as file:
        known = json.load(file)
    roots = {"losses[0]": losses[0], "losses[4]": losses[4], "freed": freed, "encoded": encoded, "squared": squared,
             "view": view, "doubled": doubled, "chain": chain}
    known["roots"] = {name: below(tensor.grad_fn) for name, tensor in roots.items()}
    known["sizes"] = sizes
    with open(path, "w") as file:
        json.dump(known, file)


main()
