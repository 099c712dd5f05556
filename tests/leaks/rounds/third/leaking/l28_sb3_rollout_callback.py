"""A copy of the buffer is kept of each rollout."""
# after: DLR-RM/stable-baselines3: memory leak in a callback
# fix: keep the statistics (mean return) instead of the buffer
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "callback.rollouts"
# lines = ["self.rollouts.append(copy.deepcopy("]
# bytes = 72900  # 32 x 512 floats of observations, 7 small arrays, the bounds of the space: measured, arrays of numpy; one step of the optimizer a rollout
# ///
import copy
import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

torch.manual_seed(0)
torch.set_num_threads(1)


class Signal(gym.Env):
    observation_space = gym.spaces.Box(-10, 10, (512,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.np_random.standard_normal(512, dtype=np.float32), {}

    def step(self, action):
        self.t += 1
        obs = self.np_random.standard_normal(512, dtype=np.float32)
        return obs, float(obs[0] > 0) * (2 * int(action) - 1), self.t >= 50, False, {}


class Keep(BaseCallback):
    def __init__(self):
        super().__init__()
        self.rollouts = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        self.rollouts.append(copy.deepcopy(self.model.rollout_buffer))


callback = Keep()
agent = PPO("MlpPolicy", Signal(), n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu",
            policy_kwargs={"net_arch": [16]})
agent.learn(66 * 32, callback=callback)
print(len(callback.rollouts), "rollouts")
