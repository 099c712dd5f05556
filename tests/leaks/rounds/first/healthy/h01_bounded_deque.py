"""collections.deque(maxlen=32) of features (fills until step 32, then constant)."""
# bytes a step: 0 after step 32 (before: 64*256*4 = 65,536 B, torch tensors); holder: recent
# /// healthy
# dumps = "steps"
# ///
import collections
import torch
from torch import nn

torch.manual_seed(0)
recent = collections.deque(maxlen=32)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.01)


def train_step():
    x = torch.randn(64, 64)
    feats = model[1](model[0](x))
    recent.append(feats.detach())
    drift = (feats - recent[0]).square().mean()
    loss = model[2](feats).square().mean() + 0.01 * drift
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for step in range(66):
    value = train_step()
print("loss", value, len(recent))
