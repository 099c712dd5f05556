"""An optimizer of molecules concatenates its history with positions that carry a graph."""
# TorchSim/torch-sim#559: fix: detach optimizer-state buffers in L-BFGS / BFGS step
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached"]
# holder = "state"
# lines = ["(gradient,) = ", "energy = "]
# bytes = [6144, 200000]
# ///
import sys
import types

import torch

PAIRS = torch.randn(96, 96)


def forces_of(positions):
    energy = (PAIRS * (positions @ positions.T)).sigmoid().sum()
    (gradient,) = torch.autograd.grad(energy, positions, create_graph=True)
    return -gradient


def relax(state):
    forces = forces_of(state.positions)
    step = 0.01 * forces
    state.history = torch.cat([state.history, step[None]])[-8:]
    state.positions = (state.positions + step).detach().requires_grad_()


state = types.SimpleNamespace(positions=torch.randn(96, 3, requires_grad=True), history=torch.zeros(8, 96, 3))
for line in sys.stdin:
    relax(state)
    print(state.history.abs().max().item(), flush=True)
