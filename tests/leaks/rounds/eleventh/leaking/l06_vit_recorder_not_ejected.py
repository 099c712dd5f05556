"""Forward hooks of a library that append, cleared only by the wrapper that is not called any more, with vit-pytorch."""
# after: "vit-pytorch Recorder: memory grows after looking at the attention once": the recorder was used once and not ejected; training goes on with the vit itself
# fix: recorder.eject() after it was looked at
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "recorder.recordings"  # recorder.recordings (list; the hooks on vit.transformer.layers[*][0].attend keep the recorder)
# lines = ["loss = nn.functional.cross_entropy(vit(x), y)"]
# bytes = 73984  # 73984 (2 layers x attention 8x4x17x17 float32 = 36992 B each)
# ///
import os

import torch
import torch.nn as nn
from vit_pytorch import ViT
from vit_pytorch.recorder import Recorder

torch.manual_seed(0)
vit = ViT(image_size=32, patch_size=8, num_classes=10, dim=64, depth=2, heads=4, mlp_dim=128)
optimizer = torch.optim.AdamW(vit.parameters(), lr=3e-4)


def attention_rollout(attns):
    a = attns.mean(2)
    out = a[:, 0]
    for layer in range(1, a.shape[1]):
        out = a[:, layer] @ out
    return out[:, 0, 1:]


recorder = Recorder(vit)
with torch.no_grad():
    _, attns = recorder(torch.randn(1, 3, 32, 32))
heat = attention_rollout(attns)
if os.environ.get("FIX"):
    recorder.eject()

for step in range(80):
    x, y = torch.randn(8, 3, 32, 32), torch.randint(10, (8,))
    loss = nn.functional.cross_entropy(vit(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 3), "heat", heat.shape)
