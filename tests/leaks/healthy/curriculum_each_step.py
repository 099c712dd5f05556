"""A curriculum: sequences become longer in every step, up to the end; nothing of a step is kept."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    length = 32 + 2 * step
    x = torch.randn(8, length, 32)
    mask = nn.Transformer.generate_square_subsequent_mask(length)
    out = model(x, src_mask=mask, is_causal=True)
    loss = (out[:, :-1] - x[:, 1:]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
