"""An EpochMetric is attached by hand for its updates only, so that nothing calls reset()."""
# after: pytorch/ignite: an EpochMetric whose predictions are never reset (pattern of reports like #2141)
# fix: metric.attach(trainer, "rank") (resets at each epoch) or metric.reset()
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["metric._predictions", "metric._targets"]
# lines = ["trainer.run(", "return logits.detach()"]
# bytes = 67584  # 256 x 64 floats of predictions, 256 targets; update() clones what train_step returned
# ///
import torch
from torch import nn
from ignite.engine import Engine, Events
from ignite.metrics import EpochMetric

torch.manual_seed(0)
model = nn.Linear(128, 64)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()


def train_step(engine, batch):
    x, y = batch
    opt.zero_grad()
    logits = model(x)
    loss = loss_fn(logits, y)
    loss.backward()
    opt.step()
    return logits.detach(), y


def top1(preds, targets):
    return (preds.argmax(1) == targets).float().mean().item()


def batches():
    for _ in range(66):
        yield torch.randn(256, 128), torch.randint(0, 64, (256,))


trainer = Engine(train_step)
metric = EpochMetric(top1, check_compute_fn=False)
trainer.add_event_handler(Events.ITERATION_COMPLETED, metric.iteration_completed)
trainer.run(batches(), max_epochs=1, epoch_length=66)
print("accuracy", metric.compute())
