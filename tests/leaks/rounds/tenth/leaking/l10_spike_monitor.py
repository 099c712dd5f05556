"""A spiking network with a monitor of its layers' outputs; the records are read at the end only."""
# kind: Monitor inside a library fills a list by forward hooks; outputs with graph whose saved tensors are freed by backward, with spikingjelly.
# after: "OutputMonitor: out of memory, records not cleared" (SpikingJelly)
# fix: `spikes.clear_recorded_data()` after each step (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "spikes.records"  # `spikes.records` (list of the monitor; `spikes.monitored_layers` only names them)
# lines = ["out = net(x).mean(0)"]
# bytes = 141312  # the outputs of two LIF layers: T 4 x 64 x (128 + 10) float32 = 141312 a step; measured 138.0 KiB = 141312 (malloc in use 191 KiB with the graph nodes, 81 a step)
# ///
import os

import torch
from spikingjelly.activation_based import functional, layer, monitor, neuron, surrogate
from torch import nn


def network():
    net = nn.Sequential(
        layer.Linear(100, 128), neuron.LIFNode(surrogate_function=surrogate.ATan()),
        layer.Linear(128, 10), neuron.LIFNode(surrogate_function=surrogate.ATan()))
    functional.set_step_mode(net, "m")
    return net


def main():
    torch.manual_seed(0)
    net = network()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    spikes = monitor.OutputMonitor(net, neuron.LIFNode)
    rate = 0.0
    for step in range(1, 81):
        x = (torch.rand(4, 64, 100) > 0.5).float()
        y = torch.randint(10, (64,))
        out = net(x).mean(0)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        functional.reset_net(net)
        rate = 0.9 * rate + 0.1 * spikes.records[-1].mean().item()
        if os.environ.get("FIX"):
            spikes.clear_recorded_data()
    print("rate", rate, "records", len(spikes.records))


if __name__ == "__main__":
    main()
