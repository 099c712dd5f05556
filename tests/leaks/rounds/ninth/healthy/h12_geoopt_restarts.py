"""Each fold's model, optimizer and its state are replaced by the next fold's; the results are numbers. The same bytes in each fold."""
# report: "RiemannianAdam in cross validation: state of old optimizers"
# kind: model and optimizer are made anew every 15 steps (folds)
# library: geoopt
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.8, 0.6
# /// healthy
# dumps = "steps"
# ///
import geoopt
import torch
from torch import nn

torch.manual_seed(0)
ball = geoopt.PoincareBall()
results = []
for fold in range(7):
    points = geoopt.ManifoldParameter(ball.expmap0(0.1 * torch.randn(400, 32)), manifold=ball)
    head = nn.Linear(1, 1)
    opt = geoopt.optim.RiemannianAdam([points, *head.parameters()], lr=1e-2)
    for step in range(15):
        pairs = torch.randint(0, 400, (256, 2))
        distance = ball.dist(points[pairs[:, 0]], points[pairs[:, 1]])
        near = ((pairs[:, 0] - pairs[:, 1]).abs() < 20).float()
        loss = nn.functional.binary_cross_entropy_with_logits(head(distance[:, None])[:, 0], near)
        opt.zero_grad()
        loss.backward()
        opt.step()
    results.append(round(loss.item(), 4))
print(results)
