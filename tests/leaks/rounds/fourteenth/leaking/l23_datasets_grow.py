"""Outside tensors, native: Arrow buffers (pyarrow's pool) in datasets.Dataset."""
# after: datasets.concatenate_datasets in the loop: the table in memory grows
# fix: collected = new (write the old to disk) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = ["collected (", "collected._data (", "collected._data.table", "collected._data.blocks", "collected._data._batches"]  # collected (collected._data: blocks); not its types and schemas
# lines = []
# bytes = [49536, 54680]  # 49,152 of embeddings (48x256x4) + 384 steps; malloc 54,100 (upper end); correction: malloc in use 53,961 and 54,680; collected = new frees 51,378 a step
# ///
import os
import datasets
import torch
from torch import nn

datasets.disable_progress_bars()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def as_dataset(step, out):
    return datasets.Dataset.from_dict({"step": [step] * len(out), "embedding": out.detach().numpy()})


collected = None
for step in range(1, 81):
    x = torch.randn(48, 256)
    out = model(x)
    loss = (out - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    new = as_dataset(step, out)
    if collected is None or os.environ.get("FIX"):
        collected = new
    else:
        collected = datasets.concatenate_datasets([collected, new])
print(collected.num_rows, "rows")
