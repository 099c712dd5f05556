"""Images are temporary; sizes 16, 24, 32, 40 change every 2 steps in a cycle of 8 steps."""
# report: "memory grows with progressive resizing": four sizes in turn, largest already in step 8
# looks like: memory of a step depends on the size of the images
# library: albumentations, opencv
# /// healthy
# dumps = "steps"
# ///
import albumentations as A
import cv2
import numpy as np
import torch

torch.manual_seed(0)
cv2.setNumThreads(1)
rng = np.random.default_rng(0)
pipelines = {s: A.Compose([A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=0.5), A.Resize(s, s)]) for s in (16, 24, 32, 40)}
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
for step in range(72):
    size = (16, 24, 32, 40)[step // 2 % 4]
    images = [pipelines[size](image=rng.integers(0, 255, (48, 48, 3), dtype=np.uint8))["image"] for _ in range(8)]
    x = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 255
    loss = torch.nn.functional.cross_entropy(net(x), torch.randint(0, 2, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
