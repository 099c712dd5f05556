"""add_loss() appends a loss with its graph to layer._losses; Keras empties these lists at the beginning of the next outermost call, so one step's stays. Looks like: at each dump a loss with a graph is held by a library's list."""
# report: "model.losses of a Keras model in my own torch loop: does the list grow?"
# kind: list of a library that is emptied with each call
# library: keras (torch backend)
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 1.7, 0.9
# /// healthy
# dumps = "steps"
# ///
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

torch.manual_seed(0)


class Sparse(keras.layers.Layer):
    def call(self, x):
        self.add_loss(1e-3 * keras.ops.mean(keras.ops.abs(x)))
        return x


model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128, activation="relu"), Sparse(), keras.layers.Dense(5)])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
mean = keras.metrics.Mean()
for step in range(1, 101):
    x = torch.randn(64, 64)
    logits = model(x)
    loss = torch.nn.functional.cross_entropy(logits, x[:, :5].argmax(1)) + sum(model.losses)
    opt.zero_grad()
    loss.backward()
    opt.step()
    mean.update_state(loss.detach())
    if step % 25 == 0:
        print(step, float(mean.result()), len(model.losses), flush=True)
