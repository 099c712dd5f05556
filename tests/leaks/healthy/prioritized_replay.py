"""Prioritized replay: transitions in a ring of 32, their priorities in a tree of sums, losses give new priorities."""
# /// healthy
# dumps = "steps"
# ///
import collections

import torch
from torch import nn

Transition = collections.namedtuple("Transition", "state action reward next_state")


class PrioritizedReplay:
    def __init__(self, capacity):
        self.capacity, self.position = capacity, 0
        self.transitions = [None] * capacity
        self.tree = torch.zeros(2 * capacity)

    def add(self, transition):
        self.transitions[self.position] = transition
        self.set_priority(self.position, torch.tensor(1.0))
        self.position = (self.position + 1) % self.capacity

    def set_priority(self, index, priority):
        node = index + self.capacity
        self.tree[node] = priority
        while node > 1:
            node //= 2
            self.tree[node] = self.tree[2 * node] + self.tree[2 * node + 1]

    def sample(self, count):
        indices = torch.multinomial(self.tree[self.capacity:], count, replacement=True).tolist()
        return indices, [self.transitions[index] for index in indices]


replay = PrioritizedReplay(32)
network, target_network = nn.Linear(1024, 4), nn.Linear(1024, 4)
optimizer = torch.optim.Adam(network.parameters())
state = torch.randn(1024)
for _ in range(16):
    replay.add(Transition(state, 0, 0.0, torch.randn(1024)))
for step in range(60):
    for _ in range(2):
        next_state = torch.randn(1024)
        replay.add(Transition(state, network(state).argmax().item(), torch.rand(1).item(), next_state))
        state = next_state
    indices, batch = replay.sample(8)
    values = network(torch.stack([one.state for one in batch])).max(1).values
    with torch.no_grad():
        wanted = target_network(torch.stack([one.next_state for one in batch])).max(1).values
    errors = (values - wanted - torch.tensor([one.reward for one in batch])).abs()
    optimizer.zero_grad()
    errors.square().mean().backward()
    optimizer.step()
    for index, error in zip(indices, errors.detach()):
        replay.set_priority(index, error)
    if step % 20 == 19:
        target_network.load_state_dict(network.state_dict())
