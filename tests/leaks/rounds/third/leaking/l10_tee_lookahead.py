"""One of two iterators of a tee is advanced once only: the other runs ahead."""
# after: itertools.tee, Stack Overflow: it uses memory when one iterator runs ahead
# fix: no tee: source = batches(); first = next(source); itertools.chain([first], source)   (`del lookahead` alone: `train` still keeps its current
#      block of up to 57 batches, 3.7 MB, and frees it when the block has been read)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "lookahead"
# lines = ["yield torch.randn(32, 512)"]
# bytes = 65792  # 32 x 512 floats of a batch, 32 labels
# ///
import itertools
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


def batches():
    while True:
        yield torch.randn(32, 512), torch.randint(0, 4, (32,))


train, lookahead = itertools.tee(batches())
first, _ = next(lookahead)                      # for the input width
model = torch.nn.Sequential(torch.nn.Linear(first.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
del first
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for x, y in itertools.islice(train, 66):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3))
