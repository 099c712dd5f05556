"""Models that were written before a forecast of them was made, for forecast_programs.py: the third round, of other kinds."""

import torch
from torch import nn
from torch.nn import functional

from held_out_programs import Blocks


class GraphLayer(nn.Module):
    """Attention over the nodes of padded graphs, with a bias by distance; written out, with a mask of what is padding."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

    def forward(self, x, bias, padding):
        h = self.norm1(x)
        q = self.q(h).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = self.kv(h).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias
        weights = self.dropout(scores.masked_fill(padding[:, None, None], -1e4).softmax(-1))
        x = x + self.out((weights @ v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GraphTransformer(Blocks):
    """As many graphs as the batch, each of up to 40 nodes; a graph's value is the mean of its nodes."""

    sizes = {"batch": 4}

    def __init__(self, options):
        super().__init__(options)
        self.atoms, self.degrees, self.distances = nn.Embedding(30, 64), nn.Embedding(8, 64), nn.Embedding(12, 4)
        self.layers = nn.ModuleList([GraphLayer(64, 4) for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 1)

    def example(self, options):
        nodes = torch.randint(20, 41, (options.batch,))
        nodes[0] = 40
        self.padding = (torch.arange(40)[None] >= nodes[:, None]).to(options.device)
        self.apart = torch.randint(0, 12, (options.batch, 40, 40)).to(options.device)
        return torch.randint(0, 30, (options.batch, 40)), torch.randn(options.batch)

    def forward(self, x, y):
        h = self.atoms(x) + self.degrees((self.apart == 1).sum(-1).clamp(max=7))
        bias = self.distances(self.apart).permute(0, 3, 1, 2)
        for layer in self.layers:
            h = self.call(layer, h, bias, self.padding)
        kept = (~self.padding)[..., None]
        mean = (self.norm(h) * kept).sum(1) / kept.sum(1)
        return functional.l1_loss(self.head(mean)[:, 0], y.to(mean.dtype))


class GatedConvolution(nn.Module):
    """A layer of WaveNet: a causal convolution with gaps, gated; what it adds to the signal and what to the result."""

    def __init__(self, channels, gap):
        super().__init__()
        self.gap = gap
        self.both = nn.Conv1d(channels, 2 * channels, 2, dilation=gap)
        self.stays, self.result = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, 2 * channels, 1)

    def forward(self, x):
        signal, gate = self.both(functional.pad(x, (self.gap, 0))).chunk(2, 1)
        h = torch.tanh(signal) * torch.sigmoid(gate)
        return x + self.stays(h), self.result(h)


class WaveNet(Blocks):
    sizes = {"length": 256}
    batch = 2

    def __init__(self, options):
        super().__init__(options)
        self.samples = nn.Embedding(256, 32)
        self.layers = nn.ModuleList([GatedConvolution(32, 2 ** n) for _ in range(2) for n in range(5)])
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(64, 64, 1), nn.ReLU(), nn.Conv1d(64, 256, 1))

    def example(self, options):
        heard = torch.randint(0, 256, (options.batch, options.length + 1))
        return heard[:, :-1].contiguous(), heard[:, 1:].contiguous()

    def forward(self, x, y):
        h, total = self.samples(x).transpose(1, 2), 0
        for layer in self.layers:
            h, result = self.call(layer, h)
            total = total + result
        return functional.cross_entropy(self.head(total), y)


class Experts(nn.Module):
    """Each token goes to two of six experts; how many each has is different in every step."""

    def __init__(self, width, experts):
        super().__init__()
        self.norm, self.router = nn.LayerNorm(width), nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width)) for _ in range(experts)])

    def forward(self, x):
        tokens = self.norm(x).flatten(0, 1)
        weights, chosen = self.router(tokens).softmax(-1).topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        result = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            token, place = torch.where(chosen == number)
            made = expert(tokens[token]) * weights[token, place, None]
            result = result.index_add(0, token, made.to(result.dtype))
        return x + result.view_as(x)


class MoeLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.experts = Experts(width, 6)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        h = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.experts(x + self.out(h.transpose(1, 2).flatten(2)))


