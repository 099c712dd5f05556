"""A handler with the batch as an argument is added in every iteration, to run at the end of training."""
# after: pytorch/ignite: handlers that are added in a loop
# fix: add the handler once (it reads engine.state.batch), or remove_event_handler
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "trainer._event_handlers"
# lines = ["yield torch.randn(64, 256)"]
# bytes = 66048  # 64 x 256 floats of a batch, 64 labels
# ///
import torch
from ignite.engine import Engine, Events

torch.manual_seed(0)
torch.set_num_threads(1)


def batches(n):
    for _ in range(n):
        yield torch.randn(64, 256), torch.randint(0, 4, (64,))


model = torch.nn.Sequential(torch.nn.Linear(256, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def update(engine, batch):
    x, y = batch
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


trainer = Engine(update)
worst = []


def recheck(engine, batch, loss):
    with torch.no_grad():
        now = torch.nn.functional.cross_entropy(model(batch[0]), batch[1]).item()
    worst.append(now - loss)


@trainer.on(Events.ITERATION_COMPLETED)
def plan_recheck(engine):
    engine.add_event_handler(Events.COMPLETED, recheck, engine.state.batch, engine.state.output)


trainer.run(batches(66), max_epochs=1, epoch_length=66)
print("rechecked", len(worst))
