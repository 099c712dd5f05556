"""diskcache: features are written to files (page cache of the kernel grows, not the process); an index of keys in memory."""
# /// healthy
# dumps = "asks"
# ///
import shutil, tempfile
import diskcache
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

folder = tempfile.mkdtemp(prefix="features-")
cache = diskcache.Cache(folder, disk_min_file_size=1024)
encoder = torch.nn.Linear(32, 256).requires_grad_(False)
keys = []
total = 0.0
for step in range(1, 67):
    feats = encoder(torch.randn(96, 32))
    cache[f"clip{step}"] = feats.numpy()
    keys.append(f"clip{step}")
    total += float(cache[keys[len(keys) // 2]].mean())
    at(step)
print(len(cache), round(total, 4))
cache.close()
shutil.rmtree(folder)
