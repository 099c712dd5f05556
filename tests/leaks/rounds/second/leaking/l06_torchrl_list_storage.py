"""A replay buffer without an end."""
# after: pytorch/rl: ListStorage without max_size
# fix: ListStorage(max_size=...) or LazyTensorStorage(size)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "buffer._storage._storage"
# lines = ["after = torch.rand(4, 64, 64)", "return torch.rand(4, 64, 64)"]
# bytes = 131084  # 4 x 64 x 64 floats of an observation, and of the next one; action 8, reward 4
# ///
import torch
from tensordict import TensorDict
from torch import nn
from torchrl.data import ListStorage, ReplayBuffer

torch.manual_seed(0)
buffer = ReplayBuffer(storage=ListStorage(max_size=None), batch_size=4, collate_fn=torch.stack)
policy = nn.Sequential(nn.Conv2d(4, 8, 8, 8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 4))
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)


def play(observation):
    action = policy(observation[None]).argmax(-1)[0].detach()
    after = torch.rand(4, 64, 64)
    buffer.add(
        TensorDict(
            {
                "observation": observation,
                "next_observation": after,
                "action": action,
                "reward": torch.rand(()),
            },
            batch_size=[],
        )
    )
    return torch.rand(4, 64, 64)


observation = torch.rand(4, 64, 64)
for step in range(66):
    observation = play(observation)
    batch = buffer.sample()
    q = policy(batch["observation"]).gather(1, batch["action"][:, None])[:, 0]
    loss = (q - batch["reward"]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "kept", len(buffer))
