"""Six blocks; the last is unfrozen at step 16; state of parameters that are trained."""
# about: Fine tuning that unfreezes one block every three steps: gradients and Adam's state appear block by block.
# report: "memory grows during fine-tuning with gradual unfreezing (ULMFiT)"
# kind: optimizer's state that appears late; param groups added by a schedule
# library: torch.optim
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    blocks = nn.ModuleList([nn.Sequential(nn.Linear(128, 128), nn.LayerNorm(128), nn.GELU()) for _ in range(6)])
    head = nn.Linear(128, 4)
    blocks.requires_grad_(False)
    opt = torch.optim.AdamW(head.parameters(), lr=1e-3)
    frozen = list(blocks)
    for step in range(1, 121):
        if step % 3 == 1 and frozen:
            block = frozen.pop()
            block.requires_grad_(True)
            opt.add_param_group({"params": list(block.parameters()), "lr": 1e-4})
        x, y = torch.randn(96, 128), torch.randint(4, (96,))
        for block in blocks:
            x = x + block(x)
        loss = nn.functional.cross_entropy(head(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(opt.param_groups), loss.item())


if __name__ == "__main__":
    main()
