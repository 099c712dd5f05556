"""Recurrent states by agent and episode, of four environments at once; an episode takes its states with it when it ends."""
# /// healthy
# dumps = "requests"
# ///
import random
import sys

import torch
from torch import nn

random.seed(3)
AGENTS = ("predator", "prey", "referee")
cell, head = nn.GRUCell(16, 256), nn.Linear(256, 4)
agent_states, episodes, started = {}, {}, 0
for line in sys.stdin:
    actions = 0
    for env in range(4):
        if env not in episodes:
            started += 1
            episodes[env] = [started, random.randint(2, 9)]
        number, left = episodes[env]
        with torch.no_grad():
            for agent in AGENTS:
                state = cell(torch.randn(8, 16), agent_states.get((agent, number)))
                agent_states[agent, number] = state
                actions += head(state).argmax().item()
        episodes[env][1] -= 1
        if left == 1:
            del episodes[env]
            for agent in AGENTS:
                del agent_states[agent, number]
    print(actions, flush=True)
