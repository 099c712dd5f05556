"""Values of a batch of samples are computed with their graph, by which advantages and value targets keep the network's activations."""
# ray-project/ray#6962: [RLlib] PPO torch over 5X slower than tensorflow on atari and uses up all RAM
# ray-project/ray#7238: [RLlib] PPO torch memory leak and unnecessary torch.Tensor creation and gc'ing.
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "container"]
# holder = "samples"
# lines = ["hidden = ", "observations = ", "advantages = "]
# bytes = [49152, 52000]  # observations 64 x 64, hidden 64 x 128 floats, values, rewards and advantages of 64
# ///
import sys

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(64, 128)
        self.value_branch = nn.Linear(128, 1)

    def value(self, observations):
        hidden = torch.tanh(self.shared(observations))
        return self.value_branch(hidden).squeeze(1)


class Worker:
    def __init__(self):
        self.policy, self.samples = Policy(), []

    def sample(self):
        observations = torch.randn(64, 64)
        rewards = torch.rand(64)
        advantages = rewards - self.policy.value(observations)
        self.samples.append({"advantages": advantages, "rewards": rewards})
        return advantages.mean().item()


worker = Worker()
for line in sys.stdin:
    print(worker.sample(), flush=True)
