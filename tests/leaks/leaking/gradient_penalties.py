"""The penalties of a critic are kept for a plot without .item(): each keeps its interpolated batch and that batch's gradient."""
# pytorch/pytorch#64586: Memory Leak in torch.autograd.grad
# caogang/wgan-gp#21: Memory Leak
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph"]
# holder = "penalties"
# lines = ["mixed = (", "loss.backward()"]
# bytes = 32772  # the batch of 64 x 64 floats, its gradient, the penalty
# ///
import torch
from torch import nn


def gradient_penalty(critic, real, fake):
    mixed = ((real + fake) / 2).requires_grad_()
    score = critic(mixed)
    (slopes,) = torch.autograd.grad(score.sum(), mixed, create_graph=True)
    return ((slopes.norm(2, dim=1) - 1) ** 2).mean()


def main():
    critic = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    penalties = []
    for step in range(60):
        real, fake = torch.randn(64, 64), torch.rand(64, 64)
        penalty = gradient_penalty(critic, real, fake)
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        penalties.append(penalty)
        optimizer.step()
    print(len(penalties))


main()
