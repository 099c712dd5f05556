"""Activations of a performer are recorded by a hook that nobody clears."""
# kind: forward hooks that append to a dict of lists, with performer-pytorch
# after: forum "forward hook fills RAM": activations[name].append(output) for a look at them now and then
# fix: activations[name] = [output.detach()] (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "activations"  # activations (dict: 'layer0', 'layer1' -> lists), a closure of the hooks `record.<locals>.hook`
# lines = ["x = x + layer(x)"]  # inside performer_pytorch: the last Linear of the attention
# bytes = 32768  # two attention outputs 4x32x32x4 = 16384 each: 32768; detached; measured, bytes a step in 20..40, 40..60: tensors that gc sees 32768,32768, malloc in use 33757,33721, rss 40960,42393; with FIX: malloc 180,205, rss 204,-204
# ///
import os
from collections import defaultdict
import torch
from torch import nn
from performer_pytorch import SelfAttention

torch.manual_seed(0)
activations = defaultdict(list)
layers = nn.ModuleList([SelfAttention(dim=32, heads=2, dim_head=16, causal=False, nb_features=16) for _ in range(2)])
head = nn.Linear(32, 5)
optimizer = torch.optim.AdamW([*layers.parameters(), *head.parameters()], 1e-3)


def record(name):
    def hook(module, args, output):
        if os.environ.get("FIX"):
            activations[name].clear()
        activations[name].append(output.detach())
    return hook


def forward(x):
    for layer in layers:
        x = x + layer(x)
    return head(x.mean(1))


for i, layer in enumerate(layers):
    layer.register_forward_hook(record(f"layer{i}"))
for step in range(70):
    x, y = torch.randn(4, 32, 32), torch.randint(0, 5, (4,))
    loss = nn.functional.cross_entropy(forward(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item(), {k: float(v[-1].std()) for k, v in activations.items()})
