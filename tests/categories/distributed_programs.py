"""torch.distributed with one process over gloo, torch.compile and Lightning."""

import os
import tempfile

import torch
from moments import LAST, Moments, train
from torch import nn


def alone():
    """A process group of this process."""
    os.environ.update(MASTER_ADDR="127.0.0.1", RANK="0", WORLD_SIZE="1")
    store = torch.distributed.FileStore(tempfile.mktemp(), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)


def layers():
    return nn.Sequential(*[nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(3)])


def distributed_data_parallel():
    alone()
    model, x = nn.parallel.DistributedDataParallel(layers()), torch.randn(64, 256)
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(x).square().mean())


def fully_sharded():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    alone()
    model, x, mesh = layers(), torch.randn(64, 256), init_device_mesh("cpu", (1,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(x).square().mean())


def compiled():
    model, x = layers(), torch.randn(64, 256)
    fast = torch.compile(model)
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: fast(x).square().mean())


def lightning():
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = layers()
            self.moments = Moments(self.net.parameters())

        def training_step(self, batch, index):
            loss = self.net(batch[0]).square().mean()
            self.moments.at("forward")
            return loss

        def on_train_batch_start(self, *arguments):
            self.moments.step()

        def on_train_batch_end(self, *arguments):
            self.moments.at("after the step")

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    model = Module()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64 * (LAST + 1), 256)), batch_size=64)
    lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False).fit(model, data)
    return model.moments
