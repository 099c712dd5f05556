"""Checkpoints are written to memory:// in each step, under a new name each."""
# after: fsspec/filesystem_spec: MemoryFileSystem never frees its files
# fix: fs.rm of old checkpoints (keep the last k), or a real file system
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "MemoryFileSystem.store"
# lines = ["torch.save(state, f)"]
# bytes = [75000, 77000]  # 2 x (128 x 128 + 128) halves (66,048), 2 KB of zip; a BytesIO allocates up to an eighth more: measured
# ///
import fsspec
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

fs = fsspec.filesystem("memory")


def checkpoint(model, step):
    state = {k: v.half() for k, v in model.state_dict().items()}
    with fs.open(f"/run/step{step:05d}.pt", "wb") as f:
        torch.save(state, f)


model = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128))
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(66):
    x = torch.randn(16, 128)
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    checkpoint(model, step)
print(len(fs.ls("/run")), "checkpoints")
