"""`frames` (12000 x 1024 float32, 47 MiB) is allocated at the start, afterwards its pages are touched for the first time: 128 x 4096 bytes = 512 KiB of resident memory a step. It is still filling at step 60 (full at step 94); the allocated memory does not grow, and Tianshou's arrays (rows of numbers) are allocated whole by the first `add`."""
# about: Off-policy training: transitions in a replay buffer of Tianshou, the frames beside in one numpy array that is touched little by little.
# report: "replay buffer memory keeps growing" - resident memory does, until the buffer was round once
# kind: replay buffer; lazily touched pages of a numpy array (np.zeros)
# library: tianshou
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import torch
from tianshou.data import Batch, ReplayBuffer
from torch import nn


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    size = 12000
    buffer = ReplayBuffer(size)
    frames = np.zeros((size, 1024), np.float32)
    n = 0
    q = nn.Sequential(nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    for step in range(1, 121):
        for _ in range(128):
            frames[n % size] = rng.standard_normal(1024, dtype=np.float32)
            row = Batch(obs=n % size, act=rng.integers(4), rew=float(frames[n % size, 0]), terminated=False, truncated=False, obs_next=(n + 1) % size, info={})
            buffer.add(row)
            n += 1
        batch, _ = buffer.sample(64)
        x = torch.from_numpy(frames[batch.obs])
        target = torch.as_tensor(batch.rew, dtype=torch.float32) + 0.9 * q(torch.from_numpy(frames[batch.obs_next])).max(-1).values.detach()
        value = q(x).gather(1, torch.as_tensor(batch.act).long()[:, None])[:, 0]
        loss = nn.functional.mse_loss(value, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(buffer), loss.item())


if __name__ == "__main__":
    main()
