"""A policy keeps recurrent states by agent and episode; the numbers of episodes never come again, and nothing is removed."""
# ray-project/ray#15815: [RLlib] Fixing Memory Leak In Multi-Agent environments. Adding tooling for finding memory leaks in workers.
# ray-project/ray#9964: [rllib] Memory leak in environment worker in multi-agent setup
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "agent_states"
# lines = ["state = self.cell("]
# bytes = 24576  # states of 3 agents, 8 x 256 floats each
# ///
import sys

import torch
from torch import nn

AGENTS = ("predator", "prey", "referee")


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(16, 256)
        self.head = nn.Linear(256, 4)
        self.agent_states = {}

    def compute_action(self, agent, episode, observation):
        state = self.agent_states.get((agent, episode))
        state = self.cell(observation, state)
        self.agent_states[agent, episode] = state
        return self.head(state).argmax(dim=1).tolist()


policy = Policy()
for episode, line in enumerate(sys.stdin):
    with torch.no_grad():
        for time in range(5):
            actions = [policy.compute_action(agent, episode, torch.randn(8, 16)) for agent in AGENTS]
    print(sum(actions[0]), flush=True)
