"""huggingface/accelerate: gradients accumulated over 7 micro batches; the micro outputs are kept until the optimizer steps, then dropped."""
# bytes a step: 0 (at most 7 * 32*64*4 = 7 * 8,192 B micro outputs); optimizer steps: 66, micro steps 462
# /// healthy
# dumps = "steps"
# ///
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=7)
model = nn.Sequential(nn.Linear(48, 128), nn.GELU(), nn.Linear(128, 64))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=70)
data = TensorDataset(torch.randn(32 * 77, 48), torch.randint(0, 64, (32 * 77,)))
model, opt, loader = accelerator.prepare(model, opt, DataLoader(data, batch_size=32, shuffle=True))
micro = []
losses = []
for epoch in range(6):
    for x, y in loader:
        with accelerator.accumulate(model):
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
            accelerator.backward(loss)
            micro.append(out.detach())
            opt.step()
            opt.zero_grad()
        if accelerator.sync_gradients:
            losses.append((loss.item(), torch.stack(micro).std().item()))
            micro.clear()
            schedule.step()
print("steps", len(losses), "loss", losses[-1])
