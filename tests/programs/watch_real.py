"""Models of real libraries, which the program itself watches with hooks of its own: `gpt2`, `bert`, `lightning`, `lstm`. Writes to TRUTH_DIR/truth.pt what each
call of a module returned, the order of the calls and the gradients before each step of the optimizer."""

import dataclasses
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from torch import nn

STEPS = 2


def tensors(value):
    """All tensors of a structure, in its order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for each in value.values() for tensor in tensors(each)]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors(each)]
    if dataclasses.is_dataclass(value):
        return [tensor for field in dataclasses.fields(value) for tensor in tensors(getattr(value, field.name))]
    return []


class Truth:
    def __init__(self):
        self.outputs, self.gradients, self.order, self.step, self.parameters = [], [], [], 0, []

    def model(self, root, model):
        self.parameters += [(f"{root}.{name}", parameter) for name, parameter
                            in model.named_parameters(remove_duplicate=False)]  # not the model: it would have a name by them
        for path, module in model.named_modules():
            name = f"{root}.{path}" if path else root
            module.register_forward_pre_hook(lambda _, __, name=name: self.order.append((name, self.step)))
            module.register_forward_hook(lambda _, __, out, name=name: self.outputs.append(
                (name, self.step, [tensor.detach().clone() for tensor in tensors(out)])))

    def before_step(self):
        self.gradients += [(f"{name}.grad", self.step, parameter.grad.clone())
                           for name, parameter in self.parameters if parameter.grad is not None]

    def after_step(self):
        self.step += 1

    def write(self):
        if "TRUTH_DIR" in os.environ:
            torch.save({"outputs": self.outputs, "gradients": self.gradients, "order": self.order},
                       pathlib.Path(os.environ["TRUTH_DIR"]) / "truth.pt")


def train(truth, model, root, batch, loss_of, autocast=False):
    truth.model(root, model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = loss_of(model, batch(step))
        loss.backward()
        truth.before_step()
        optimizer.step()
        truth.after_step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def tokens(step):
    return torch.randint(64, (2, 8), generator=torch.Generator().manual_seed(step))


def gpt2_model(dropout=0.1):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=3, n_head=2, use_cache=False, resid_pdrop=dropout,
                                      embd_pdrop=dropout, attn_pdrop=dropout, bos_token_id=None, eos_token_id=None))


def bert_model(dropout=0.1):
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16,
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout))


def gpt2(truth):
    model = gpt2_model()
    return train(truth, model, "model", tokens, lambda model, x: model(input_ids=x, labels=x).loss)


def bert(truth):
    model = bert_model()
    mask = torch.tensor([[1] * 8, [1] * 5 + [0] * 3])
    return train(truth, model, "model", tokens,
                 lambda model, x: model(input_ids=x, attention_mask=mask, labels=torch.tensor([0, 1])).loss)


class Tagger(nn.Module):
    """Sequences of several lengths, packed, and the same again with padding and with single steps."""

    def __init__(self):
        super().__init__()
        self.packed = nn.LSTM(4, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.padded = nn.LSTM(16, 8, batch_first=True)
        self.cell = nn.LSTMCell(8, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x, lengths):
        packed, _ = self.packed(nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        padded, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        out, (hidden, cell) = self.padded(padded)
        state = None
        for part in out.unbind(1):
            state = self.cell(part, state)
        return self.head(state[0])


def lstm(truth):
    model = Tagger()
    lengths = torch.tensor([3, 6, 5])
    return train(truth, model, "model", lambda step: torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(step)),
                 lambda model, x: model(x, lengths).square().mean())


def lightning(truth):
    import lightning as pl

    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
            self.losses = []

        def training_step(self, batch, _):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.log("loss", loss)
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    class Steps(pl.Callback):
        def on_before_optimizer_step(self, trainer, module, optimizer):
            truth.before_step()

        def on_train_batch_end(self, *_):
            truth.after_step()

    model = Classifier()
    truth.model("model", model)
    generator = torch.Generator().manual_seed(5)
    data = torch.utils.data.TensorDataset(torch.randn(12, 8, generator=generator), torch.randint(3, (12,), generator=generator))
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                         enable_model_summary=False, callbacks=[Steps()])
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=6))
    return model.losses


def several(_, kind):
    """GPT-2 and BERT in one process, without dropout: `float32`, `autocast`, `layer` (one weight of one layer differs), `nan` (one layer of
    GPT-2 takes a logarithm in the second step)."""
    gpt2, bert = gpt2_model(dropout=0.0), bert_model(dropout=0.0)
    if kind == "layer":
        with torch.no_grad():
            gpt2.transformer.h[1].mlp.c_fc.weight[3, 5] += 0.5
    optimizer = torch.optim.SGD([*gpt2.parameters(), *bert.parameters()], lr=0.01)
    losses = []
    for step in range(STEPS):
        if kind == "nan" and step == 1:
            gpt2.transformer.h[1].mlp.act.forward = lambda x: torch.log(x - 10)  # here: act
        x = tokens(step)
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == "autocast"):
            loss = gpt2(input_ids=x, labels=x).loss + bert(input_ids=x, labels=torch.tensor([0, 1])).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    truth = Truth()
    losses = globals()[sys.argv[1]](truth, *sys.argv[2:])
    truth.write()
    print(losses, torch.rand(3).tolist())


if __name__ == "__main__":
    main()
