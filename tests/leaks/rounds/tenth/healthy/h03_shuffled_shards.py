"""shuffle(240, initial=60) keeps 240 samples of 3 x 32 x 32 float32 (2.8 MiB); it takes two samples for each it gives until it is full: at about step 12 (16 a batch)."""
# about: WebDataset's shuffle buffer grows while the pipeline starts and is full after some steps.
# report: "wds.shuffle(1000) eats memory at the start of the epoch"
# kind: shuffle buffer of a data pipeline (generator's local list); prefetching batches
# library: webdataset
# /// healthy
# dumps = "steps"
# ///
import torch
import webdataset as wds
from torch import nn


def samples():
    g = torch.Generator().manual_seed(0)
    while True:
        yield {"image": torch.rand(3, 32, 32, generator=g), "label": int(torch.randint(5, (), generator=g))}


class Source(torch.utils.data.IterableDataset):
    def __iter__(self):
        return samples()


def main():
    torch.manual_seed(0)
    data = wds.DataPipeline(
        Source(), wds.shuffle(240, initial=60), wds.to_tuple("image", "label"),
        wds.batched(16, partial=False))
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, (x, y) in enumerate(data, 1):
        loss = nn.functional.cross_entropy(model(torch.as_tensor(x)), torch.as_tensor(y))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step == 120:
            break
    print(loss.item())


if __name__ == "__main__":
    main()
