"""Two persistent DataLoader workers, each with a cache of 24 decoded items of 32 KiB (dict, oldest out): full at about step 4 of each worker (8 in all). prefetch_factor=2. Children and parent are constant after it."""
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Decoded(Dataset):
    def __init__(self):
        self.cache = {}

    def __len__(self):
        return 1280

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = np.random.default_rng(index).standard_normal(8192).astype(np.float32)
            if len(self.cache) > 24:
                self.cache.pop(next(iter(self.cache)))
        return torch.from_numpy(self.cache[index][:512].copy()), index % 4


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Decoded(), batch_size=12, num_workers=2, persistent_workers=True)
    model = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
