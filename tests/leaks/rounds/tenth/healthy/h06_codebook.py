"""Buffers have fixed shapes; k-means' temporaries are gone after the first step."""
# about: A VQ autoencoder whose codebook is updated by averages in each step, dead codes replaced.
# report: "VectorQuantize buffers change each iteration, memory up?"
# kind: EMA buffers written each step; usage counts; k-means initialization at the first step
# library: vector-quantize-pytorch
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from vector_quantize_pytorch import VectorQuantize


def main():
    torch.manual_seed(0)
    enc, dec = nn.Linear(64, 32), nn.Linear(32, 64)
    vq = VectorQuantize(dim=32, codebook_size=128, decay=0.9, kmeans_init=True, kmeans_iters=5, threshold_ema_dead_code=2)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
    best = None
    for step in range(1, 101):
        x = torch.randn(16, 32, 64)
        z, index, commit = vq(enc(x))
        loss = nn.functional.mse_loss(dec(z), x) + commit.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if best is None or loss.item() < best[0]:
            best = (loss.item(), index.detach().clone(), {k: v.clone() for k, v in vq.state_dict().items()})
    print(best[0])


if __name__ == "__main__":
    main()
