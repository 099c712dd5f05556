"""Larger batch replaces the smaller one, with tianshou (Batch)."""
# after: issue "collector keeps all transitions: memory grows" (statistics concatenated for a final plot)
# fix: keep the last 10 batches only (FIX)
# /// leak
# dumps = "steps"
# kinds = ["larger-tensor", "container", "module-cache"]
# holders = ["history.obs", "history.act"]  # `history` (Batch: history.obs, history.act)
# lines = ["history = Batch.cat([history, batch])"]
# bytes = 16640  # obs 32 x 128 x 4 = 16384, act 32 x 8 (int64) = 256: 16640 a step; measured 16640 16640 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch
from tianshou.data import Batch

torch.manual_seed(0)
policy = torch.nn.Linear(128, 6)
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
history = Batch()


def rollout(n=32):
    obs = torch.randn(n, 128)
    with torch.no_grad():
        act = torch.distributions.Categorical(logits=policy(obs)).sample()
    return Batch(obs=obs, act=act)


for step in range(70):
    batch = rollout()
    if len(history.get_keys()):
        history = Batch.cat([history, batch])  # LEAK
        if os.environ.get("FIX"):
            history = history[-320:]
            history = Batch(obs=history.obs.clone(), act=history.act.clone())
    else:
        history = batch
    loss = torch.nn.functional.cross_entropy(policy(batch.obs), batch.act)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(history), history.act.float().mean())
