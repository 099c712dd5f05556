"""Scene graph of a geometry library (numpy, outside tensors), with trimesh."""
# after: "trimesh scene gets heavy": the prediction of every step is added to the same debug scene
# fix: scene.delete_geometry of the step before
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "scene.geometry"  # scene.geometry (OrderedDict name -> PointCloud) and scene.graph.transforms
# lines = []
# bytes = 30514  # 28672 (malloc in use 29400) (vertices 1024x3 float64 = 24576 B, colors 1024x4 uint8 = 4096 B; RSS grows by 0.1 to 0.3 MiB a step: these small blocks keep the heap fragmented); correction: 30,514 go for each entry when it is cleared; 28,672 are two of its arrays
# ///
import os

import numpy as np
import torch
import torch.nn as nn
import trimesh

torch.manual_seed(0)
sphere = trimesh.creation.icosphere(subdivisions=4)
target = torch.tensor(sphere.vertices[:1024], dtype=torch.float32)


class Folding(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, grid, code):
        return self.mlp(torch.cat([grid, code.expand(len(grid), -1)], 1))


net, code = Folding(), nn.Parameter(torch.randn(1, 16))
optimizer = torch.optim.Adam([*net.parameters(), code], lr=2e-3)
grid = torch.rand(1024, 2)
scene = trimesh.Scene()
name = None
for step in range(1, 71):
    out = net(grid, code)
    pick = torch.randint(1024, (96,))
    loss = (out.norm(dim=1) - 1).pow(2).mean() + torch.cdist(target[pick], out[pick]).min(1).values.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    shade = np.full((1024, 4), [min(255, 3 * step), 60, 200, 255], np.uint8)
    points = trimesh.PointCloud(out.detach().numpy().astype(np.float64), colors=shade)
    if os.environ.get("FIX") and name:
        scene.delete_geometry(name)
    name = scene.add_geometry(points, geom_name=f"step{step}", transform=trimesh.transformations.translation_matrix([step, 0, 0]))
print("loss", round(loss.item(), 3), "in scene", len(scene.geometry))
