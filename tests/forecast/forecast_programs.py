"""Trains one of the models that forecasts are checked with, for a few steps, at the sizes that are given.

    forecast_programs.py MODEL [--batch N] [--length N] [--steps N] [--optimizer NAME] [--dtype NAME] [--checkpoint] [--autocast]
                         [--device cuda] [--ranks N]

On a device it prints torch's own peaks. With --ranks it is one of N processes (RANK, WORLD_SIZE; STORE: a file that they share).
"""

import argparse
import json
import os

import torch
from torch import nn
from torch.nn import functional


def image_batch(options, channels=3, classes=10):
    return torch.randn(options.batch, channels, options.length, options.length), torch.randint(0, classes, (options.batch,))


class Mlp(nn.Module):
    sizes = {"batch": 64}

    def __init__(self, options):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)) for _ in range(4)])
        self.head = nn.Linear(256, 10)

    def example(self, options):
        return torch.randn(options.batch, 256), torch.randint(0, 10, (options.batch,))

    def forward(self, x, y):
        return functional.cross_entropy(self.head(self.layers(x)), y)


class ConvNet(nn.Module):
    sizes = {"batch": 4, "length": 32}
    optimizer = "momentum"

    def __init__(self, options):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(64, 10)

    def example(self, options):
        return image_batch(options)

    def forward(self, x, y):
        return functional.cross_entropy(self.head(self.features(x).flatten(1)), y)


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outside)
        self.second = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outside)
        self.short = nn.Conv2d(inside, outside, 1, stride, bias=False) if stride != 1 or inside != outside else nn.Identity()

    def forward(self, x):
        h = functional.relu(self.norm1(self.first(x)))
        return functional.relu(self.norm2(self.second(h)) + self.short(x))


