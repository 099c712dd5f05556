"""Small result that keeps a large numpy array of its library, with scikit-image."""
# after: "regionprops: keeping one RegionProperties keeps the whole label image" (scikit-image issues about memory of regionprops)
# fix: keep area and bbox only (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache", "process-memory"]
# holder = "largest"  # `largest` (list of RegionProperties; each `_label_image`, and `_intensity_image`)
# lines = ["prob = logits.detach().sigmoid()[0, 0]"]
# bytes = [131072, 136192]  # 128 x 128 x 4 = 64 KiB of label image (int32, outside of tensors) + 64 KiB of `prob` (tensor storage, kept by its numpy view); 133 KiB allocated bytes measured; correction: malloc in use +131 KiB
# ///
import os

import torch
import torch.nn as nn
from skimage.measure import label, regionprops

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 1, 5, padding=2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
largest = []

for step in range(1, 71):
    image = torch.nn.functional.avg_pool2d(torch.randn(1, 1, 128, 128), 7, 1, 3)
    mask = (image > 0.1).float()
    logits = net(image)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    prob = logits.detach().sigmoid()[0, 0]
    labels = label(mask[0, 0].numpy() > 0.5)
    region = max(regionprops(labels, intensity_image=prob.numpy()), key=lambda r: r.area)
    largest.append((region.area, region.bbox) if os.environ.get("FIX") else region)
print(len(largest))
