"""A generator and a discriminator, each with its optimizer."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 128))
discriminator = nn.Sequential(nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
optimizers = [torch.optim.Adam(net.parameters()) for net in (generator, discriminator)]
for step in range(30):
    fake = generator(torch.randn(32, 16))
    loss = discriminator(fake.detach()).mean() - discriminator(torch.randn(32, 128)).mean()
    optimizers[1].zero_grad()
    loss.backward()
    optimizers[1].step()
    loss = -discriminator(fake).mean()
    optimizers[0].zero_grad()
    loss.backward()
    optimizers[0].step()
