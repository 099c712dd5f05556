"""Programs that do more than train one model on one batch: `ppo`, `generation`, `ddp`, `workers`. Each writes dumps with truth
(nine_truth.py)."""
import collections
import os
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from torch import nn

from nine_truth import Truth

FOLDER = os.environ["TRUTH_DIR"]


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 64), nn.Tanh())
        self.policy, self.value = nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, x):
        hidden = self.body(x)
        return torch.distributions.Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


class Rollout:
    def __init__(self, steps, count):
        self.observations = torch.zeros(steps, count, 32)
        self.actions = torch.zeros(steps, count, dtype=torch.long)
        self.rewards, self.values, self.chances = (torch.zeros(steps, count) for _ in range(3))


def ppo():
    steps, count = 64, 16
    agent, rollout, replay = Agent(), Rollout(steps, count), collections.deque(maxlen=20_000)
    optimizer = torch.optim.Adam(agent.parameters())
    next_observation = torch.randn(count, 32)
    dones = torch.zeros(steps, count)  # as CleanRL has them: variables of the function that trains

    def known():
        truth = Truth().model(agent).optimizer(optimizer)
        truth.add("container", vars(rollout).values()).add("container", (tensor for row in replay for tensor in row))
        return truth.add("variable", [dones])

    for round_ in range(2):
        for step in range(steps):
            with torch.no_grad():
                chance, value = agent(next_observation)
                action = chance.sample()
            rollout.observations[step], rollout.actions[step] = next_observation, action
            rollout.values[step], rollout.chances[step] = value, chance.log_prob(action)
            observation = torch.randn(count, 32)
            replay.append((next_observation, action, observation))
            next_observation = observation
            if round_ == 1 and step == 40:
                known().dump("rollout")
        for part in torch.randperm(steps).chunk(4):
            chance, value = agent(rollout.observations[part])
            ratio = (chance.log_prob(rollout.actions[part]) - rollout.chances[part]).exp()
            loss = ((value - rollout.rewards[part]) ** 2).mean() - ratio.mean() - 0.01 * chance.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        known().dump(f"round{round_}")


def generation():
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=128, n_positions=512, n_embd=64, n_layer=2, n_head=4, bos_token_id=None, eos_token_id=None)).eval()
    prompt = torch.randint(128, (16, 200))

    class Dumps(transformers.StoppingCriteria):
        def __call__(self, tokens, scores, **_):
            if tokens.shape[1] == 240:
                Truth().model(model).dump("generate")
            return torch.zeros(tokens.shape[0], dtype=torch.bool)

    found = model.generate(prompt, max_new_tokens=60, do_sample=False, return_dict_in_generate=True, pad_token_id=0,
                           stopping_criteria=transformers.StoppingCriteriaList([Dumps()]))
    cache = found.past_key_values
    keys = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    Truth().model(model).add("KV cache", keys).dump("after")


def ddp(rank):
    torch.manual_seed(rank)
    others = [] if rank else [subprocess.Popen([sys.executable, *sys.argv, "1"])]
    torch.distributed.init_process_group("gloo", init_method=f"file://{FOLDER}/meeting", rank=rank, world_size=2)
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    progress = {"step": 0}

    def known():
        return Truth(rank).model(model).optimizer(optimizer)

    def in_backward(parameter):
        if progress["step"] == 2:
            known().dump("backward")

    model[2].weight.register_post_accumulate_grad_hook(in_backward)
    for progress["step"] in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(parallel(torch.randn(32, 128)), torch.randint(10, (32,)))
        if progress["step"] == 3:
            known().dump("forward")
        loss.backward()
        optimizer.step()
    known().dump("step")
    torch.distributed.destroy_process_group()
    assert [other.wait() for other in others] == [0] * len(others)


class Pictures(torch.utils.data.Dataset):
    def __init__(self):
        self.pixels = torch.rand(256, 3, 32, 32)
        self.kept = [torch.rand(64, 64) for _ in range(16)]

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, i):
        if i == 200:
            Truth("-worker").add("dataset", [self.pixels, *self.kept]).dump("inside")
        return self.pixels[i] + self.kept[i % 16][:32, :32], i % 10


def workers():
    pictures = Pictures()
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    loader = torch.utils.data.DataLoader(pictures, batch_size=32, num_workers=2)
    for number, (images, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        if number == 4:
            truth = Truth().model(model).add("dataset", [pictures.pixels, *pictures.kept])
            truth.add("input batch", [images, labels]).dump("step")


torch.manual_seed(0)
if sys.argv[1] == "ddp":
    ddp(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
else:
    {"ppo": ppo, "generation": generation, "workers": workers}[sys.argv[1]]()
