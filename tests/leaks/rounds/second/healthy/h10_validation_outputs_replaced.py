"""Validation every 9 steps keeps its outputs until the next one: same number of outputs each time."""
# bytes a step: 0 between the dumps (8 batches * 64*512*4 = 1,048,576 B, made anew at steps 9, 18, 27, ...)
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 512))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.last_eval = {}
        self.history = []

    def step(self):
        x = torch.randn(32, 64)
        y = torch.randint(0, 512, (32,))
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    @torch.no_grad()
    def validate(self, number):
        outputs = [self.model(batch) for batch in held_out]
        entropy = sum(o.softmax(-1).max(-1).values.mean().item() for o in outputs) / len(outputs)
        self.history.append(entropy)
        self.last_eval = {"number": number, "outputs": outputs}


held_out = [torch.randn(64, 64) for _ in range(8)]
trainer = Trainer()
for step in range(1, 67):
    trainer.step()
    if step % 9 == 0:
        trainer.validate(step // 9)
print("validations", trainer.last_eval["number"], trainer.history[-1])
