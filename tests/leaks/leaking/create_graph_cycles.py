"""Second derivatives by backward(create_graph=True): each input and its gradient refer to each other through the graph."""
# pytorch/pytorch#7343: [memory leak] [PyTorch] create_graph=True w/ custom grad
# pytorch/pytorch#4661: backward(create_graph=True) should raise a warning for potential memory leak
# /// leak
# dumps = "requests"
# kinds = ["graph-cycle"]
# holder = "its .grad"
# lines = ["points = ", "wave = ", "wave.backward("]
# bytes = [65536, 131072]  # points, their gradient, and two to four tensors that the graph saved: 128 x 32 floats each
# ///
import sys
import warnings

import torch

warnings.simplefilter("ignore")


def curvature(seed):
    torch.manual_seed(seed)
    points = torch.randn(128, 32, requires_grad=True)
    wave = points.tanh()
    wave.backward(torch.ones_like(wave), create_graph=True)
    return points.grad.sum().item()


for line in sys.stdin:
    print(curvature(int(line)), flush=True)
