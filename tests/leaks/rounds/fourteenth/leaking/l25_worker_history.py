"""DataLoader workers (2 children); numpy in a list."""
# after: a Dataset keeps every item in the worker
# fix: del self.recent[:-50] (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["child-processes", "process-memory", "container", "module-cache"]
# holder = "loader.dataset.recent"  # loader.dataset.recent in each worker
# lines = []
# bytes = 262208  # 262,208 in both children together (16 x 4097 x 4 = 262,208; the parent does not grow); numpy; outside of tensors
# ///
import os
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    def __init__(self):
        self.recent = []

    def __len__(self):
        return 1600

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        wave = rng.standard_normal(8192).astype(np.float32)
        spectrum = np.abs(np.fft.rfft(wave)).astype(np.float32)
        self.recent.append(spectrum)  # to normalise by the running mean
        if os.environ.get("FIX"):
            del self.recent[:-50]
        mean = np.mean([s.mean() for s in self.recent[-50:]])
        return torch.from_numpy(spectrum[:512] / mean), int(index % 4)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Spectra(), batch_size=16, num_workers=2, persistent_workers=True)
    model = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(1):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(loss.item())
