"""History of a library, outside tensors (numpy arrays), with torchio."""
# after: TorchIO issue "memory grows when the same subject is transformed again and again": the history of applied transforms
# fix: volume.clear_history()
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "volume.applied_transforms"  # volume.applied_transforms (list of (name, parameters); parameters['control_points'] is a numpy array)
# lines = []
# bytes = 21343  # 20,736 (12^3 x 3 float32 in numpy; malloc in use 20,863 to 21,683); correction: 21,343 with the Python objects around the arrays
# ///
import os
import warnings

warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
import torchio as tio

torch.manual_seed(0)
volume = tio.Subject(scan=tio.ScalarImage(tensor=torch.rand(1, 20, 20, 20)))
deform = tio.RandomElasticDeformation(num_control_points=12, max_displacement=0.2, locked_borders=0)
net = nn.Sequential(nn.Conv3d(1, 4, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool3d(2), nn.Flatten(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
reference = volume.scan.data.clone()


def patient_motion(subject):
    """The scan drifts: each state is the one before, a little deformed."""
    moved = deform(subject)
    if os.environ.get("FIX"):
        moved.clear_history()
    return moved


for step in range(66):
    volume = patient_motion(volume)
    x = volume.scan.data.unsqueeze(0).float()
    loss = (net(x) - (x.mean() - reference.mean()) * 10).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), len(volume.applied_transforms), flush=True)
