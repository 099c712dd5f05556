"""The wrapper RenderCollection keeps one frame a step until render() or reset(): a task that goes on calls neither."""
# after: Farama-Foundation/Gymnasium: wrappers.RenderCollection
# fix: drop the wrapper, or call env.render() now and then (it pops the frames)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "env.frame_list"
# lines = ["frame = self.rng.integers("]
# bytes = 100800  # 210 x 160 x 3 bytes, arrays of numpy
# ///
import gymnasium as gym
import numpy as np
import torch
from torch import nn


class Arcade(gym.Env):
    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self):
        self.render_mode = "rgb_array"
        self.observation_space = gym.spaces.Box(-1, 1, (16,), np.float32)
        self.action_space = gym.spaces.Discrete(4)
        self.rng = np.random.default_rng(0)

    def reset(self, *, seed=None, options=None):
        return self.rng.random(16, dtype=np.float32), {}

    def step(self, action):
        return self.rng.random(16, dtype=np.float32), float(action), False, False, {}

    def render(self):
        frame = self.rng.integers(0, 255, (210, 160, 3), dtype=np.uint8)
        return frame


env = gym.wrappers.RenderCollection(Arcade())
policy = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 4))
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
obs, info = env.reset()
total = 0.0
for step in range(66):
    logits = policy(torch.from_numpy(obs))
    action = torch.distributions.Categorical(logits=logits).sample()
    obs, reward, terminated, truncated, info = env.step(action.item())
    loss = -torch.log_softmax(logits, -1)[action] * reward
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += reward
print("return", total)
