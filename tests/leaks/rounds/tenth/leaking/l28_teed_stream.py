"""One stream of batches is teed for training and for a preview that looks at the first batches only."""
# kind: Iterator of C (itertools.tee's linked list) that keeps what one branch has not read yet, with torch.utils.data.
# after: "itertools.tee on a dataloader uses up all RAM"
# fix: an iterator of its own for the preview (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "preview"  # `preview` (the other branch of `itertools.tee`)
# lines = ["for step, (x, y) in enumerate(train, 1):"]
# bytes = 98560  # images 32 x 3 x 16 x 16 float32 = 98304 + labels 32 x 8 = 256: 98560 a step; measured 96.2 KiB (the last up to 57 batches are kept by tee's blocks in any case)
# ///
import itertools
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Camera(IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(1)
        while True:
            yield torch.rand(3, 16, 16, generator=g), torch.randint(4, (), generator=g)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Camera(), batch_size=32)
    train, preview = (iter(loader), iter(loader)) if os.environ.get("FIX") else itertools.tee(loader)
    print("brightness", [x.mean().item() for x, _ in itertools.islice(preview, 3)])
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4))
    model(torch.zeros(1, 3, 16, 16))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step, (x, y) in enumerate(train, 1):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step == 90:
            break
    print(loss.item())


if __name__ == "__main__":
    main()
