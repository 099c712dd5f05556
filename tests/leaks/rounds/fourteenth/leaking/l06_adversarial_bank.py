"""Dict of an object keyed by step; torchattacks."""
# after: adversarial examples are kept for the report
# fix: found[step % 4] instead of a new key (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "evaluation.found"
# lines = ["adv = attack(images, labels)"]
# bytes = 100608  # 100,608 measured: adv 32x28x28x4 = 100,352 (made inside torchattacks' PGD.forward, called at this line) + labels 256; malloc 101,600
# ///
import os
import torch
import torchattacks
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(8 * 49, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
attack = torchattacks.PGD(model, eps=0.1, alpha=0.03, steps=3)


class RobustEval:
    def __init__(self):
        self.found = {}
        self.hits = 0

    def check(self, step, images, labels):
        adv = attack(images, labels)
        with torch.no_grad():
            wrong = model(adv).argmax(1) != labels
        self.hits += int(wrong.sum())
        if os.environ.get("FIX"):
            self.found[step % 4] = (adv, labels)
        else:
            self.found[f"step_{step}"] = (adv, labels)
        return adv


evaluation = RobustEval()
for step in range(1, 101):
    images = torch.rand(32, 1, 28, 28)
    labels = torch.randint(0, 10, (32,))
    adv = evaluation.check(step, images, labels)
    loss = nn.functional.cross_entropy(model(adv), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("fooled", evaluation.hits)
