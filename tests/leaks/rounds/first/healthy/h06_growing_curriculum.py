"""Curriculum: sequences get longer every 6 steps (16, 24, 32, ... 96); one batch is alive at a time."""
# bytes a step: nothing is kept; the batch, its activations and peak are larger later: 16*8*32*4 = 16,384 B more input every 6 steps
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, 12)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.head(h)


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(66):
    length = 16 + 8 * (step // 6)
    x = torch.randn(16, length, 32)
    y = torch.randint(0, 12, (16, length))
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "length", length)
