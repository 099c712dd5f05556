"""Recorder of a simulation library, with mesa."""
# after: Mesa discussion "DataCollector memory": the state of all agents is collected in every step of a simulation with neural agents
# fix: no agent_reporters, or collect every n steps and clear
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "world.datacollector._agent_records"  # world.datacollector._agent_records (dict step -> list of (step, id, hidden))
# lines = ["self.hidden = self.model.brain(view, self.hidden)"]
# bytes = 40960  # 40 x 256 float32; storages
# ///
import os
import warnings

warnings.filterwarnings("ignore")
import mesa
import torch
import torch.nn as nn
from ask import at


class Trader(mesa.Agent):
    def __init__(self, model):
        super().__init__(model)
        self.hidden = torch.zeros(1, 256)

    def step(self):
        view = torch.randn(1, 8)
        self.hidden = self.model.brain(view, self.hidden)


class World(mesa.Model):
    def __init__(self, n):
        super().__init__(seed=1)
        self.brain = nn.GRUCell(8, 256)
        Trader.create_agents(self, n)
        reporters = {} if os.environ.get("FIX") else {"hidden": "hidden"}
        self.datacollector = mesa.DataCollector(model_reporters={"n": lambda m: len(m.agents)}, agent_reporters=reporters)

    @torch.no_grad()
    def step(self):
        self.agents.do("step")
        self.datacollector.collect(self)


torch.manual_seed(0)
world = World(40)
for step in range(1, 71):
    world.step()
    if step % 20 == 0:
        print(step, next(iter(world.agents)).hidden.mean().item(), flush=True)
    at(step)
