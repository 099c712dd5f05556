"""MetricTracker.increment(), which is meant for epochs, is called in each step: a copy of the metric for each."""
# after: Lightning-AI/torchmetrics: MetricTracker
# fix: increment() once per epoch; or one metric and reset()
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["tracker", "confmat", "_defaults"]
# lines = ["tracker.increment()"]
# bytes = 262144  # 128 x 128 int64 of confmat, and of its default in metric._defaults
# ///
import torch
from torch import nn
from torchmetrics import MetricTracker
from torchmetrics.classification import MulticlassConfusionMatrix

torch.manual_seed(0)
model = nn.Linear(32, 128)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
tracker = MetricTracker(MulticlassConfusionMatrix(128, validate_args=False), maximize=True)


def batch():
    return torch.randn(64, 32), torch.randint(0, 128, (64,))


for step in range(66):
    x, y = batch()
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    tracker.increment()
    tracker.update(logits.detach(), y)
print("metrics", tracker.n_steps, loss.item())
