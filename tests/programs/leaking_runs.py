"""Training runs that leak as people's do: `trainer` (Hugging Face) keeps the outputs of each step, `lightning` those of validation, `oom` keeps
outputs on a device until it is full. The first two write three dumps where a second argument is given."""
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from torch import nn


def dump():
    import libtensorscope

    if len(sys.argv) > 2:
        libtensorscope.dump()


def trainer():
    import transformers

    class Tokens(torch.utils.data.Dataset):
        def __init__(self):
            self.tokens = torch.randint(1024, (256, 32))

        def __len__(self):
            return len(self.tokens)

        def __getitem__(self, i):
            return {"input_ids": self.tokens[i], "labels": self.tokens[i]}

    class KeepsOutputs(transformers.Trainer):
        history = None

        def compute_loss(self, model, inputs, return_outputs=False, **others):
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **others)
            self.history = (self.history or []) + [outputs]
            return (loss, outputs) if return_outputs else loss

    class Dumps(transformers.TrainerCallback):
        def on_step_end(self, arguments, state, *_, **__):
            if state.global_step % 6 == 0:
                dump()

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=1024, n_embd=64, n_layer=2, n_head=2, n_positions=64, bos_token_id=0, eos_token_id=0))
    arguments = transformers.TrainingArguments(
        output_dir=os.environ["TRUTH_DIR"], max_steps=18, per_device_train_batch_size=8, report_to=[], save_strategy="no", use_cpu=True,
        disable_tqdm=True, logging_strategy="no")
    trainer = KeepsOutputs(model=model, args=arguments, train_dataset=Tokens(), callbacks=[Dumps()])
    trainer.train()


def lightning():
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10))
            self.validation_outputs = []

        def training_step(self, batch, _):
            x, y = batch
            return nn.functional.cross_entropy(self.net(x), y)

        def validation_step(self, batch, _):
            x, y = batch
            features = self.net[0](x)
            self.validation_outputs.append({"features": features, "y": y})

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    class Dumps(lightning.Callback):
        def on_train_epoch_end(self, trainer, module):
            if trainer.current_epoch % 2 == 1:
                dump()

    def loader():
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(512, 128), torch.randint(10, (512,))), batch_size=64)

    model = Classifier()
    lightning.Trainer(max_epochs=6, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False, num_sanity_val_steps=0, default_root_dir=os.environ["TRUTH_DIR"],
                      callbacks=[Dumps()]).fit(model, loader(), loader())


def oom():
    model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.Tanh()))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    history = []
    while True:
        out = model(torch.randn(512, 256, device="cuda"))
        optimizer.zero_grad()
        out.pow(2).mean().backward()
        optimizer.step()
        history.append(out)


torch.manual_seed(0)
{"trainer": trainer, "lightning": lightning, "oom": oom}[sys.argv[1]]()
