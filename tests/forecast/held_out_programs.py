"""Models that were written before a forecast of them was made, for forecast_programs.py: the second such round."""

import math

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class Blocks(nn.Module):
    """A model that calls its blocks one after the other, with checkpointing where that is asked for."""

    def __init__(self, options):
        super().__init__()
        self.checkpointed = options.checkpoint

    def call(self, block, *inputs):
        return checkpoint(block, *inputs, use_reentrant=False) if self.checkpointed else block(*inputs)


def tokens(options, vocabulary):
    return torch.randint(0, vocabulary, (options.batch, options.length))


class ChannelNorm(nn.Module):
    """A layer norm over the channels of images, written out."""

    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(1e-6 * torch.ones(width))

    def forward(self, x):
        h = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        h = self.scale * self.down(functional.gelu(self.up(h)))
        return x + h.permute(0, 3, 1, 2)


class ConvNext(Blocks):
    sizes = {"batch": 2}
    length = 64

    def __init__(self, options):
        super().__init__(options)
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 4, 4), ChannelNorm(32))
        self.blocks = nn.ModuleList([ConvNextBlock(32) for _ in range(3)])
        self.shrink = nn.Sequential(ChannelNorm(32), nn.Conv2d(32, 64, 2, 2))
        self.later = nn.ModuleList([ConvNextBlock(64) for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 10)

    def example(self, options):
        return torch.randn(options.batch, 3, options.length, options.length), torch.randint(0, 10, (options.batch,))

    def forward(self, x, y):
        x = self.stem(x)
        for block in self.blocks:
            x = self.call(block, x)
        x = self.shrink(x)
        for block in self.later:
            x = self.call(block, x)
        return functional.cross_entropy(self.head(self.norm(x.mean([-2, -1]))), y, label_smoothing=0.1)


class Rms(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class BiasedAttention(nn.Module):
    """Attention with an additive bias; keys and values may be those of another sequence."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x, other, bias):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q(x), self.k(other), self.v(other)))
        scores = torch.matmul(q, k.transpose(3, 2))
        if bias is not None:
            scores += bias
        weights = functional.dropout(functional.softmax(scores, dim=-1), 0.1, self.training)
        return self.o(torch.matmul(weights, v).transpose(1, 2).flatten(2))


class GatedLayer(nn.Module):
    def __init__(self, width, heads, crosses):
        super().__init__()
        self.norm1, self.norm2 = Rms(width), Rms(width)
        self.attention = BiasedAttention(width, heads)
        self.crosses = crosses
        if crosses:
            self.norm3, self.cross = Rms(width), BiasedAttention(width, heads)
        self.gate, self.up, self.down = (nn.Linear(*shape, bias=False) for shape in ((width, 2 * width), (width, 2 * width), (2 * width, width)))

    def forward(self, x, bias, source=None):
        h = self.norm1(x)
        x = x + functional.dropout(self.attention(h, h, bias), 0.1, self.training)
        if self.crosses:
            x = x + functional.dropout(self.cross(self.norm3(x), source, None), 0.1, self.training)
        h = self.norm2(x)
        return x + functional.dropout(self.down(functional.gelu(self.gate(h), approximate="tanh") * self.up(h)), 0.1, self.training)


class Summarizer(Blocks):
    """After T5: an encoder and a decoder, a bias by distance that all layers share, the embedding as head."""

    sizes = {"length": 32}
    batch = 2

    def __init__(self, options):
        super().__init__(options)
        self.embed = nn.Embedding(250, 64)
        self.near, self.causal = nn.Embedding(16, 4), nn.Embedding(16, 4)
        self.encoder = nn.ModuleList([GatedLayer(64, 4, False) for _ in range(3)])
        self.decoder = nn.ModuleList([GatedLayer(64, 4, True) for _ in range(3)])
        self.norm_encoder, self.norm_decoder = Rms(64), Rms(64)

    def example(self, options):
        return tokens(options, 250), torch.randint(0, 250, (options.batch, options.length // 2))

    @staticmethod
    def bias(table, length):
        place = torch.arange(length, device=table.weight.device)
        return table((place[None] - place[:, None]).clamp(-8, 7) + 8).permute(2, 0, 1)[None]

    def forward(self, x, y):
        source, near = self.embed(x), self.bias(self.near, x.shape[1])
        for layer in self.encoder:
            source = self.call(layer, source, near)
        source = self.norm_encoder(source)
        h, causal = self.embed(y), self.bias(self.causal, y.shape[1])
        causal = causal + torch.full((y.shape[1], y.shape[1]), -math.inf, device=y.device).triu(1)
        for layer in self.decoder:
            h = self.call(layer, h, causal, source)
        h = self.norm_decoder(h) * 64 ** -0.5
        return functional.cross_entropy(functional.linear(h, self.embed.weight).flatten(0, 1), y.flatten())


class ScaledBlock(nn.Module):
    """Attention with normed queries and keys, and a factor for each channel of what is added."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm_q, self.norm_k = nn.LayerNorm(width // heads), nn.LayerNorm(width // heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))
        self.scale1, self.scale2 = nn.Parameter(torch.full((width,), 0.1)), nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        h = functional.scaled_dot_product_attention(self.norm_q(q), self.norm_k(k), v)
        x = x + self.out(h.transpose(1, 2).flatten(2)) * self.scale1
        return x + self.mlp(self.norm2(x)) * self.scale2


class PooledViT(Blocks):
    """A vision transformer with a class token and learned positions; its head attends to all patches."""

    sizes = {"batch": 4}
    length = 32

    def __init__(self, options):
        super().__init__(options)
        self.patches = nn.Conv2d(3, 64, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, 64))
        self.positions = nn.Parameter(0.02 * torch.randn(1, (options.length // 4) ** 2 + 1, 64))
        self.blocks = nn.ModuleList([ScaledBlock(64, 4) for _ in range(4)])
        self.norm = nn.LayerNorm(64)
        self.query = nn.Parameter(torch.randn(1, 1, 64))
        self.pool = nn.MultiheadAttention(64, 4, batch_first=True)
        self.head = nn.Sequential(nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 10))

    def example(self, options):
        return torch.randn(options.batch, 3, options.length, options.length), torch.rand(options.batch, 10)

    def forward(self, x, y):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = self.call(block, x)
        x = self.norm(x)
        pooled, _ = self.pool(self.query.expand(len(x), -1, -1), x, x, need_weights=False)
        return functional.binary_cross_entropy_with_logits(self.head(torch.cat([pooled[:, 0], x[:, 0]], -1)), y)


class GruTagger(Blocks):
    """Words and a convolution over them into two layers of a GRU in both directions; a tag for each word."""

    sizes = {"length": 32}
    batch = 8

    def __init__(self, options):
        super().__init__(options)
        self.words = nn.Embedding(500, 64)
        self.context = nn.Sequential(nn.Conv1d(64, 64, 5, padding=2), nn.ReLU(), nn.Dropout(0.2))
        self.gru = nn.GRU(128, 96, 2, batch_first=True, bidirectional=True, dropout=0.2)
        self.tags = nn.Sequential(nn.Linear(192, 128), nn.Tanh(), nn.Linear(128, 20))

    def example(self, options):
        return tokens(options, 500), tokens(options, 20)

    def forward(self, x, y):
        words = self.words(x)
        near = self.call(self.context, words.transpose(1, 2)).transpose(1, 2)
        states, _ = self.gru(torch.cat([words, near], -1))
        scores = self.call(self.tags, states)
        return functional.nll_loss(functional.log_softmax(scores, -1).flatten(0, 1), y.flatten())


class TimedBlock(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inside), nn.Conv2d(inside, outside, 3, padding=1)
        self.time = nn.Linear(64, outside)
        self.norm2, self.conv2 = nn.GroupNorm(8, outside), nn.Conv2d(outside, outside, 3, padding=1)
        self.short = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(functional.silu(self.norm1(x)))
        h = h + self.time(functional.silu(time))[:, :, None, None]
        h = self.conv2(functional.silu(self.norm2(h)))
        return h + self.short(x)


class ImageAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.GroupNorm(8, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        batch, width, height, across = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(batch * self.heads, -1, height * across).chunk(3, 1)
        weights = torch.einsum("bct,bcs->bts", q * q.shape[1] ** -0.25, k * k.shape[1] ** -0.25).softmax(-1)
        return x + self.out(torch.einsum("bts,bcs->bct", weights, v).reshape(x.shape))


class Denoiser(Blocks):
    """A U-Net of a diffusion model: blocks that know the time, attention in the middle, the loss is that of the noise."""

    sizes = {"batch": 2}
    length = 32

    def __init__(self, options):
        super().__init__(options)
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 64))
        self.start = nn.Conv2d(3, 32, 3, padding=1)
        self.downs = nn.ModuleList([TimedBlock(32, 32), TimedBlock(32, 64)])
        self.shrinks = nn.ModuleList([nn.Conv2d(32, 32, 3, 2, 1), nn.Conv2d(64, 64, 3, 2, 1)])
        self.middle, self.attention = TimedBlock(64, 64), ImageAttention(64, 4)
        self.ups = nn.ModuleList([TimedBlock(128, 64), TimedBlock(96, 32)])
        self.norm, self.out = nn.GroupNorm(8, 32), nn.Conv2d(32, 3, 3, padding=1)

    def example(self, options):
        image = torch.randn(options.batch, 3, options.length, options.length)
        return image, torch.randn_like(image)

    def forward(self, x, y):
        step = torch.rand(len(x), device=x.device)
        angles = step[:, None] * torch.exp(torch.arange(16, device=x.device) * -0.5)
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        mixed = (1 - step.view(-1, 1, 1, 1)) * x + step.view(-1, 1, 1, 1) * y
        h, kept = self.start(mixed), []
        for block, shrink in zip(self.downs, self.shrinks):
            h = self.call(block, h, time)
            kept.append(h)
            h = shrink(h)
        h = self.attention(self.middle(h, time))
        for block in self.ups:
            h = torch.cat([functional.interpolate(h, scale_factor=2, mode="nearest"), kept.pop()], 1)
            h = self.call(block, h, time)
        return functional.mse_loss(self.out(functional.silu(self.norm(h))), y)


class MixerBlock(nn.Module):
    def __init__(self, places, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.places = nn.Sequential(nn.Linear(places, 2 * places), nn.GELU(), nn.Linear(2 * places, places))
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.places(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(Blocks):
    sizes = {"batch": 4}
    length = 32

    def __init__(self, options):
        super().__init__(options)
        self.patches = nn.Linear(48, 64)
        self.blocks = nn.ModuleList([MixerBlock((options.length // 4) ** 2, 64) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 10)

    def example(self, options):
        return torch.randn(options.batch, 3, options.length, options.length), torch.randint(0, 10, (options.batch,))

    def forward(self, x, y):
        x = functional.unfold(x, 4, stride=4).transpose(1, 2)
        x = self.patches(x)
        for block in self.blocks:
            x = self.call(block, x)
        return functional.cross_entropy(self.head(self.norm(x).mean(1)), y)


MODELS = {"convnext": ConvNext, "summarizer": Summarizer, "pooled_vit": PooledViT, "gru_tagger": GruTagger, "denoiser": Denoiser,
          "mixer": Mixer}
