"""Autograd graph through a running sum, with timm (utils.AverageMeter)."""
# after: "validation memory keeps growing, AverageMeter" (timm discussions; PyTorch FAQ: total_loss += loss)
# fix: losses.update(loss.item(), n)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached"]
# holders = ["losses.sum", "losses.avg"]  # losses.sum and losses.avg (both; losses.val is only the last one)
# lines = ["logits = model(x)", "loss = F.cross_entropy(logits, y)", "x = torch.randn(64, 64)", "y = torch.randint(0, 10, (64,))"]
# bytes = 85004  # storages of saved tensors: x 16384, before and after GELU 2 x 32768, log-softmax 2560, labels 512, scalars; walk of the graph, and torch's allocator by torch.profiler: 85004; malloc in all 97426 with nodes
# ///
import os
import torch
import torch.nn.functional as F
from timm.layers import Mlp
from timm.utils import AverageMeter
from ask import at

torch.manual_seed(0)
model = Mlp(64, 128, 10).eval()
losses, top1 = AverageMeter(), AverageMeter()


def validate_batch(x, y):
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    acc = (logits.argmax(1) == y).float().mean()
    losses.update(loss.item() if os.environ.get("FIX") else loss, x.shape[0])
    top1.update(acc.item(), x.shape[0])


for i in range(1, 66):
    x = torch.randn(64, 64)
    y = torch.randint(0, 10, (64,))
    validate_batch(x, y)
    if i % 20 == 0:
        print(i, f"loss {float(losses.avg):.3f} acc {top1.avg:.3f}", flush=True)
    at(i)
