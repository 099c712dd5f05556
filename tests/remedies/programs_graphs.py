"""Second derivatives by backward(create_graph=True): graphs that only gradients keep."""
import torch

from programs_holders import Net, batch
from remedy_trial import program


@program()
def second_derivatives(trial):
    """curvature of a function: each input and its gradient refer to each other through the graph"""
    for _ in range(8):
        points = torch.rand(trial.batch(2 << 20), 4, device=trial.device, requires_grad=True)
        points.tanh().sum().backward(create_graph=True)
        points.grad.sum()
        if trial.tries("break-graph-cycle"):
            points.grad = None


def curvature_step(trial, model, optimizer):
    loss = model(batch(trial)).square().mean()
    optimizer.zero_grad()
    loss.backward(create_graph=True)
    for parameter in model.parameters():
        torch.autograd.grad(parameter.grad.sum(), parameter, retain_graph=True)
    optimizer.step()
    if trial.tries("gradient-graph"):
        optimizer.zero_grad()


@program()
def curvature_of_weights(trial):
    """an optimizer of second order, whose gradients keep their graphs through an evaluation"""
    model = trial.ready(Net().to(trial.device))
    optimizer = trial.optimizer(torch.optim.SGD, model.parameters(), lr=1e-3)
    for _ in range(2):
        curvature_step(trial, model, optimizer)
        with torch.no_grad():
            model(torch.rand(trial.batch(1 << 16), 256, device=trial.device))
