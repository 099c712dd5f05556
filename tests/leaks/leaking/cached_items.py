"""lru_cache without a limit on a dataset's __getitem__: every item that was ever loaded stays."""
# MoonshotAI/Kimi-Audio#117: "@lru_cache(maxsize=None)" may casue memory leakage when training data grows larger
# /// leak
# dumps = "steps"
# kinds = ["module-cache", "container"]
# holder = "lru_cache"
# lines = ["return {"]
# bytes = 41216  # 4 items a step: 2560 floats of sound, 8 ids of 8 bytes
# ///
import functools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class AudioDataset(Dataset):
    def __len__(self):
        return 1000

    @functools.lru_cache(maxsize=None)
    def __getitem__(self, index):
        return {"wave": torch.randn(2560), "ids": torch.arange(8) + index}


model = nn.Linear(2560, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = iter(DataLoader(AudioDataset(), batch_size=4))
for step in range(60):
    batch = next(loader)
    loss = (model(batch["wave"]) - batch["ids"]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
