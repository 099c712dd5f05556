"""Library keeps numpy arrays/bytes of each evaluated point, with nevergrad."""
# after: issue "memory of the optimizer grows with the number of evaluations" (nevergrad keeps each point it was told)
# fix: optimizer.pruning / clear the archive every 10 steps (FIX)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "optimizer.archive"  # `optimizer.archive` (optimizer.archive.bytesdict: bytes of each point -> its value)
# lines = []
# bytes = 37617  # key of 2048 x 8 = 16384 bytes of a point (bytes object); outside tensors; measured 16384 (bytes key) + 16384 (float64 array `parameter._value` of the MultiValue that the dict keeps for the key) = 32768 of data; malloc in use +38.8 KB a step with the small objects; correction: 37,617 to 37,662 with the objects that only the archive reaches, by sys.getsizeof
# ///
import os
import nevergrad as ng
import torch
from ask import at

torch.manual_seed(0)
net = torch.nn.Linear(2048, 1, bias=False)
data = torch.randn(16, 2048)
target = torch.randn(16, 1)
space = ng.p.Array(shape=(2048,))
space.random_state.seed(3)
optimizer = ng.optimizers.OnePlusOne(parametrization=space, budget=10000)


def main():
    for step in range(1, 71):
        candidate = optimizer.ask()
        with torch.no_grad():
            net.weight.copy_(torch.from_numpy(candidate.value).float()[None])
            loss = torch.nn.functional.mse_loss(net(data), target)
        optimizer.tell(candidate, loss.item())
        if os.environ.get("FIX") and step % 10 == 0:
            optimizer.archive.bytesdict.clear()
        at(step)
    print(len(optimizer.archive))


main()
