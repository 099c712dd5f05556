"""State z and exp_avg_sq of each parameter from step 1 on; train()/eval() interpolate in place."""
# report: "the schedule-free optimizer keeps another copy of the weights for every evaluation": it swaps in place
# looks like: periodic evaluation with best checkpoint (replaced, not added)
# library: schedulefree
# /// healthy
# dumps = "steps"
# ///
import copy
import schedulefree
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
opt = schedulefree.AdamWScheduleFree(net.parameters(), lr=0.01, warmup_steps=5)
best, best_state = float("inf"), None
valid = torch.randn(128, 64)
opt.train()
for step in range(70):
    x = torch.randn(64, 64)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 7 == 6:
        opt.eval()
        net.eval()
        with torch.no_grad():
            score = (net(valid) - valid[:, :1]).pow(2).mean().item()
        if score < best:
            best, best_state = score, copy.deepcopy(net.state_dict())
        net.train()
        opt.train()
print(best, len(best_state))
