"""history_size=8 with two iterations a step: full before step 20 (2 x 8 vectors of 5200 floats)."""
# about: LBFGS keeps pairs of differences of the gradient, up to its history size.
# report: "LBFGS memory keeps increasing" (until history_size)
# kind: optimizer's lists in its state that fill
# library: torch.optim
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(50, 100), nn.Tanh(), nn.Linear(100, 1, bias=False), nn.Flatten(0))
    teacher = nn.Sequential(nn.Linear(50, 30), nn.Tanh(), nn.Linear(30, 1), nn.Flatten(0))
    opt = torch.optim.LBFGS(model.parameters(), lr=0.05, max_iter=2, history_size=8)
    x = torch.randn(2000, 50)
    with torch.no_grad():
        y = teacher(x)
    for step in range(1, 101):
        rows = torch.randint(2000, (500,))

        def closure():
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows]) + 1e-4 * sum(p.square().sum() for p in model.parameters())
            loss.backward()
            return loss

        loss = opt.step(closure)
    state = opt.state[next(iter(opt.state))]
    print(len(state["old_dirs"]), loss.item())


if __name__ == "__main__":
    main()
