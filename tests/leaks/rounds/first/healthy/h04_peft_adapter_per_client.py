"""huggingface/peft: an adapter per client is added, trained and deleted again."""
# bytes a step: 0 (one adapter of 8*(64+256)*4 + ... at a time)
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from peft import LoraConfig, get_peft_model

torch.manual_seed(0)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 8)

    def forward(self, x):
        return self.down(self.up(x).relu())


config = LoraConfig(r=8, target_modules=["up", "down"])
model = get_peft_model(Base(), config)
for client in range(66):
    name = f"client_{client}"
    model.add_adapter(name, config)
    model.set_adapter(name)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    x = torch.randn(32, 64)
    y = torch.randint(0, 8, (32,))
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    model.set_adapter("default")
    model.delete_adapter(name)
print("loss", loss.item(), list(model.peft_config))
