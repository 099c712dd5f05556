"""A wrapper of a dataset puts the transformed image into the row, and the rows of the dataset stay in memory."""
# huggingface/datasets#7180: Memory leak when wrapping datasets into PyTorch Dataset without explicit deletion
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "rows"
# lines = ["sample[\"pixel_values\"] = "]
# bytes = 49152  # 4 images of 3 x 32 x 32 floats
# ///
import torch
from torch import nn


class RawDataset:
    def __init__(self):
        self.rows = [{"caption": f"a picture of {i}", "seed": i} for i in range(1000)]

    def __getitem__(self, index):
        return self.rows[index]


class Cc12m(torch.utils.data.Dataset):
    def __init__(self, raw):
        self.raw_dataset = raw

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        sample = self.raw_dataset[index]
        sample["pixel_values"] = torch.randn(3, 32, 32)
        return sample["pixel_values"]


loader = torch.utils.data.DataLoader(Cc12m(RawDataset()), batch_size=4)
model = nn.Conv2d(3, 4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, images in zip(range(60), loader):
    loss = model(images).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
