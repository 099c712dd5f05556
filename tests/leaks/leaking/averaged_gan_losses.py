"""The averages of discriminator and generator losses are tensors that are divided and added, never .item()."""
# pytorch/pytorch#144181: Memory leak trying to average disc/gen losses during HiFiGAN training
# /// leak
# dumps = "steps"
# kinds = ["graph-nodes", "accumulated-graph"]
# holder = "avg_losses"
# lines = ["avg_losses[name] += ", "return torch.tanh("]
# bytes = [0, 40000]
# ///
import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 128)

    def forward(self, mel):
        return torch.tanh(self.up(mel))


def train():
    generator = Generator()
    discriminator = nn.Sequential(nn.Linear(128, 64), nn.LeakyReLU(0.1), nn.Linear(64, 1))
    optimizer_d = torch.optim.AdamW(discriminator.parameters())
    optimizer_g = torch.optim.AdamW(generator.parameters())
    avg_losses = {"disc": 0.0, "gen": 0.0}
    for epoch in range(30):
        fake = generator(torch.randn(32, 16))
        loss_disc = discriminator(fake.detach()).square().mean() + (1 - discriminator(torch.randn(32, 128))).square().mean()
        optimizer_d.zero_grad()
        loss_disc.backward()
        optimizer_d.step()
        loss_gen = (1 - discriminator(fake)).square().mean()
        optimizer_g.zero_grad()
        loss_gen.backward()
        optimizer_g.step()
        for name, value in (("disc", loss_disc), ("gen", loss_gen)):
            avg_losses[name] += value / 30
    return avg_losses


print(train())