class Moe(Blocks):
    sizes = {"batch": 2}
    length = 64

    def __init__(self, options):
        super().__init__(options)
        self.embed = nn.Embedding(200, 48)
        self.layers = nn.ModuleList([MoeLayer(48, 4) for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(48), nn.Linear(48, 200)

    def example(self, options):
        tokens = torch.randint(0, 200, (options.batch, options.length + 1))
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def forward(self, x, y):
        h = self.embed(x)
        for layer in self.layers:
            h = self.call(layer, h)
        return functional.cross_entropy(self.head(self.norm(h)).transpose(1, 2), y)


class Siamese(Blocks):
    """One network for three pictures: what is alike has to come out closer than what is not."""

    sizes = {"batch": 4}
    length = 32

    def __init__(self, options):
        super().__init__(options)
        self.stages = nn.ModuleList([
            nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside), nn.PReLU(outside),
                          nn.Conv2d(outside, outside, 3, padding=1), nn.LeakyReLU(0.1, inplace=True), nn.AvgPool2d(2))
            for inside, outside in ((3, 16), (16, 32), (32, 64))])
        self.project = nn.Sequential(nn.Flatten(), nn.Linear(64 * 16, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 32))
        self.classes = nn.Linear(32, 10)

    def example(self, options):
        return torch.randn(options.batch, 3, 3, options.length, options.length), torch.randint(0, 10, (options.batch,))

    def embedded(self, x):
        for stage in self.stages:
            x = self.call(stage, x)
        return functional.normalize(self.project(x), dim=-1)

    def forward(self, x, y):
        anchor, alike, other = (self.embedded(picture) for picture in x.unbind(1))
        return functional.triplet_margin_loss(anchor, alike, other, 0.2) + functional.cross_entropy(self.classes(anchor), y)


class Volume(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3d(inside, outside, 3, padding=1), nn.InstanceNorm3d(outside, affine=True), nn.LeakyReLU(),
                                    nn.Conv3d(outside, outside, 3, padding=1), nn.InstanceNorm3d(outside, affine=True), nn.LeakyReLU())

    def forward(self, x):
        return self.layers(x)


class VolumeUNet(Blocks):
    """A U-Net of volumes, with the Dice loss."""

    sizes = {"batch": 1}
    length = 16

    def __init__(self, options):
        super().__init__(options)
        self.downs = nn.ModuleList([Volume(1, 8), Volume(8, 16)])
        self.shrink = nn.MaxPool3d(2)
        self.middle = Volume(16, 32)
        self.ups = nn.ModuleList([Volume(48, 16), Volume(24, 8)])
        self.out = nn.Conv3d(8, 3, 1)

    def example(self, options):
        side = (options.length,) * 3
        return torch.randn(options.batch, 1, *side), torch.randint(0, 3, (options.batch, *side))

    def forward(self, x, y):
        kept = []
        for down in self.downs:
            x = self.call(down, x)
            kept.append(x)
            x = self.shrink(x)
        x = self.middle(x)
        for up in self.ups:
            x = functional.interpolate(x, scale_factor=2, mode="trilinear", align_corners=False)
            x = self.call(up, torch.cat([x, kept.pop()], 1))
        found = self.out(x).softmax(1)
        truth = functional.one_hot(y, 3).movedim(-1, 1).to(found.dtype)
        overlap = (found * truth).sum((2, 3, 4))
        return 1 - (2 * overlap / (found.sum((2, 3, 4)) + truth.sum((2, 3, 4)) + 1e-5)).mean()


class Joint(nn.Module):
    """Every frame with every label: frames times labels times the words of the vocabulary."""

    def __init__(self, width, words):
        super().__init__()
        self.frames, self.labels = nn.Linear(width, 48), nn.Linear(width, 48, bias=False)
        self.words = nn.Linear(48, words)

    def forward(self, frames, labels):
        return self.words(torch.tanh(self.frames(frames)[:, :, None] + self.labels(labels)[:, None])).log_softmax(-1)


class Transducer(Blocks):
    """After RNN-T: an LSTM over frames, two for each label, a GRU over labels, a joint network, the loss over all alignments."""

    sizes = {"length": 8}
    batch = 2

    def __init__(self, options):
        super().__init__(options)
        self.heard = nn.Sequential(nn.Conv1d(40, 64, 3, 2, 1), nn.ReLU())
        self.encoder = nn.LSTM(64, 64, 1, batch_first=True)
        self.embed = nn.Embedding(60, 64)
        self.predictor = nn.GRU(64, 64, 1, batch_first=True)
        self.joint = Joint(64, 60)

    def example(self, options):
        return torch.randn(options.batch, 40, 4 * options.length), torch.randint(1, 60, (options.batch, options.length))

    def forward(self, x, y):
        frames, _ = self.encoder(self.heard(x).transpose(1, 2))
        labels, _ = self.predictor(self.embed(functional.pad(y, (1, 0))))
        scores = self.call(self.joint, frames, labels)
        blank = scores[..., 0]
        next_label = functional.pad(scores[:, :, :-1].gather(-1, y[:, None, :, None].expand(-1, scores.shape[1], -1, 1))[..., 0], (1, 0))
        along = next_label.float().cumsum(-1)
        reached = along[:, 0]
        for t in range(1, scores.shape[1]):
            reached = (reached + blank[:, t - 1] - along[:, t]).logcumsumexp(-1) + along[:, t]
        return -(reached[:, -1] + blank[:, -1, -1]).mean()


MODELS = {"graph_transformer": GraphTransformer, "wavenet": WaveNet, "moe": Moe, "siamese": Siamese, "volume_unet": VolumeUNet,
          "transducer": Transducer}
