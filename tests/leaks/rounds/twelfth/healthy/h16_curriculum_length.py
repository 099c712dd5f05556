"""What is kept between steps is the last hidden state (detached) and the last batch; both have the largest size from step 15 on."""
# report: "memory goes up with the steps" (curriculum: sequence length 16, 24, ... up to 128 at step 15, then constant)
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)
emb, rnn, out = nn.Embedding(100, 32), nn.GRU(32, 128, batch_first=True), nn.Linear(128, 100)
opt = torch.optim.Adam([*emb.parameters(), *rnn.parameters(), *out.parameters()])
hidden = None
for step in range(1, 66):
    length = min(128, 8 + 8 * step)
    ids = torch.randint(0, 100, (4, length + 1))
    h, hidden = rnn(emb(ids[:, :-1]), hidden)
    hidden = hidden.detach()
    loss = nn.functional.cross_entropy(out(h).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
