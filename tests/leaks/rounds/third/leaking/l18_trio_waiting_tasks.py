"""Each task waits for an acknowledgement that never comes, with its batch in a variable."""
# after: python-trio/trio: tasks pile up in the nursery
# fix: trio.move_on_after(timeout) around ack.wait(), or set the event; del features before the wait
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls"]
# holders = ["features", "deliver"]
# lines = ["features = encoder(x)"]
# bytes = 73728  # 64 x 256 floats of features (65,536), 64 x 32 of x: both variables of deliver()
# ///
import torch
import trio
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

encoder = torch.nn.Linear(32, 256).requires_grad_(False)
sums = []


async def deliver(x, ack):
    features = encoder(x)
    sums.append(features.sum().item())
    await ack.wait()
    sums[-1] += features.norm().item()


async def main():
    async with trio.open_nursery() as nursery:
        for step in range(1, 67):
            ack = trio.Event()
            nursery.start_soon(deliver, torch.randn(64, 32), ack)
            await trio.sleep(0)
            await trio.sleep(0)
            at(step)
        nursery.cancel_scope.cancel()


trio.run(main)
print(len(sums), "sent")
