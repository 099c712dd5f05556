"""Four to nine micro batches a step, cleared in `flush`; an optimizer step ends each window; the running mean is a float."""
# about: Accumulation: losses, features and gradients of micro batches are gathered for a contrastive loss and cleared after it.
# report: "gradient accumulation: memory grows within the window" (GradCache)
# kind: accumulation in lists of an object, cleared; sizes of batches vary
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class Window:
    def __init__(self, model):
        self.model = model
        self.inputs, self.features = [], []
        self.mean = 0.0

    def add(self, x):
        with torch.no_grad():
            self.features.append(self.model(x))
        self.inputs.append(x)

    def flush(self):
        reps = torch.cat(self.features).requires_grad_()
        sim = nn.functional.normalize(reps, dim=-1) @ nn.functional.normalize(reps, dim=-1).T
        loss = nn.functional.cross_entropy(sim / 0.1, torch.arange(len(sim)))
        loss.backward()
        grads = reps.grad.split([len(f) for f in self.features])
        for x, g in zip(self.inputs, grads):
            self.model(x).backward(g)
        self.inputs.clear()
        self.features.clear()
        self.mean = 0.9 * self.mean + 0.1 * loss.item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 32))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    window = Window(model)
    for step in range(1, 101):
        for _ in range(4 + step % 6):
            window.add(torch.randn(24 + step % 5, 50))
        opt.zero_grad()
        window.flush()
        opt.step()
    print(window.mean)


if __name__ == "__main__":
    main()
