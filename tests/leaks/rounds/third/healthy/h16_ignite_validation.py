"""ignite: validation every 20 iterations (large batches, Accuracy is reset by itself), ModelCheckpoint with n_saved=2, RunningAverage."""
# /// healthy
# dumps = "steps"
# ///
import shutil, tempfile
import torch
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from ignite.metrics import Accuracy, EpochMetric, RunningAverage

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def batches(n, size):
    for _ in range(n):
        x = torch.randn(size, 32)
        yield x, x[:, :4].argmax(1)


def update(engine, batch):
    x, y = batch
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


@torch.no_grad()
def predict(engine, batch):
    return model(batch[0]), batch[1]


trainer, evaluator = Engine(update), Engine(predict)
RunningAverage(output_transform=lambda o: o).attach(trainer, "loss")
Accuracy().attach(evaluator, "accuracy")
EpochMetric(lambda p, y: (p.argmax(1) == y).double().mean().item(), check_compute_fn=False).attach(evaluator, "all")
folder = tempfile.mkdtemp(prefix="checkpoints-")
saver = ModelCheckpoint(folder, "best", n_saved=2, score_function=lambda e: e.state.metrics["accuracy"], require_empty=False)
evaluator.add_event_handler(Events.COMPLETED, saver, {"model": model})


@trainer.on(Events.ITERATION_COMPLETED(every=20))
def validate(engine):
    evaluator.run(batches(8, 2048), epoch_length=8)


trainer.run(batches(66, 64), max_epochs=1, epoch_length=66)
print(round(evaluator.state.metrics["accuracy"], 3), round(trainer.state.metrics["loss"], 3))
shutil.rmtree(folder)
