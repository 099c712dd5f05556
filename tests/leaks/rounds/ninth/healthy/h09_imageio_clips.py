"""At most 8 frames of 64*64*3 and the clip's bytes are there; the writer is closed with each clip and only the newest clip is kept. Saw tooth of a few hundred KiB."""
# report: "gif of the rollouts with imageio: RSS rises while a clip is written"
# kind: frames of a clip are collected, written and freed every 8 steps
# library: imageio
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 3.5, -1.5
# /// healthy
# dumps = "steps"
# ///
import io
import imageio.v2 as imageio
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64 * 64 * 3), nn.Sigmoid())
opt = torch.optim.Adam(generator.parameters(), lr=2e-3)
target = torch.rand(64 * 64 * 3)
frames, newest = [], b""
for step in range(1, 97):
    image = generator(torch.randn(4, 16))
    loss = (image - target).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    frames.append((image[0].detach().view(64, 64, 3).numpy() * 255).astype(np.uint8))
    if len(frames) == 8:
        out = io.BytesIO()
        with imageio.get_writer(out, format="gif", mode="I") as writer:
            for frame in frames:
                writer.append_data(frame)
        newest = out.getvalue()
        frames.clear()
    if step % 32 == 0:
        print(step, round(loss.item(), 4), len(newest), flush=True)
