"""Programs that train: `trainer` (Hugging Face), `lightning`, `diffusion` (a UNet with an EMA), `compile`. Each writes dumps with truth
(nine_truth.py) in the middle of a step's backward and after the step."""
import copy
import math
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from torch import nn

from nine_truth import Truth


def trainer(folder):
    import transformers

    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=512, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=64))
    generator = torch.Generator().manual_seed(0)

    class Rows(torch.utils.data.Dataset):
        def __init__(self):
            self.tokens = torch.randint(512, (256, 48), generator=generator)
            self.labels = torch.randint(2, (256,), generator=generator)

        def __len__(self):
            return len(self.tokens)

        def __getitem__(self, i):
            return {"input_ids": self.tokens[i], "labels": self.labels[i]}

    rows = Rows()
    state = {"step": 0}

    def known(optimizer):
        return Truth().model(model).optimizer(optimizer).add("dataset", [rows.tokens, rows.labels])

    class Dumps(transformers.TrainerCallback):
        def on_step_begin(self, *_, optimizer, **__):
            state["step"] += 1
            state["optimizer"] = optimizer

        def on_step_end(self, *_, optimizer, **__):
            if state["step"] == 3:
                known(optimizer).dump("step")

    def in_backward(parameter):
        if state["step"] == 3:
            known(state["optimizer"]).dump("backward")

    model.bert.encoder.layer[1].output.dense.weight.register_post_accumulate_grad_hook(in_backward)
    arguments = transformers.TrainingArguments(
        output_dir=folder, max_steps=4, per_device_train_batch_size=16, report_to=[], save_strategy="no", use_cpu=True,
        disable_tqdm=True, logging_strategy="no")
    transformers.Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[Dumps()]).train()


def lightning(folder):
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))

        def training_step(self, batch, _):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    def data():
        return torch.utils.data.TensorDataset(torch.randn(2048, 64), torch.randint(10, (2048,)))

    class Dumps(lightning.Callback):
        def __init__(self):
            self.sets = []

        def known(self, trainer, module):
            truth = Truth().model(module).optimizer(*trainer.optimizers)
            for loader in self.sets:
                truth.add("dataset", loader.dataset.tensors)
            return truth

        def on_before_optimizer_step(self, trainer, module, optimizer):
            if trainer.global_step == 2:
                self.known(trainer, module).dump("backward")

        def on_train_batch_end(self, trainer, module, *_):
            if trainer.global_step == 3:
                self.known(trainer, module).dump("step")

    dumps = Dumps()
    dumps.sets = [torch.utils.data.DataLoader(data(), batch_size=32), torch.utils.data.DataLoader(data(), batch_size=32)]
    lightning.Trainer(max_epochs=1, limit_train_batches=4, limit_val_batches=2, accelerator="cpu", logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                      default_root_dir=folder, callbacks=[dumps]).fit(Classifier(), *dumps.sets)


class Block(nn.Module):
    def __init__(self, channels_in, channels, time):
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels, 3, padding=1)
        self.time = nn.Linear(time, channels)
        self.norm = nn.GroupNorm(4, channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x, t):
        h = nn.functional.silu(self.first(x) + self.time(t)[:, :, None, None])
        return self.second(nn.functional.silu(self.norm(h)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", torch.exp(-math.log(1e4) * torch.arange(16) / 16))
        self.down, self.middle, self.up = Block(3, 16, 32), Block(16, 32, 32), Block(48, 16, 32)
        self.out = nn.Conv2d(16, 3, 1)

    def forward(self, x, step):
        angles = step[:, None].float() * self.frequencies
        t = torch.cat([angles.sin(), angles.cos()], 1)
        skip = self.down(x, t)
        h = self.middle(nn.functional.avg_pool2d(skip, 2), t)
        h = nn.functional.interpolate(h, scale_factor=2)
        return self.out(self.up(torch.cat([h, skip], 1), t))


class Ema:
    """The averages as they are often kept: a dictionary of clones."""

    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    def update(self, model):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                self.shadow[name].lerp_(parameter, 1 - self.decay)


def diffusion(folder):
    model = UNet()
    averaged, ema = copy.deepcopy(model).requires_grad_(False), Ema(model)
    optimizer = torch.optim.AdamW(model.parameters())
    betas = torch.linspace(1e-4, 0.02, 1000)
    cumulative = torch.cumprod(1 - betas, 0)
    images = torch.rand(64, 3, 32, 32)
    progress = {"step": 0}

    def known():
        truth = Truth().model(model, averaged).optimizer(optimizer)
        return truth.add("container", ema.shadow.values()).add("variable", [betas, cumulative, images])

    def in_backward(parameter):
        if progress["step"] == 2:
            known().dump("backward")

    model.middle.second.weight.register_post_accumulate_grad_hook(in_backward)
    for progress["step"] in range(4):
        batch = images[torch.randint(64, (8,))] * 2 - 1
        noise, step = torch.randn_like(batch), torch.randint(1000, (8,))
        scale = cumulative[step][:, None, None, None]
        loss = nn.functional.mse_loss(model(scale.sqrt() * batch + (1 - scale).sqrt() * noise, step), noise)
        if progress["step"] == 2:
            known().dump("forward")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        with torch.no_grad():
            for one, other in zip(averaged.parameters(), model.parameters()):
                one.lerp_(other, 0.01)
        if progress["step"] == 3:
            known().dump("step")


def compile_(folder):
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters())
    compiled = torch.compile(model, backend="aot_eager")
    inputs, labels = torch.randn(128, 64), torch.randint(10, (128,))

    def known():
        return Truth().model(model).optimizer(optimizer)

    for step in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(compiled(inputs), labels)
        if step == 2:
            known().dump("forward")
        loss.backward()
        optimizer.step()
    known().dump("step")


torch.manual_seed(0)
{"trainer": trainer, "lightning": lightning, "diffusion": diffusion, "compile": compile_}[sys.argv[1]](os.environ["TRUTH_DIR"])
