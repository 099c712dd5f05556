"""Parametrizations stacked on one weight, with torch (nn.utils.parametrizations)."""
# after: "training gets slower and slower with spectral_norm": the function that prepares the critic is called before each step and parametrizes again
# fix: if not is_parametrized(m)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "parametrizations.weight"  # critic[0].parametrizations.weight and critic[2].parametrizations.weight (ParametrizationList: one more _SpectralNorm with buffers _u, _v a step)
# lines = ["spectral_norm(m)"]
# bytes = 8704  # 8704 (float32 _u and _v of 1024+64 elements, for two layers; malloc in use 18800 with modules and objects. What a step needs in between grows as well, by one normalized weight (256 KiB) per layer and forward: RSS grows by 1.4 to 2 MiB a step)
# ///
import os

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.nn.utils.parametrize import is_parametrized

torch.manual_seed(0)


def prepare(critic):
    for m in critic.modules():
        if isinstance(m, nn.Linear) and m.out_features > 1 and not (os.environ.get("FIX") and is_parametrized(m)):
            spectral_norm(m)
    return critic


critic = nn.Sequential(nn.Linear(64, 1024), nn.LeakyReLU(0.2), nn.Linear(1024, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
prepare(critic)
optimizer = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.9))
for step in range(66):
    critic = prepare(critic)
    real = torch.randn(32, 64) * 0.5 + 1
    fake = torch.randn(32, 64)
    loss = torch.relu(1 - critic(real)).mean() + torch.relu(1 + critic(fake)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("parametrizations", len(critic[0].parametrizations.weight), round(loss.item(), 3))
