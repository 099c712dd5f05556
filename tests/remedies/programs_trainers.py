"""Loops that a library runs: Lightning, transformers' Trainer, accelerate, FSDP, DistributedDataParallel."""
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional

from remedy_trial import program


class Encoder(nn.Module):
    def __init__(self, width=384, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def batches(trial, size, count, width=384, length=128):
    size = trial.batch(size)
    return [(torch.rand(size, length, width), torch.zeros(size, dtype=torch.long)) for _ in range(count)]


def lightning_trainer(trial):
    import lightning
    return lightning.Trainer(accelerator="gpu" if trial.device == "cuda" else "cpu", devices=1, max_epochs=1, logger=False,
                             enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)


@program(imports=("lightning",))
def lightning_training(trial):
    """Lightning's Trainer, AdamW"""
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = trial.ready(Encoder())

        def training_step(self, batch, index):
            with trial.autocast():
                return functional.cross_entropy(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return trial.optimizer(torch.optim.AdamW, self.parameters())

    lightning_trainer(trial).fit(Classifier(), torch.utils.data.DataLoader(batches(trial, 32, 2), batch_size=None))


@program(imports=("lightning",))
def lightning_kept_outputs(trial):
    """a LightningModule that keeps each step's loss and outputs"""
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.outputs = Encoder(256, 2), []

        def training_step(self, batch, index):
            logits = self.model(batch[0])
            self.outputs.append(logits.detach() if trial.tries("drop-holder") else logits)
            return functional.cross_entropy(logits, batch[1])

        def backward(self, loss):
            loss.backward(retain_graph=True)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    lightning_trainer(trial).fit(Classifier(), torch.utils.data.DataLoader(batches(trial, 16, 5, 256), batch_size=None))


@program(imports=("transformers.trainer", "transformers.models.distilbert.modeling_distilbert"))
def transformers_trainer(trial):
    """transformers' Trainer on DistilBERT"""
    import transformers
    config = transformers.DistilBertConfig(dim=384, n_layers=6, n_heads=6, hidden_dim=1536)
    model = trial.ready(transformers.DistilBertForSequenceClassification(config))
    rows = [{"input_ids": torch.zeros(256, dtype=torch.long), "labels": 0} for _ in range(64)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, per_device_train_batch_size=trial.batch(16), max_steps=2, report_to=[], save_strategy="no",
            bf16=trial.tries("lower-precision"), use_cpu=trial.device == "cpu", disable_tqdm=True, dataloader_pin_memory=False,
            optim="sgd" if trial.tries("less-state") else "adamw_torch_fused" if trial.tries("fused-step") else "adamw_torch")
        transformers.Trainer(model=model, args=arguments, train_dataset=rows).train()


@program(imports=("accelerate",))
def accelerate_training(trial):
    """accelerate, an encoder of torch.nn's own layers"""
    import accelerate
    accelerate.state.AcceleratorState._reset_state()  # one of an earlier run in this process has its precision
    accelerator = accelerate.Accelerator(mixed_precision="bf16" if trial.tries("lower-precision") else "no")
    model = trial.ready(Encoder())
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    model, optimizer, loader = accelerator.prepare(
        model, optimizer, torch.utils.data.DataLoader(batches(trial, 32, 2), batch_size=None))
    for x, y in loader:
        loss = functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def alone(trial):
    """One rank."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    if not torch.distributed.is_initialized():
        store = torch.distributed.HashStore()
        if trial.device == "cuda":
            torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1, device_id=torch.device("cuda:0"))
        else:
            torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)


@program(imports=("torch.distributed.fsdp",))
def fsdp_training(trial):
    """fully_shard (FSDP2), one rank, AdamW"""
    from torch.distributed.fsdp import fully_shard
    alone(trial)
    model = trial.ready(Encoder().to(trial.device))
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    for _ in range(2):
        for x, y in batches(trial, 32, 1):
            with trial.autocast():
                loss = functional.cross_entropy(model(x.to(trial.device)), y.to(trial.device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


@program()
def ddp_training(trial):
    """DistributedDataParallel, one rank, SGD with momentum"""
    alone(trial)
    model = trial.ready(Encoder().to(trial.device))
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = trial.optimizer(torch.optim.SGD, model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        for x, y in batches(trial, 32, 1):
            with trial.autocast():
                loss = functional.cross_entropy(model(x.to(trial.device)), y.to(trial.device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
