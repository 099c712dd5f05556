"""torchrl ReplayBuffer with a LazyTensorStorage of 512 transitions: full after step 16, overwritten by a writer that goes round."""
# /// healthy
# dumps = "steps"
# ///
import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

torch.manual_seed(0)
torch.set_num_threads(1)

buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(512), batch_size=32)
q = torch.nn.Sequential(torch.nn.Linear(256, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(66):
    obs = torch.randn(32, 256)
    buffer.extend(TensorDict({"obs": obs, "reward": obs[:, 0].sign(), "action": torch.randint(0, 2, (32, 1))}, [32]))
    batch = buffer.sample()
    error = q(batch["obs"]).gather(1, batch["action"]).squeeze(1) - batch["reward"]
    loss = error.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(buffer), round(loss.item(), 3))
