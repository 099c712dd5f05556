"""Forward hooks of a library's object append in every forward pass, emptied only when the object is called, with grad-cam."""
# after: "GradCAM object kept beside the model: memory grows while training" (issues of explanation libraries: hooks stay active)
# fix: cam.activations_and_grads.clear() after each step, or build the GradCAM only when a map is wanted (with GradCAM(...) as cam)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["cam.activations_and_grads.activations", "cam.activations_and_grads.gradients"]  # cam.activations_and_grads.activations and cam.activations_and_grads.gradients (both)
# lines = ["x = self.block(x)"]
# bytes = 294912  # 2 * 16*16*12*12*4 = 288 KiB of tensors a step (activation and its gradient); measured KiB a step (20 to 40, 40 to 60): storages of tensors 288.0, 288.0; all malloc'd 290.2, 289.6 (with FIX: 0.0, 0.0; 0.5, 0.2)
# ///
import os
import torch
from torch import nn
from pytorch_grad_cam import GradCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.block = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.stem(x)
        x = self.block(x)
        return self.fc(torch.relu(x).mean((2, 3)))


model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
cam = GradCAM(model=model, target_layers=[model.block])
for step in range(1, 91):
    x = torch.randn(16, 3, 24, 24)
    y = torch.randint(0, 5, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX"):
        cam.activations_and_grads.clear()
    if step % 30 == 0:
        print(step, round(loss.item(), 3), flush=True)
heat = cam(input_tensor=torch.randn(1, 3, 24, 24), targets=[ClassifierOutputTarget(0)])
print("heat map", heat.shape)
