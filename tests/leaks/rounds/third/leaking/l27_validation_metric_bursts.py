"""States of a metric that are lists grow in bursts, a validation every ten steps: reset() is forgotten."""
# after: Lightning-AI/torchmetrics: states that are lists, without reset()
# fix: metric.reset() after metric.compute()
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["metric.preds", "metric.target"]
# lines = ["metric.update(model(x)"]
# bytes = 65536  # 10 batches x 8,192 floats of predictions, and of targets, every ten steps
# ///
import torch
from torchmetrics.regression import SpearmanCorrCoef

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
metric = SpearmanCorrCoef()


@torch.no_grad()
def validate():
    model.eval()
    for _ in range(10):
        x = torch.randn(8192, 4)
        metric.update(model(x).squeeze(1), x.sum(1))
    model.train()
    return metric.compute().item()


rho = 0.0
for step in range(1, 67):
    x = torch.randn(64, 4)
    loss = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        rho = validate()
print("rho", round(rho, 3))
