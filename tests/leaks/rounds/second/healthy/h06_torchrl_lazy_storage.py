"""pytorch/rl: ReplayBuffer with LazyTensorStorage(2000): one allocation of 2000*84*84*... at the first write, its pages are touched step by step."""
# bytes a step: 0 allocated after step 1 (2000 * (84*84*4 + 4 + 8) B = 56.5 MB at once); resident memory grows by 16 * 28,236 B = 451,776 B a step
# /// healthy
# dumps = "steps"
# ///
import torch
from tensordict import TensorDict
from torch import nn
from torchrl.data import LazyTensorStorage, ReplayBuffer

torch.manual_seed(0)
buffer = ReplayBuffer(storage=LazyTensorStorage(2000), batch_size=16)
net = nn.Sequential(nn.Conv2d(1, 4, 8, 8), nn.ReLU(), nn.Flatten(), nn.Linear(400, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def collect(n=16):
    frames = torch.rand(n, 84, 84)
    with torch.no_grad():
        action = net(frames[:, None]).argmax(-1)
    return TensorDict({"frame": frames, "reward": torch.rand(n), "action": action}, batch_size=[n])


for step in range(66):
    buffer.extend(collect())
    batch = buffer.sample()
    q = net(batch["frame"][:, None]).gather(1, batch["action"][:, None])[:, 0]
    loss = (q - batch["reward"]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "stored", len(buffer))
