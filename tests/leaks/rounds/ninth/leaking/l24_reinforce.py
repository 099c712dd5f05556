"""Autograd graphs in a list attribute of a module, with nn.Module, torch.distributions."""
# after: "REINFORCE example: I clear policy.rewards but memory grows with each episode" (forum, saved_log_probs)
# fix: policy.saved_log_probs.clear() after opt.step()
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "policy.saved_log_probs"  # policy.saved_log_probs (list)
# lines = ["return self.affine2(torch.tanh(self.dropout(self.affine1(x))", "obs = torch.randn(512)"]
# bytes = 50074  # an episode of 12 moves; each saves observation 512*4 = 2 KiB, hidden 256*4 (twice with dropout) and small ones: about 50 KiB a step of saved tensors (the graph's nodes and tensor objects in C++ are some 260 KiB more: about 30 nodes a move); measured KiB a step (20 to 40, 40 to 60): storages of tensors 48.9, 48.9; all malloc'd 318.3, 305.7 (with FIX: 0.0, 0.0; 0.9, 0.3); correction: storages; 199 KiB of graph nodes go with them, 248 in all
# ///
import os
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(512, 256)
        self.dropout = nn.Dropout(0.2)
        self.affine2 = nn.Linear(256, 4)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return self.affine2(torch.tanh(self.dropout(self.affine1(x)))).softmax(-1)


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)


def select_action(obs):
    probs = Categorical(policy(obs[None]))
    action = probs.sample()
    policy.saved_log_probs.append(probs.log_prob(action))
    return action.item()


for episode in range(1, 111):
    for _ in range(12):
        obs = torch.randn(512)
        action = select_action(obs)
        policy.rewards.append(1.0 if action == int(obs[:4].argmax()) else 0.0)
    returns = torch.tensor(policy.rewards).flip(0).cumsum(0).flip(0)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    recent = policy.saved_log_probs[-len(policy.rewards):]
    loss = torch.cat([-lp * r for lp, r in zip(recent, returns)]).sum()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    if episode % 25 == 0:
        print(episode, sum(policy.rewards), flush=True)
    policy.rewards.clear()
    if os.environ.get("FIX"):
        policy.saved_log_probs.clear()
