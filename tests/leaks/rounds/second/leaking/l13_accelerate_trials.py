"""One Accelerator for many trials, prepare() without free_memory(): models and optimizers of all trials stay."""
# after: huggingface/accelerate: trials with one Accelerator
# fix: accelerator.free_memory() after each trial
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache", "gone-parameters"]
# holders = ["accelerator._models", "accelerator._optimizers"]
# lines = ["opt.step()"]
# bytes = 141392  # 8,836 floats: parameters, gradients (accelerator.backward), two states of Adam (opt.step(), half); four steps
# ///
import torch
from accelerate import Accelerator
from torch import nn

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
x = torch.randn(256, 64)
y = torch.randint(0, 4, (256,))


def build():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))


def trial(lr):
    model = build()
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    model, opt = accelerator.prepare(model, opt)
    pick = torch.randint(0, 256, (64,))
    loss = nn.functional.cross_entropy(model(x[pick]), y[pick])
    accelerator.backward(loss)
    opt.step()
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x), y).item()


best = float("inf")
for step in range(66):
    best = min(best, trial(10 ** (-4 + 3 * step / 66)))
print("best", best)
