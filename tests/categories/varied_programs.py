"""Trainings that do several unusual things at once: adapters in a vision model, a diffusion model, packed sequences, two optimizers."""

import copy
import math

import torch
from moments import LAST, Moments, train
from torch import nn


class LoraConv(nn.Module):
    """A frozen convolution with a small one beside it, as PEFT makes them."""

    def __init__(self, base, rank=4):
        super().__init__()
        self.base_layer = base.requires_grad_(False)
        self.lora_A = nn.ModuleDict({"default": nn.Conv2d(base.in_channels, rank, base.kernel_size, base.stride, base.padding, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Conv2d(rank, base.out_channels, 1, bias=False)})

    def forward(self, x):
        return self.base_layer(x) + 2 * self.lora_B["default"](self.lora_A["default"](x))


def lora_vision():
    model = nn.Sequential(nn.Conv2d(3, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.GELU(), nn.Conv2d(64, 128, 3, 2, 1), nn.GELU(), nn.Conv2d(128, 128, 3, 1, 1),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)).requires_grad_(False)
    for number in (0, 3, 5):
        model[number] = LoraConv(model[number])
    model[-1].requires_grad_(True)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    images, labels = torch.randn(16, 3, 64, 64), torch.randint(0, 10, (16,))
    return train(model, torch.optim.AdamW(trained), lambda model: nn.functional.cross_entropy(model(images), labels))


class TimedBlock(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        self.first, self.second = nn.Conv2d(into, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)
        self.norm, self.time = nn.GroupNorm(8, out), nn.Linear(64, out)

    def forward(self, x, t):
        return self.second(nn.functional.silu(self.norm(self.first(x)) + self.time(t)[:, :, None, None]))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle, self.up = TimedBlock(3, 32), TimedBlock(32, 64), TimedBlock(96, 32)
        self.attention, self.out = nn.MultiheadAttention(64, 4, batch_first=True), nn.Conv2d(32, 3, 1)

    def forward(self, x, t):
        angles = t[:, None] * torch.exp(torch.arange(32) * -(math.log(1e4) / 31))
        t = torch.cat([angles.sin(), angles.cos()], 1)
        high = self.down(x, t)
        low = self.middle(nn.functional.avg_pool2d(high, 4), t)
        rows = low.flatten(2).transpose(1, 2)
        low = low + self.attention(rows, rows, rows, need_weights=False)[0].transpose(1, 2).reshape(low.shape)
        return self.out(self.up(torch.cat([high, nn.functional.interpolate(low, scale_factor=4)], 1), t))


def diffusion_with_ema():
    model, alphas, clean = Denoiser(), torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0), torch.randn(8, 3, 32, 32)
    averaged = copy.deepcopy(model).requires_grad_(False)

    def loss(model):
        t, noise = torch.randint(0, 1000, (len(clean),)), torch.randn_like(clean)
        share = alphas[t][:, None, None, None]
        return nn.functional.mse_loss(model(share.sqrt() * clean + (1 - share).sqrt() * noise, t.float()), noise)

    def follow():
        with torch.no_grad():
            torch._foreach_lerp_(list(averaged.parameters()), list(model.parameters()), 0.01)

    return train(model, torch.optim.AdamW(model.parameters()), loss, follow)


def packed_autocast():
    """Sequences of several lengths, packed, under autocast, with a scaler, clipped gradients and a schedule."""
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.rnn, self.head = nn.Embedding(2000, 128), nn.LSTM(128, 128, 2, bidirectional=True, batch_first=True), nn.Linear(256, 40)

        def forward(self, tokens, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
            return self.head(nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0])

    model, scaler = Tagger(), torch.amp.GradScaler("cpu")
    optimizer = torch.optim.Adam(model.parameters())
    schedule, moments = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=10), Moments(model.parameters())
    for _ in range(LAST + 1):
        moments.step()
        lengths = torch.randint(20, 65, (16,))
        tokens = nn.utils.rnn.pad_sequence([torch.randint(0, 2000, (int(length),)) for length in lengths], batch_first=True)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = model(tokens, lengths)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens.flatten() % 40)
        moments.at("forward")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        moments.at("after the step")
    return moments


def lightning_two_optimizers():
    import lightning

    class Gan(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.maker = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1024))
            self.judge = nn.Sequential(nn.Linear(1024, 512), nn.LeakyReLU(), nn.Linear(512, 1))
            self.moments = Moments(self.maker.parameters())

        def training_step(self, batch, index):
            self.moments.step()
            for_maker, for_judge = self.optimizers()
            made = self.maker(torch.randn(len(batch), 64))
            for_judge.zero_grad()
            self.manual_backward(self.judge(made.detach()).mean() - self.judge(batch).mean())
            for_judge.step()
            for_maker.zero_grad()
            loss = -self.judge(made).mean()
            self.moments.at("forward")
            self.manual_backward(loss)
            for_maker.step()
            self.log("loss", loss)
            self.moments.at("after the step")

        def configure_optimizers(self):
            return torch.optim.Adam(self.maker.parameters()), torch.optim.Adam(self.judge.parameters())

    model = Gan()
    data = torch.utils.data.DataLoader(torch.randn(64 * (LAST + 1), 1024), batch_size=64)
    lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False).fit(model, data)
    return model.moments


def lightning_averaged():
    """Lightning with an average of the weights, bfloat16, two batches before each step, and a metric of torchmetrics."""
    import lightning
    import torchmetrics
    from lightning.pytorch.callbacks import EMAWeightAveraging

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.SiLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.SiLU(),
                                     nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10))
            self.precision = torchmetrics.AveragePrecision("multiclass", num_classes=10)
            self.moments = Moments(self.net.parameters())

        def training_step(self, batch, index):
            if index % 2 == 0:
                self.moments.step()
            images, labels = batch
            scores = self.net(images)
            self.precision.update(scores.float().softmax(1), labels)
            loss = nn.functional.cross_entropy(scores, labels)
            self.log("loss", loss, on_step=True, on_epoch=True)
            self.moments.at("forward")
            return loss

        def on_train_batch_end(self, outputs, batch, index):
            if index % 2 == 1:
                self.moments.at("after the step")

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters())
            return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)}

    model, count = Classifier(), 32 * (LAST + 1)
    data = torch.utils.data.TensorDataset(torch.randn(count, 3, 64, 64), torch.randint(0, 10, (count,)))
    lightning.Trainer(max_epochs=1, accelerator="cpu", precision="bf16-mixed", accumulate_grad_batches=2, callbacks=[EMAWeightAveraging(decay=0.9)],
                      logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False).fit(
                          model, torch.utils.data.DataLoader(data, batch_size=16))
    return model.moments
