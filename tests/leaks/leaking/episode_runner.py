"""Actions go into the replay buffer with the graph of the agent's hidden state; the buffer holds thousands of episodes."""
# oxwhirl/pymarl#73: Fix memory leak
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "container"]
# holder = "buffer"
# lines = ["hidden = self.rnn("]
# bytes = [20000, 120000]  # per episode: 5 steps of a GRU cell with 16 x 32 floats and its gates, the probabilities
# ///
import sys

import torch
from torch import nn


class RnnAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRUCell(16, 32), nn.Linear(32, 6)

    def forward(self, observation, hidden):
        hidden = self.rnn(observation, hidden)
        return self.head(hidden).softmax(1), hidden


class EpisodeRunner:
    def __init__(self):
        self.agent = RnnAgent()

    def run(self, length=5):
        hidden, episode = torch.zeros(16, 32), []
        for _ in range(length):
            observation = torch.randn(16, 16)
            actions, hidden = self.agent(observation, hidden)
            episode.append({"obs": observation, "actions": actions, "reward": torch.randn(16)})
        return episode


runner = EpisodeRunner()
buffer = []
for line in sys.stdin:
    buffer.append(runner.run())
    print(len(buffer), flush=True)
