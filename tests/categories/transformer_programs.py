"""Models of transformers with random weights, its Trainer, generation, adapters."""

import torch
from moments import LAST, Moments, train


def tokens(vocabulary=2000, batch=4, length=64):
    return torch.randint(0, vocabulary, (batch, length))


def gpt2_model(**more):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=3, n_head=4, n_embd=128, vocab_size=2000, n_positions=256, **more))


def gpt2():
    model, batch = gpt2_model(), tokens()
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(batch, labels=batch).loss)


def gpt2_checkpointed():
    model, batch = gpt2_model(), tokens()
    model.gradient_checkpointing_enable()
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(batch, labels=batch, use_cache=False).loss)


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    model = BertForSequenceClassification(BertConfig(num_hidden_layers=3, hidden_size=128, num_attention_heads=4, intermediate_size=512, vocab_size=2000))
    batch, labels = tokens(), torch.randint(0, 2, (4,))
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(input_ids=batch, labels=labels).loss)


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(T5Config(num_layers=2, d_model=128, d_ff=256, num_heads=4, d_kv=32, vocab_size=2000, decoder_start_token_id=0))
    batch = tokens()
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(input_ids=batch, labels=batch).loss)


def llama_bfloat16_master_copies():
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, hidden_size=128, intermediate_size=384, num_attention_heads=4, num_key_value_heads=2,
                                         vocab_size=2000)).to(torch.bfloat16)
    batch, masters = tokens(), [parameter.detach().float().requires_grad_() for parameter in model.parameters()]
    optimizer, moments = torch.optim.AdamW(masters), Moments(model.parameters())
    for _ in range(LAST + 1):
        moments.step()
        loss = model(input_ids=batch, labels=batch).loss
        moments.at("forward")
        loss.backward()
        for master, parameter in zip(masters, model.parameters()):
            master.grad, parameter.grad = parameter.grad.float(), None
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for master, parameter in zip(masters, model.parameters()):
                parameter.copy_(master)
        moments.at("after the step")
    return moments


class Adapter(torch.nn.Module):
    """As PEFT's LoRA layers."""

    def __init__(self, base, rank=8):
        super().__init__()
        self.base_layer = base.requires_grad_(False)
        out, into = base.weight.shape if isinstance(base, torch.nn.Linear) else base.weight.shape[::-1]
        self.lora_A, self.lora_B = torch.nn.Linear(into, rank, bias=False), torch.nn.Linear(rank, out, bias=False)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(self.dropout(x)))


def lora():
    model, batch = gpt2_model(), tokens()
    model.requires_grad_(False)
    for block in model.transformer.h:
        block.attn.c_attn = Adapter(block.attn.c_attn)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return train(model, torch.optim.AdamW(trained), lambda model: model(batch, labels=batch).loss)


def generation():
    model, moments = gpt2_model().eval(), Moments()
    names = {5: "forward", 20: "backward", 40: "after the step"}  # three moments of one generation, which has no others
    calls = []

    def called(module, arguments, result):
        calls.append(None)
        if len(calls) in names:
            moments.at(names[len(calls)])

    moments.number = LAST
    model.transformer.register_forward_hook(called)
    model.generate(tokens(length=16), max_new_tokens=50, do_sample=False, pad_token_id=0)
    return moments


def trainer():
    from transformers import Trainer, TrainerCallback, TrainingArguments

    model, moments = gpt2_model(), None
    moments = Moments(model.parameters())
    data = [{"input_ids": row, "labels": row} for row in torch.randint(0, 2000, (16, 64))]

    class AtSteps(TrainerCallback):
        def on_step_begin(self, *arguments, **keywords):
            moments.step()

        def on_step_end(self, *arguments, **keywords):
            moments.at("after the step")

    model.register_forward_hook(lambda *arguments: moments.at("forward"))
    settings = TrainingArguments("unused", max_steps=LAST + 1, per_device_train_batch_size=4, report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=True)
    Trainer(model=model, args=settings, train_dataset=data, callbacks=[AtSteps()]).train()
    return moments


def mixtral_accelerated():
    """A mixture of experts with accelerate: autocast, two batches before each step of the optimizer, clipped gradients."""
    from accelerate import Accelerator
    from transformers import MixtralConfig, MixtralForCausalLM

    model = MixtralForCausalLM(MixtralConfig(num_hidden_layers=2, hidden_size=128, intermediate_size=256, num_attention_heads=4, num_key_value_heads=2,
                                             num_local_experts=4, num_experts_per_tok=2, vocab_size=2000, output_router_logits=True))
    accelerator, moments = Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=2), Moments(model.parameters())
    data = torch.utils.data.DataLoader(torch.randint(0, 2000, (8 * (LAST + 1), 64)), batch_size=4)
    model, optimizer, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), data)
    for number, batch in enumerate(data):
        if number % 2 == 0:
            moments.step()
        with accelerator.accumulate(model):
            loss = model(input_ids=batch, labels=batch).loss
            moments.at("forward")
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if number % 2 == 1:
            moments.at("after the step")
    return moments


def wav2vec2():
    """Speech to letters: a convolution over the samples, masked frames, CTC."""
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    model = Wav2Vec2ForCTC(Wav2Vec2Config(vocab_size=40, hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256,
                                          conv_dim=(64,) * 7, mask_time_length=4, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4))
    model.train()
    sound, letters = torch.randn(4, 16000), torch.randint(1, 40, (4, 12))
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(sound, labels=letters).loss)


def mamba():
    """A state space model, whose scan over the tokens is a loop in Python."""
    from transformers import MambaConfig, MambaForCausalLM

    model, batch = MambaForCausalLM(MambaConfig(vocab_size=2000, hidden_size=128, state_size=8, num_hidden_layers=2)), tokens(length=32)
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(input_ids=batch, labels=batch).loss)
