"""A callback stores each step's infos in the episode for histograms, and a worker keeps its episodes for later metrics."""
# ray-project/ray#21041: [Bug] Memory usage growing unboundedly using episode step callback.
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "episodes"
# lines = ["return {\"contacts\": torch.rand("]
# bytes = 24576  # 3 steps of 32 x 64 floats
# ///
import torch
from torch import nn


class Episode:
    def __init__(self):
        self.hist_data = {}
        self.length = 0


class Env:
    def info(self):
        return {"contacts": torch.rand(32, 64)}


class RolloutWorker:
    def __init__(self, policy):
        self.env, self.policy, self.episodes = Env(), policy, []

    def on_episode_step(self, episode, info):
        for key, value in info.items():
            episode.hist_data.setdefault(key, []).append(value)

    def sample(self):
        episode = Episode()
        self.episodes.append(episode)
        observations = []
        for _ in range(3):
            observations.append(torch.randn(16))
            episode.length += 1
            self.on_episode_step(episode, self.env.info())
        return torch.stack(observations)


policy = nn.Linear(16, 4)
optimizer = torch.optim.Adam(policy.parameters())
worker = RolloutWorker(policy)
for iteration in range(60):
    loss = policy(worker.sample()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
