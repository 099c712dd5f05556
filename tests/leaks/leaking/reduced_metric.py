"""A metric adds up the reduced loss: reduction is cloned, so it carries the graph into the sum."""
# horovod/horovod#641: Fix memory leak in pytorch_imagenet_resnet50.py example
# pfnet/pytorch-pfn-extras#49: Use detach instead of clone to avoid retention of computational graph in reporter
# /// leak
# dumps = "steps"
# kinds = ["graph-nodes", "accumulated-graph"]
# holder = "train_loss.sum"
# lines = ["self.sum += ", "return value.clone() / 1.0"]
# bytes = [0, 64]  # the divisor that a graph saves
# ///
import torch
from torch import nn


def allreduce(value, name):
    return value.clone() / 1.0


class Metric:
    def __init__(self, name):
        self.name = name
        self.sum = torch.tensor(0.0)
        self.n = torch.tensor(0.0)

    def update(self, value):
        self.sum += allreduce(value, self.name)
        self.n += 1

    @property
    def avg(self):
        return self.sum / self.n


def train(model, optimizer):
    train_loss = Metric("train_loss")
    for batch in range(60):
        data, target = torch.randn(16, 3, 8, 8), torch.randint(5, (16,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), target)
        train_loss.update(loss)
        loss.backward()
        optimizer.step()
    return train_loss.avg.item()


net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 5))
print(train(net, torch.optim.SGD(net.parameters(), lr=0.01)))
