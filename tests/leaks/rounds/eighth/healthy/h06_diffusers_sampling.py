"""PNDMScheduler.ets keeps the last 4 outputs and set_timesteps resets it; the EMA shadow is updated in place."""
# report: "sampling for previews during training leaks: scheduler.ets grows": the scheduler keeps four
# looks like: the list of a scheduler that is appended to in every sampling step
# library: diffusers
# /// healthy
# dumps = "steps"
# ///
import torch
from diffusers import PNDMScheduler

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.SiLU(), torch.nn.Conv2d(16, 3, 3, padding=1))
opt = torch.optim.AdamW(net.parameters())
ema = [p.detach().clone() for p in net.parameters()]
scheduler = PNDMScheduler(num_train_timesteps=100, skip_prk_steps=True)


@torch.no_grad()
def preview():
    scheduler.set_timesteps(6)
    sample = torch.randn(2, 3, 16, 16)
    for t in scheduler.timesteps:
        sample = scheduler.step(net(sample), t, sample).prev_sample
    return sample


for step in range(70):
    clean, noise = torch.rand(8, 3, 16, 16), torch.randn(8, 3, 16, 16)
    noisy = scheduler.add_noise(clean, noise, torch.randint(0, 100, (8,)))
    loss = (net(noisy) - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    torch._foreach_lerp_(ema, [p.detach() for p in net.parameters()], 0.1)
    if step % 3 == 0:
        image = preview()
print(image.std().item(), len(scheduler.ets))
