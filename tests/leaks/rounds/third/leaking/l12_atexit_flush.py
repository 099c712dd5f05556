"""Each result is registered to be written when the program ends."""
# after: Stack Overflow: atexit.register in a loop keeps the arguments
# fix: atexit.unregister / register once, with one object that keeps the last (or the sum)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "atexit"
# lines = ["confusion = torch.zeros(128, 128)"]
# bytes = 65536  # 128 x 128 floats: the arguments in the table of atexit, which is in C
# ///
import atexit, functools
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

written = []


def flush(step, confusion):
    written.append(confusion.trace().item())


@torch.no_grad()
def evaluate(model, step):
    x, y = torch.randn(256, 32), torch.randint(0, 128, (256,))
    pred = model(x).argmax(1)
    confusion = torch.zeros(128, 128)
    confusion.index_put_((y, pred), torch.ones(256), accumulate=True)
    atexit.register(functools.partial(flush, step, confusion))
    return (pred == y).float().mean().item()


model = torch.nn.Linear(32, 128)
acc = 0.0
for step in range(1, 67):
    acc += evaluate(model, step)
    at(step)
print("accuracy", round(acc / 66, 4))
