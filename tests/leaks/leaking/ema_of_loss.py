"""A moving average of the loss is computed with tensors: its graph goes back to the first step."""
# alexhernandezgarcia/gflownet#133: Compute EMAs outside of pytorch
# /// leak
# dumps = "steps"
# kinds = ["state-not-detached", "graph-nodes", "accumulated-graph"]
# holder = "agent.loss_ema"
# lines = ["self.loss_ema = "]
# bytes = [0, 64]
# ///
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(), nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 8))
        self.optimizer = torch.optim.Adam(self.policy.parameters())
        self.loss_ema = -1.0

    def step(self):
        logits = self.policy(torch.randn(32, 16))
        loss = logits.logsumexp(1).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.loss_ema = 0.9 * self.loss_ema + 0.1 * loss
        self.optimizer.step()


agent = Agent()
for step in range(60):
    agent.step()
