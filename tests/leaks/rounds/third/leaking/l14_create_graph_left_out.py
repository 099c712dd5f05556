"""A parameter that is in no optimizer is never zeroed: its gradient keeps the graph of every step."""
# after: pytorch/pytorch: backward(create_graph=True) leaks
# fix: torch.autograd.grad for the penalty, or critic.zero_grad(set_to_none=True) instead of opt.zero_grad() (scale.grad = None)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = "critic.scale.grad"
# lines = ["x = torch.randn(64, 128)", "loss = (critic(x).mean()", "loss.backward(create_graph=True)"]
# bytes = 65200  # measured with malloc: 64 x 128 floats of x (32,768), two of 64 x 64 (tanh, its gradient), and small nodes
# ///
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(128))
        self.a = torch.nn.Linear(128, 64)
        self.b = torch.nn.Linear(64, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x * self.scale)))


critic = Critic()
opt = torch.optim.SGD([*critic.a.parameters(), *critic.b.parameters()], lr=0.01)
for step in range(66):
    x = torch.randn(64, 128)
    loss = (critic(x).mean() - 1).pow(2)
    loss.backward(create_graph=True)
    penalty = sum(p.grad.pow(2).sum() for p in critic.a.parameters())
    g = torch.autograd.grad(penalty, list(critic.a.parameters()))
    with torch.no_grad():
        for p, extra in zip(critic.a.parameters(), g):
            p.grad = p.grad.detach() + 0.1 * extra
        for p in critic.b.parameters():
            p.grad = p.grad.detach()
    opt.step()
    opt.zero_grad(set_to_none=True)
    del loss, penalty, g
print(critic.scale.grad.norm().item())
