"""A head for each user: its group is popped from the optimizer, its state stays."""
# after: pytorch/pytorch: optimizer.state keeps parameters that were removed from param_groups
# fix: for p in head.parameters(): del opt.state[p]   (opt.state.pop(p)) when the group is popped
# /// leak
# dumps = "steps"
# kinds = ["gone-parameters", "container", "module-cache"]
# holder = ["opt.state", "Adam"]
# lines = ["opt.step()"]
# bytes = 98696  # 256 x 32 floats and 32: parameters (nn.Linear, 32,896), two states of Adam (65,792), two steps
# ///
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

body = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU())
opt = torch.optim.Adam([{"params": list(body.parameters())}], lr=1e-3)


def new_head():
    return torch.nn.Linear(256, 32)


def train_user(user):
    head = new_head()
    opt.add_param_group({"params": list(head.parameters())})
    x, y = torch.randn(16, 64), torch.randint(0, 32, (16,))
    loss = torch.nn.functional.cross_entropy(head(body(x)), y)
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    opt.param_groups.pop()              # the head is no longer trained
    return loss.item()


total = 0.0
for user in range(66):
    total += train_user(user)
print(len(opt.param_groups), "group", round(total / 66, 3))