class ResNet(ConvNet):
    sizes = {"batch": 4, "length": 32}
    optimizer = "sgd"

    def __init__(self, options):
        nn.Module.__init__(self)
        self.features = nn.Sequential(Block(3, 16, 1), Block(16, 16, 1), Block(16, 32, 2), Block(32, 32, 1), Block(32, 64, 2),
                                      nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(64, 10)


class UNet(nn.Module):
    """Its images grow: bytes grow with the square of their side."""

    sizes = {"length": 32}
    batch = 2

    def __init__(self, options):
        super().__init__()
        self.down1, self.down2 = Block(3, 16, 1), Block(16, 32, 2)
        self.middle = Block(32, 64, 2)
        self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
        self.join2, self.join1 = Block(64, 32, 1), Block(32, 16, 1)
        self.out = nn.Conv2d(16, 2, 1)

    def example(self, options):
        return image_batch(options)[0], torch.randint(0, 2, (options.batch, options.length, options.length))

    def forward(self, x, y):
        a = self.down1(x)
        b = self.down2(a)
        h = self.join2(torch.cat([self.up2(self.middle(b)), b], 1))
        h = self.join1(torch.cat([self.up1(h), a], 1))
        return functional.cross_entropy(self.out(h), y)


class Lstm(nn.Module):
    """A loop over the sequence: as many tensors as it is long."""

    sizes = {"length": 16}
    batch = 8

    def __init__(self, options):
        super().__init__()
        self.embed = nn.Embedding(200, 64)
        self.cell = nn.LSTMCell(64, 128)
        self.head = nn.Linear(128, 200)

    def example(self, options):
        return torch.randint(0, 200, (options.batch, options.length)), torch.randint(0, 200, (options.batch, options.length))

    def forward(self, x, y):
        h = c = torch.zeros(x.shape[0], 128, device=x.device)
        outputs = []
        for token in self.embed(x).unbind(1):
            h, c = self.cell(token, (h, c))
            outputs.append(self.head(h))
        return functional.cross_entropy(torch.stack(outputs, 1).flatten(0, 1), y.flatten())


class ViT(nn.Module):
    sizes = {"batch": 4, "length": 32}

    def __init__(self, options):
        super().__init__()
        self.patches = nn.Conv2d(3, 64, 4, 4)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(64, 4, 256, batch_first=True) for _ in range(4)])
        self.head = nn.Linear(64, 10)

    def example(self, options):
        return image_batch(options)

    def forward(self, x, y):
        h = self.patches(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            h = layer(h)
        return functional.cross_entropy(self.head(h.mean(1)), y)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        of_weights = grad @ v.transpose(-1, -2)
        of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
        return of_scores @ k, of_scores.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ grad


class OwnAttention(nn.Module):
    """Its own autograd function keeps weights of length times length."""

    sizes = {"length": 64}
    batch = 2

    def __init__(self, options):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.layers = nn.ModuleList([nn.Linear(64, 192) for _ in range(3)])
        self.head = nn.Linear(64, 100)

    def example(self, options):
        return torch.randint(0, 100, (options.batch, options.length)), torch.randint(0, 100, (options.batch, options.length))

    def forward(self, x, y):
        h = self.embed(x)
        for layer in self.layers:
            q, k, v = layer(h).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
            h = h + Attention.apply(q, k, v).transpose(1, 2).flatten(2)
        return functional.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Transformers(nn.Module):
    sizes = {"batch": 2, "length": 32}

    def example(self, options):
        tokens = torch.randint(2, 200, (options.batch, options.length))
        return tokens, tokens

    def forward(self, x, y):
        return self.model(input_ids=x, labels=y).loss


class Gpt2(Transformers):
    def __init__(self, options):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel
        self.model = GPT2LMHeadModel(GPT2Config(vocab_size=200, n_positions=1024, n_embd=64, n_layer=4, n_head=4))
        if options.checkpoint:
            self.model.gradient_checkpointing_enable()


class Bert(Transformers):
    sizes = {"batch": 2}
    length = 64

    def __init__(self, options):
        super().__init__()
        from transformers import BertConfig, BertForMaskedLM
        self.model = BertForMaskedLM(BertConfig(vocab_size=200, hidden_size=64, num_hidden_layers=4, num_attention_heads=4,
                                                intermediate_size=256))


class T5(Transformers):
    sizes = {"length": 32}
    batch = 2

    def __init__(self, options):
        super().__init__()
        from transformers import T5Config, T5ForConditionalGeneration
        self.model = T5ForConditionalGeneration(T5Config(vocab_size=200, d_model=64, d_kv=16, d_ff=256, num_layers=3, num_heads=4,
                                                         decoder_start_token_id=0))


class Llama(Transformers):
    sizes = {"length": 32}
    batch = 2

    def __init__(self, options):
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM
        config = LlamaConfig(vocab_size=200, hidden_size=64, intermediate_size=192, num_hidden_layers=4, num_attention_heads=4)
        config._attn_implementation = "eager"
        self.model = LlamaForCausalLM(config)
        if options.checkpoint:
            self.model.gradient_checkpointing_enable()


MODELS = {"mlp": Mlp, "convnet": ConvNet, "resnet": ResNet, "unet": UNet, "lstm": Lstm, "vit": ViT, "attention": OwnAttention,
          "gpt2": Gpt2, "bert": Bert, "t5": T5, "llama": Llama}


def optimizer_of(name, parameters):
    return {"sgd": lambda: torch.optim.SGD(parameters, lr=1e-3), "momentum": lambda: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
            "adam": lambda: torch.optim.Adam(parameters), "adamw": lambda: torch.optim.AdamW(parameters)}[name]()


def numbered(path):
    return any(part.isdigit() for part in path.split("."))


def shard(model, ranks):
    """fully_shard around each of the outermost numbered modules, and around the model."""
    from torch.distributed import device_mesh
    from torch.distributed.fsdp import fully_shard
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.environ['STORE']}", rank=int(os.environ["RANK"]), world_size=ranks)
    mesh = device_mesh.init_device_mesh("cpu", (ranks,))
    for path, module in model.named_modules():
        if numbered(path) and not numbered(path.rpartition(".")[0]) and any(True for _ in module.parameters()):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--optimizer")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--checkpoint", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ranks", type=int)
    options = parser.parse_args()
    kind = MODELS[options.model]
    options.batch = options.batch or kind.sizes.get("batch") or kind.batch
    options.length = options.length or kind.sizes.get("length") or getattr(kind, "length", 0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dtype = getattr(torch, options.dtype)
    model = kind(options).to(options.device, dtype)
    if options.ranks:
        shard(model, options.ranks)
    optimizer = optimizer_of(options.optimizer or getattr(kind, "optimizer", "adamw"), model.parameters())
    for _ in range(options.steps):
        x, y = (one.to(options.device) for one in model.example(options))
        x = x.to(dtype) if x.is_floating_point() else x
        with torch.autocast(options.device, torch.bfloat16, enabled=options.autocast):
            loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if options.device != "cpu":
        print(json.dumps({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}))
    if options.ranks:
        torch.distributed.destroy_process_group()
    return model, optimizer


if __name__ == "__main__":
    model, optimizer = main()  # alive at exit: the dump of that moment knows their names
