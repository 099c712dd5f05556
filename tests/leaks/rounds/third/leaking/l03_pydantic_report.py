"""The report of an experiment, a model of pydantic, takes every episode's tensors."""
# after: pytorch's forum: pattern of reports
# fix: keep numbers (sum of rewards) in Episode, not observations and log_probs
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "report.episodes"
# lines = ["return torch.stack(obs), rewards"]
# bytes = 51600  # 100 x 128 floats of observations (51,200), 100 of log_probs; outside tensors 100 numbers of Python
# ///
import torch
from pydantic import BaseModel, ConfigDict

torch.manual_seed(0)
torch.set_num_threads(1)


class Episode(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    number: int
    observations: torch.Tensor
    log_probs: torch.Tensor
    rewards: list[float]


class Report(BaseModel):
    name: str
    episodes: list[Episode] = []

    def best(self):
        return max(self.episodes, key=lambda e: sum(e.rewards)).number


policy = torch.nn.Sequential(torch.nn.Linear(128, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)


def rollout():
    s = torch.randn(128)
    obs, rewards = [], []
    for _ in range(100):
        obs.append(s)
        rewards.append(float(s[0]))
        s = 0.9 * s + 0.1 * torch.randn(128)
    return torch.stack(obs), rewards


report = Report(name="reinforce")
for n in range(66):
    obs, rewards = rollout()
    dist = torch.distributions.Categorical(logits=policy(obs))
    logp = dist.log_prob(dist.sample())
    loss = -(logp * torch.tensor(rewards)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    report.episodes.append(Episode(number=n, observations=obs, log_probs=logp.detach(), rewards=rewards))
print("best episode", report.best())
