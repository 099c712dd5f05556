"""A forward hook stores activations for per-sample gradients; under no_grad no backward ever takes them."""
# meta-pytorch/opacus#176: torch.no_grad() creates memory leak because of forward hook
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "activations"
# lines = ["x = torch.randn("]
# bytes = 32768  # the input of 128 x 64 floats
# ///
import torch
from torch import nn


def capture_activations(layer, inputs, output):
    if layer.training:
        layer.activations.append(inputs[0].detach())


def capture_backprops(layer, grad_input, grad_output):
    layer.grad_sample = grad_output[0].unsqueeze(-1) * layer.activations.pop().unsqueeze(1)


def accuracy(model):
    with torch.no_grad():
        x = torch.randn(128, 64)
        return (model(x).argmax(1) == 0).float().mean().item()


model = nn.Linear(64, 4)
model.activations = []
model.register_forward_hook(capture_activations)
model.register_full_backward_hook(capture_backprops)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(60):
    loss = model(torch.randn(8, 64, requires_grad=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    accuracy(model)
    optimizer.step()
