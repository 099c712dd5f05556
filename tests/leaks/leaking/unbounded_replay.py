"""A replay buffer without maxlen: a million transitions were meant, and nobody computed their size."""
# BY571/IQN-and-Extensions#3: BUG
# ray-project/ray#6857: [rllib] Memory leak in MADDPG
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "memory"
# lines = ["state, next_state = "]
# bytes = 56448  # two states of 84 x 84 floats
# ///
import collections
import random

import torch
from torch import nn

Experience = collections.namedtuple("Experience", "state action reward next_state")


class ReplayBuffer:
    def __init__(self):
        self.memory = collections.deque()

    def add(self, *experience):
        self.memory.append(Experience(*experience))

    def sample(self):
        return random.choice(self.memory)


buffer = ReplayBuffer()
model = nn.Linear(84 * 84, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for step in range(60):
    state, next_state = torch.rand(1, 84, 84), torch.rand(1, 84, 84)
    buffer.add(state, step % 4, 1.0, next_state)
    experience = buffer.sample()
    loss = model(experience.state.flatten(1))[0, experience.action].square()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
