"""Points that are pruned and densified: each time the parameter is replaced, but the optimizer's state of the old one stays."""
# kind: Optimizer's state keyed by parameters that are in no group any more (every second step), with torch.optim.
# after: "3D Gaussian splatting: memory grows at densification, old parameters stay in optimizer.state"
# fix: `del opt.state[old]` (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["gone-parameters", "container", "module-cache"]
# holder = ["scene.opt", "Adam"]  # `scene.opt.state` (keys: the old parameters; values: exp_avg, exp_avg_sq and step)
# lines = ["new = nn.Parameter(torch.cat([kept, kept[-100:] + 0.01]))", "loss.backward()", "scene.opt.step()"]
# bytes = 128000  # each replacement leaves parameter + gradient + two averages: 4 x 2000 x 8 float32 = 4 x 64000 = 256000, every second step: 128000 a step; measured 125.0 KiB = 128000
# ///
import os

import torch
from torch import nn


class Scene:
    def __init__(self):
        self.points = nn.Parameter(torch.randn(2000, 8))
        self.opt = torch.optim.Adam([self.points], lr=0.01)

    def densify(self):
        old = self.points
        with torch.no_grad():
            order = old[:, 0].abs().argsort()
            kept = old[order[:-100]]
            new = nn.Parameter(torch.cat([kept, kept[-100:] + 0.01]))
        group = self.opt.param_groups[0]
        group["params"] = [new]
        if os.environ.get("FIX"):
            del self.opt.state[old]
        self.points = new


def main():
    torch.manual_seed(0)
    scene = Scene()
    camera = torch.randn(8, 3)
    for step in range(1, 101):
        seen = scene.points @ camera
        loss = (seen.tanh() - 0.5).square().mean()
        scene.opt.zero_grad()
        loss.backward()
        scene.opt.step()
        if step % 2 == 0:
            scene.densify()
    print(len(scene.opt.state), "states", loss.item())


if __name__ == "__main__":
    main()
