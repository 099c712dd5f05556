"""Lightning-AI/torchmetrics: CatMetric keeps values within an epoch of 18 steps and is reset: 2, 4, 6 entries at steps 20, 40, 60."""
# bytes a step: saw-tooth, at most 18 * 128*64*4 = 589,824 B; nothing survives an epoch
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torchmetrics import CatMetric

torch.manual_seed(0)
model = nn.Linear(32, 64)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
outputs = CatMetric()
epochs = []


def train_step():
    x = torch.randn(128, 32)
    out = model(x)
    loss = out.square().mean()
    opt.zero_grad()
    loss.backward()
    outputs.update(out.detach().clone())
    opt.step()


for step in range(66):
    train_step()
    if step % 18 == 17:
        epochs.append(outputs.compute().std().item())
        outputs.reset()
print("epochs", epochs)
