"""Reference cycle through C++ (param.grad -> graph -> parameter) of models that are gone, with torch.autograd."""
# after: pytorch warning "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a memory leak"
# fix: for p in model.parameters(): p.grad = None, when the client is done
# /// leak
# dumps = "asks"
# kinds = ["graph-cycle", "reference-cycle"]
# holder = ".grad"  # .grad of the parameters of each client's model (a cycle; no variable holds it)
# lines = ["model = nn.Sequential(nn.Linear(32, 48), nn.Tanh(), nn.Linea", "loss = nn.functional.cross_entropy(model(x), y)", "loss.backward(create_graph=True)", "x, y = torch.randn(64, 32), torch.randint(0, 4, (64,))"]
# bytes = 50592  # gc walk and torch's allocator both; malloc in all 84400
# ///
import os
import warnings
import torch
from torch import nn
from ask import at

warnings.filterwarnings("ignore", message="Using backward")
torch.manual_seed(0)
importance = torch.zeros(())


def client(x, y):
    """Sharpness of a client's small model: gradient, then the norm of its gradient's gradient."""
    model = nn.Sequential(nn.Linear(32, 48), nn.Tanh(), nn.Linear(48, 4))
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward(create_graph=True)
    norm = sum(p.grad.pow(2).sum() for p in model.parameters())
    if os.environ.get("FIX"):
        for p in model.parameters():
            p.grad = None
    return norm.item()


for i in range(1, 66):
    x, y = torch.randn(64, 32), torch.randint(0, 4, (64,))
    importance += client(x, y)
    at(i)
print(importance)
