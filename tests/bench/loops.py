# SPDX-License-Identifier: Apache-2.0
"""The training loops that the benchmarks time: a tiny MLP (about 0.4 ms a step), a small and a larger transformer."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, hidden, mask):
        normed = self.first_norm(hidden)
        hidden = hidden + self.attention(normed, normed, normed, attn_mask=mask, need_weights=False)[0]
        return hidden + self.mlp(self.second_norm(hidden))


class SmallTransformer(nn.Module):
    def __init__(self, width, vocabulary=512, layers=4, length=256):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        hidden = self.tokens(tokens) + self.positions(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        for block in self.blocks:
            hidden = block(hidden, mask)
        return self.head(self.norm(hidden))


def _steps(model, make_loss):
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        make_loss().backward()
        optimizer.step()
    return step


def tiny():
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    data, labels = torch.randn(32, 32), torch.randint(0, 10, (32,))
    return _steps(model, lambda: nn.functional.cross_entropy(model(data), labels))


def _transformer(width, batch, length):
    model = SmallTransformer(width)
    tokens = torch.randint(0, 512, (batch, length))
    return _steps(model, lambda: nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()))


LOOPS = {
    "tiny": (tiny, 400),                                    # name: (maker, steps a block)
    "transformer-small": (lambda: _transformer(64, 2, 32), 20),
    "transformer-large": (lambda: _transformer(256, 4, 128), 2),
}


def make(name):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    maker, steps = LOOPS[name]
    return maker(), steps
