"""L-BFGS keeps ten pairs of vectors, and the oldest goes when one more comes."""
# /// healthy
# dumps = "steps"
# ///
import torch

points, wanted = torch.randn(256, 64), torch.randn(256, 64)
weight = torch.randn(64, 64, requires_grad=True)
optimizer = torch.optim.LBFGS([weight], lr=0.05, max_iter=1, history_size=10, tolerance_grad=0, tolerance_change=0)
losses = []


def closure():
    optimizer.zero_grad()
    loss = ((points @ weight).tanh() - wanted).square().mean()
    loss.backward()
    return loss


for step in range(60):
    losses.append(optimizer.step(closure).item())
