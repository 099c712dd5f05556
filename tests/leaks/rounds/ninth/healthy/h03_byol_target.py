"""The target encoder is made once by deepcopy, hidden outputs of its hook are replaced (and popped) in each forward pass; everything is there after the first step."""
# report: "BYOL doubles the parameters after the first step"
# kind: EMA of the network and lazily made projector
# library: byol-pytorch
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.6, 0.3
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from byol_pytorch import BYOL

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, stride=2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flat = nn.Flatten()
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(self.flat(self.pool(torch.relu(self.conv(x)))))


learner = BYOL(Encoder(), image_size=32, hidden_layer="flat", projection_size=32, projection_hidden_size=128,
               augment_fn=nn.Identity(), augment_fn2=nn.Dropout(0.1))
opt = torch.optim.Adam(learner.parameters(), lr=3e-4)
for step in range(1, 81):
    loss = learner(torch.rand(16, 3, 32, 32))
    opt.zero_grad()
    loss.backward()
    opt.step()
    learner.update_moving_average()
    if step % 20 == 0:
        print(step, round(loss.item(), 4), flush=True)
