"""Thumbnails are views that keep the whole batch's storage."""
# after: pytorch's forum: I only keep a tiny crop; kornia's augmentation
# fix: gallery.append(out[0, :, 8:24, 8:24].clone())
# /// leak
# dumps = "steps"
# kinds = ["small-view", "container", "module-cache"]
# holder = "gallery"
# lines = ["return kornia.filters.gaussian_blur2d("]
# bytes = 98304  # 8 x 3 x 32 x 32 floats, of which the view shows 3,072 bytes
# ///
import torch
import kornia

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(4))
model(torch.zeros(1, 3, 32, 32))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
gallery = []


def augment(images):
    return kornia.filters.gaussian_blur2d(images, (3, 3), (1.0, 1.0))


for step in range(66):
    images = torch.rand(8, 3, 32, 32)
    out = augment(images)
    gallery.append(out[0, :, 8:24, 8:24])
    loss = torch.nn.functional.cross_entropy(model(out), torch.randint(0, 4, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("gallery", sum(g.numel() * 4 for g in gallery) // 1024, "KiB")
