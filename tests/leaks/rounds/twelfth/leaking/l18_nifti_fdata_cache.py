"""Numpy array cached inside an image object that the user keeps for its header, with nibabel."""
# after: "nibabel get_fdata() caches the array: RAM fills while iterating over a dataset" (nibabel docs 'images and memory', many forum threads)
# fix: img.uncache() after use, or get_fdata(caching="unchanged") (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "cases"  # `cases` (list of Nifti1Image; `_fdata_cache`)
# lines = []
# bytes = [196608, 201318]  # 32 x 32 x 24 x 8 = 192 KiB of numpy arrays; 196.6 KiB allocated bytes. rss grows by 0.8 to 2 MiB a step, since these blocks land in the holes of larger ones (fragmentation that the fix ends as well)
# ///
import os
import tempfile

import nibabel as nib
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Conv3d(1, 2, 3, padding=1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
cases = []
rng = np.random.default_rng(0)
with tempfile.TemporaryDirectory() as folder:
    for step in range(1, 71):
        path = os.path.join(folder, f"case{step % 10}.nii")
        nib.save(nib.Nifti1Image(rng.integers(0, 100, (32, 32, 24)).astype(np.int16), np.eye(4)), path)  # arrives from the scanner
        img = nib.load(path, mmap=False)
        volume = torch.from_numpy(np.ascontiguousarray(img.get_fdata(), dtype=np.float32))[None, None]
        if os.environ.get("FIX"):
            img.uncache()
        loss = nn.functional.cross_entropy(net(volume / 100), (volume[:, 0] > 50).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        cases.append(img)  # affine and header go into the report at the end
print(len(cases), cases[0].header.get_zooms())
