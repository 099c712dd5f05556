"""A DataLoader with two forked workers; argument: the sharing strategy."""
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import truth


def main():
    torch.multiprocessing.set_sharing_strategy(sys.argv[1] if len(sys.argv) > 1 else "file_descriptor")
    loader = DataLoader(TensorDataset(torch.arange(64.0).reshape(16, 4)), batch_size=4, num_workers=2)
    total = 0.0
    batches = []
    for (batch,) in loader:
        batches.append(batch)
        total += batch.sum().item()
    truth.moment(shared=[batch._cdata for batch in batches])
    print(total)


if __name__ == "__main__":
    main()
