"""stable_baselines3 DQN: ReplayBuffer of np.zeros allocated in the constructor, its pages are touched for the first time as it fills."""
# /// healthy
# dumps = "steps"
# ///
import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN

torch.manual_seed(0)
torch.set_num_threads(1)


class Signal(gym.Env):
    observation_space = gym.spaces.Box(-10, 10, (2048,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.np_random.standard_normal(2048, dtype=np.float32), {}

    def step(self, action):
        self.t += 1
        obs = self.np_random.standard_normal(2048, dtype=np.float32)
        return obs, float(obs[0] > 0) * (2 * int(action) - 1), self.t >= 40, False, {}


agent = DQN("MlpPolicy", Signal(), buffer_size=2000, learning_starts=16, train_freq=16, gradient_steps=1, batch_size=16,
            seed=0, device="cpu", policy_kwargs={"net_arch": [16]})
agent.learn(16 * 68)
print("in the buffer", agent.replay_buffer.size())
