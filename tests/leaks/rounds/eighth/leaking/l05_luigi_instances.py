"""Instance cache in a library's metaclass, with luigi."""
# after: issue "Luigi worker memory grows: every Task instance is cached for ever"
# fix: luigi.task_register.Register.clear_instance_cache() (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "Register._Register__instance_cache"  # `luigi.task_register.Register._Register__instance_cache` (dict; each EvalTask keeps `logits`)
# lines = ["self.logits = net(x)"]
# bytes = 25600  # 128 x 50 x 4 = 25600 a step; measured 25600 25600 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import luigi
import torch
from luigi.task_register import Register

torch.manual_seed(0)
net = torch.nn.Linear(20, 50)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(128, 20), torch.randint(0, 50, (128,))


class EvalTask(luigi.Task):
    step = luigi.IntParameter()

    def run(self):
        with torch.no_grad():
            self.logits = net(x)  # LEAK
        self.accuracy = (self.logits.argmax(1) == y).float().mean().item()

    def complete(self):
        return hasattr(self, "accuracy")


for step in range(70):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    task = EvalTask(step=step)
    if not task.complete():
        task.run()
    if os.environ.get("FIX"):
        Register.clear_instance_cache()
print(task.accuracy)
