"""Trains small models of real libraries for two steps and writes what the program itself calls their tensors (named_parameters,
named_buffers, optimizer.state_dict) to $TRUTH_DIR/ARGUMENT.json: `transformers` (GPT-2, BERT, ViT) or `lightning`."""
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import libtensorscope
import torch


def names_of(root, model, names):
    for name, tensor in model.named_parameters(remove_duplicate=False):
        names["parameter"].setdefault(tensor._cdata, []).append(f"{root}.{name}")
        if tensor.grad is not None:
            gradient = names["gradient"].setdefault(tensor.grad._cdata, [])
            gradient.append(f"{root}.{name}.grad")
    for name, tensor in model.named_buffers(remove_duplicate=False):
        names["buffer"].setdefault(tensor._cdata, []).append(f"{root}.{name}")


def state_of(optimizer, names):
    kind = type(optimizer).__name__
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, entries in optimizer.state_dict()["state"].items():
        held = optimizer.state[parameters[number]]
        for key, value in entries.items():
            if isinstance(value, torch.Tensor):
                assert held[key] is value
                names["optimizer state"][value._cdata] = [
                    f"{kind}.state['{name}'].{key}" for name in names["parameter"][parameters[number]._cdata]]
                names["keys"][value._cdata] = parameters[number]._cdata


def dump(optimizers, **models):
    names = {"parameter": {}, "buffer": {}, "gradient": {}, "optimizer state": {}, "keys": {}}
    for root, model in models.items():
        names_of(root, model, names)
    for optimizer in optimizers:
        state_of(optimizer, names)
    modules = {f"{root}.{path}" if path else root: type(module).__name__ for root, model in models.items()
               for path, module in model.named_modules()}
    with open(os.path.join(os.environ["TRUTH_DIR"], f"{sys.argv[1]}.json"), "w") as file:
        json.dump({"keys": names.pop("keys"), "names": names, "modules": modules, "dump": libtensorscope.dump()}, file)


def lightning_run():
    import lightning
    import torchmetrics
    from torch import nn

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
            self.right = torchmetrics.classification.MulticlassAccuracy(3)

        def training_step(self, batch, _):
            x, y = batch
            guess = self.net(x)
            self.right(guess, y)
            loss = nn.functional.cross_entropy(guess, y)
            self.log("loss", loss)
            self.log("right", self.right)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    class DumpsInTheSecondStep(lightning.Callback):
        def on_before_optimizer_step(self, trainer, module, optimizer):
            if trainer.global_step == 1:
                dump([optimizer], classifier=module)

    def main():
        classifier = Classifier()
        data = torch.utils.data.TensorDataset(torch.randn(12, 8), torch.randint(3, (12,)))
        trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False,
                                    callbacks=[DumpsInTheSecondStep()])
        trainer.fit(classifier, torch.utils.data.DataLoader(data, batch_size=6))

    main()


torch.manual_seed(0)
if sys.argv[1] == "lightning":
    lightning_run()
else:
    from transformers import (BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, ViTConfig,
                              ViTForImageClassification)

    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2, use_cache=False,
                                      bos_token_id=None, eos_token_id=None))
    bert = BertForSequenceClassification(BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                                    intermediate_size=32, max_position_embeddings=16))
    vit = ViTForImageClassification(ViTConfig(image_size=16, patch_size=8, hidden_size=16, num_hidden_layers=2,
                                              num_attention_heads=2, intermediate_size=32))
    optimizers = [torch.optim.AdamW(gpt2.parameters()), torch.optim.Adam(bert.parameters()),
                  torch.optim.SGD(vit.parameters(), lr=1e-3, momentum=0.9)]
    for _ in range(2):
        tokens = torch.randint(64, (2, 8))
        outputs = [gpt2(input_ids=tokens, labels=tokens), bert(input_ids=tokens, labels=torch.tensor([0, 1])),
                   vit(pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([0, 1]))]
        for output, optimizer in zip(outputs, optimizers):
            optimizer.zero_grad()
            output.loss.backward()
            optimizer.step()
    dump(optimizers, gpt2=gpt2, bert=bert, vit=vit)
