"""Five buckets (16 to 80), met in turn: all masks are there after step 5 and the executor has its plans after some more."""
# about: A scripted model meets lengths by bucket; the executor specializes, each bucket has a mask that is made once.
# report: "torch.jit memory increases for the first iterations with varying lengths"
# kind: jit warm up, masks per bucket, varying batch sizes
# library: torch.jit
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(200, 48)
        self.att = nn.Linear(48, 48)
        self.out = nn.Linear(48, 200)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.emb(tokens)
        w = (self.att(x) @ x.transpose(1, 2) / 7.0).masked_fill(mask, -1e4).softmax(-1)
        return self.out(w @ x)


def main():
    torch.manual_seed(0)
    model = torch.jit.script(Model())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    masks = {}
    for step in range(1, 121):
        length = 16 * (1 + step % 5)
        if length not in masks:
            masks[length] = torch.ones(length, length, dtype=torch.bool).triu(1)
        tokens = torch.randint(200, (640 // length, length))
        loss = nn.functional.cross_entropy(model(tokens, masks[length]).flatten(0, 1), tokens.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(sorted(masks), loss.item())


if __name__ == "__main__":
    main()
