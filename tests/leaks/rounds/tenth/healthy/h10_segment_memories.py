"""max_mem_len=96 with segments of 12: full at step 8."""
# about: Transformer-XL: memories of earlier segments are handed on; they get longer until max_mem_len.
# report: "mems grow with every segment" (x-transformers)
# kind: recurrent memories, detached and cut to a length; grows over the first steps
# library: x-transformers
# /// healthy
# dumps = "steps"
# ///
import torch
from x_transformers import Decoder, TransformerWrapper
from torch import nn


def main():
    torch.manual_seed(0)
    model = TransformerWrapper(
        num_tokens=200, max_seq_len=12, max_mem_len=96, use_abs_pos_emb=False,
        attn_layers=Decoder(dim=64, depth=2, heads=2, attn_dim_head=32, rel_pos_bias=True))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    mems = None
    for step in range(1, 81):
        tokens = torch.randint(200, (8, 13))
        logits, mems = model(tokens[:, :-1], mems=mems, return_mems=True)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print([m.shape for m in mems], loss.item())


if __name__ == "__main__":
    main()
