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

import held_out_kinds
import held_out_programs


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


class WindowAttention(nn.Module):
    """Attention within windows of an image, which a block may shift, with a bias by position."""

    def __init__(self, width, heads, side, shift):
        super().__init__()
        self.heads, self.side, self.shift = heads, side, shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.bias = nn.Parameter(torch.zeros(heads, side * side, side * side))

    def attend(self, x):
        batch, height, width, channels = x.shape
        side = self.side
        windows = x.view(batch, height // side, side, width // side, side, channels).transpose(2, 3).reshape(-1, side * side, channels)
        q, k, v = self.qkv(windows).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.bias).softmax(-1)
        merged = self.out((weights @ v).transpose(1, 2).flatten(2))
        return merged.view(batch, height // side, width // side, side, side, channels).transpose(2, 3).reshape(x.shape)

    def forward(self, x):
        h = self.norm1(x)
        if self.shift:
            h = torch.roll(h, (-self.shift, -self.shift), (1, 2))
        h = self.attend(h)
        if self.shift:
            h = torch.roll(h, (self.shift, self.shift), (1, 2))
        x = x + h
        return x + self.mlp(self.norm2(x))


class Swin(nn.Module):
    """A vision transformer of two stages with windows of 4 x 4; patches are merged between them."""

    sizes = {"batch": 2}
    length = 64

    def __init__(self, options):
        super().__init__()
        self.patches = nn.Conv2d(3, 48, 4, 4)
        self.first = nn.ModuleList([WindowAttention(48, 3, 4, shift) for shift in (0, 2)])
        self.merge = nn.Linear(4 * 48, 96, bias=False)
        self.second = nn.ModuleList([WindowAttention(96, 6, 4, shift) for shift in (0, 2)])
        self.head = nn.Linear(96, 10)

    def example(self, options):
        return image_batch(options)

    def forward(self, x, y):
        h = self.patches(x).permute(0, 2, 3, 1)
        for block in self.first:
            h = block(h)
        h = self.merge(torch.cat([h[:, i::2, j::2] for i in (0, 1) for j in (0, 1)], -1))
        for block in self.second:
            h = block(h)
        return functional.cross_entropy(self.head(h.mean((1, 2))), y)


class SelectiveScan(nn.Module):
    """A state space whose steps depend on the input, as a loop over the sequence."""

    def __init__(self, width, states=8):
        super().__init__()
        self.norm, self.inside = nn.LayerNorm(width), nn.Linear(width, 4 * width)
        self.conv = nn.Conv1d(2 * width, 2 * width, 4, groups=2 * width, padding=3)
        self.steps, self.gates = nn.Linear(2 * width, 2 * width), nn.Linear(2 * width, 2 * states)
        self.decay = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(2 * width, 1))
        self.skip = nn.Parameter(torch.ones(2 * width))
        self.out = nn.Linear(2 * width, width)

    def forward(self, x):
        u, z = self.inside(self.norm(x)).chunk(2, -1)
        u = functional.silu(self.conv(u.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        step = functional.softplus(self.steps(u))
        b, c = self.gates(u).chunk(2, -1)
        state, outputs = u.new_zeros(u.shape[0], u.shape[2], b.shape[-1]), []
        for t in range(u.shape[1]):
            kept = torch.exp(-step[:, t, :, None] * self.decay.exp())
            state = kept * state + step[:, t, :, None] * b[:, t, None] * u[:, t, :, None]
            outputs.append((state * c[:, t, None]).sum(-1))
        y = torch.stack(outputs, 1) + u * self.skip
        return x + self.out(y * functional.silu(z))


class Mamba(nn.Module):
    sizes = {"length": 16}
    batch = 2

    def __init__(self, options):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.layers = nn.ModuleList([SelectiveScan(32) for _ in range(2)])
        self.head = nn.Linear(32, 100)

    def example(self, options):
        return torch.randint(0, 100, (options.batch, options.length)), torch.randint(0, 100, (options.batch, options.length))

    def forward(self, x, y):
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h)
        return functional.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Gnn(nn.Module):
    """Messages along edges, added up by scatter. As many graphs as the batch, each of 50 nodes and 300 edges."""

    sizes = {"batch": 8}

    def __init__(self, options):
        super().__init__()
        self.start = nn.Linear(16, 64)
        self.messages = nn.ModuleList([nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64)) for _ in range(3)])
        self.updates = nn.ModuleList([nn.GRUCell(64, 64) for _ in range(3)])
        self.head = nn.Linear(64, 5)

    def example(self, options):
        self.graphs = options.batch
        first = 50 * torch.arange(options.batch).repeat_interleave(300)
        self.edges = (torch.randint(0, 50, (2, 300 * options.batch)) + first).to(options.device)
        return torch.randn(50 * options.batch, 16), torch.randint(0, 5, (options.batch,))

    def forward(self, x, y):
        h = self.start(x)
        source, target = self.edges
        for message, update in zip(self.messages, self.updates):
            sent = message(torch.cat([h[source], h[target]], -1))
            h = update(torch.zeros_like(h).index_add(0, target, sent), h)
        return functional.cross_entropy(self.head(h.view(self.graphs, 50, -1).amax(1)), y)


class Translator(nn.Module):
    """An encoder, and a decoder with cross attention and a mask, of torch.nn's layers; the source is twice as long as the target."""

    sizes = {"length": 16}
    batch = 4

    def __init__(self, options):
        super().__init__()
        self.embed = nn.Embedding(300, 64)
        self.encoder = nn.ModuleList([nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True) for _ in range(2)])
        self.decoder = nn.ModuleList([nn.TransformerDecoderLayer(64, 4, 128, batch_first=True, norm_first=True) for _ in range(2)])
        self.head = nn.Linear(64, 300)

    def example(self, options):
        return torch.randint(0, 300, (options.batch, 2 * options.length)), torch.randint(0, 300, (options.batch, options.length))

    def forward(self, x, y):
        source, h = self.embed(x), self.embed(y)
        for layer in self.encoder:
            source = layer(source)
        mask = nn.Transformer.generate_square_subsequent_mask(y.shape[1], device=y.device)
        for layer in self.decoder:
            h = layer(h, source, tgt_mask=mask, tgt_is_causal=True)
        return functional.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


MODELS = {"mlp": Mlp, "convnet": ConvNet, "resnet": ResNet, "unet": UNet, "lstm": Lstm, "vit": ViT, "attention": OwnAttention,
          "gpt2": Gpt2, "bert": Bert, "t5": T5, "llama": Llama, "swin": Swin, "mamba": Mamba, "gnn": Gnn, "translator": Translator}
MODELS |= held_out_programs.MODELS | held_out_kinds.MODELS


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
