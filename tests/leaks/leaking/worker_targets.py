"""Targets that came from a worker are kept for a score at the end: each is a file of shared memory."""
# pytorch/pytorch#973: file_descriptor sharing strategy may be leaking FDs, resulting in DataLoader causing `RuntimeError: received 0 items of ancdata`
# pyg-team/pytorch_geometric#3396: Memory leak in torch_geometric.loader.Collater when num_workers > 0
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "target_list"
# lines = ["for (inputs, targets), step in "]
# bytes = 20480  # 32 x 80 numbers of 8 bytes
# ///
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    data = TensorDataset(torch.randn(2048, 32), torch.randint(10, (2048, 80)))
    model = nn.Linear(32, 80)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    target_list = []
    for (inputs, targets), step in zip(DataLoader(data, batch_size=32, num_workers=1), range(60)):
        loss = (model(inputs) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        target_list.append(targets)
    print(len(target_list))


main()
