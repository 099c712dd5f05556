"""Every neuron ever made stays in a list of its class, with its hidden state."""
# after: jeshraghian/snntorch: SpikingNeuron.instances
# fix: del SpikingNeuron.instances[:] (clear_instances) after a trial
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "SpikingNeuron.instances"
# lines = ["total = total + self.fc2(self.lif(self.fc1(x)))"]
# bytes = 329728  # 128 x 256 floats of mem (131,072), and of reset; fc1's parameters and gradients by mem's graph (67,584); some scalars
# ///
import snntorch as snn
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(32, 256)
        self.lif = snn.Leaky(beta=0.9, init_hidden=True)
        self.fc2 = nn.Linear(256, 8)

    def forward(self, x):
        total = 0
        for _ in range(3):
            total = total + self.fc2(self.lif(self.fc1(x)))
        return total


def trial(lr):
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    x = torch.randn(128, 32)
    y = torch.randint(0, 8, (128,))
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    return loss.item()


scores = [0.0] * 66
for step in range(66):
    scores[step] = trial(1e-3 * (step + 1))
print("best", min(scores))
