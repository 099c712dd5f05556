"""Objects of a physics engine with tensors as attributes, with pymunk."""
# after: "pymunk environment slows down and grows: bodies of old episodes stay in the space"
# fix: space.remove(*shapes, *bodies) at reset
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "space._bodies"  # space (its _bodies: body.memory); the shapes too
# lines = ["h = policy(obs, body.memory)"]
# bytes = 32768  # 8 of 16*64*4, storages; malloc in all 66193 with bodies and shapes
# ///
import os
import pymunk
import torch
from torch import nn

torch.manual_seed(0)
space = pymunk.Space()
space.gravity = (0, -10)
policy = nn.GRUCell(4, 64)
head = nn.Linear(64, 2)
opt = torch.optim.Adam([*policy.parameters(), *head.parameters()], lr=1e-3)
bodies, shapes = [], []


def reset():
    global bodies, shapes
    if os.environ.get("FIX") and bodies:
        space.remove(*shapes, *bodies)
    bodies, shapes = [], []
    for k in range(8):
        body = pymunk.Body(1.0, 1.0)
        body.position = (k * 100.0, 0.0)
        body.memory = torch.zeros(16, 64)  # each body is controlled by 16 units
        circle = pymunk.Circle(body, 1.0)
        space.add(body, circle)
        bodies.append(body)
        shapes.append(circle)


for step in range(64):
    reset()
    total = 0.0
    for t in range(3):
        for body in bodies:
            obs = torch.tensor([*body.position, *body.velocity]).float().expand(16, 4) / 100
            h = policy(obs, body.memory)
            force = head(h).mean(0)
            body.memory = h.detach()
            body.apply_force_at_local_point(tuple(force.tolist()))
            total = total + force.pow(2).sum()
        space.step(0.01)
    opt.zero_grad()
    total.backward()
    opt.step()
