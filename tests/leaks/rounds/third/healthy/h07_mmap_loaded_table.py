"""torch.load(mmap=True): pages of a 24 MB embedding file are read in as rows are looked up; they can be dropped at any time."""
# /// healthy
# dumps = "asks"
# ///
import os, tempfile
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

fd, path = tempfile.mkstemp(suffix=".pt")
os.close(fd)
torch.save({"table": torch.randn(48000, 128)}, path)
table = torch.load(path, mmap=True)["table"]
os.unlink(path)
head = torch.nn.Linear(128, 2).requires_grad_(False)
total = 0.0
for step in range(1, 67):
    rows = torch.arange((step - 1) * 700, step * 700)
    total += head(table[rows]).mean().item()
    at(step)
print(round(total, 4))
