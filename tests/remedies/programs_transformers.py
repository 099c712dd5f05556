"""Models of the transformers library with random weights, in loops as its users write them."""
import torch
import transformers

from remedy_trial import program


def tokens(trial, batch, length, vocabulary=1000):
    return torch.randint(0, vocabulary, (batch, length), device=trial.device)


def made(trial, kind, config):
    with torch.device(trial.device):
        return trial.ready(kind(config).train())


@program()
def gpt2_training(trial):
    """GPT-2, 12 layers, AdamW"""
    config = transformers.GPT2Config(n_embd=512, n_layer=12, n_head=8, use_cache=False)
    model = made(trial, transformers.GPT2LMHeadModel, config)
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    for _ in range(2):
        ids = tokens(trial, trial.batch(8), 512)
        with trial.autocast():
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def bert_training(trial):
    """BERT for classification, long sequences, AdamW"""
    config = transformers.BertConfig(hidden_size=512, num_hidden_layers=8, num_attention_heads=8, intermediate_size=2048)
    model = made(trial, transformers.BertForSequenceClassification, config)
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters(), lr=1e-4)
    for _ in range(2):
        ids = tokens(trial, trial.batch(32), 256)
        labels = torch.zeros(len(ids), dtype=torch.long, device=trial.device)
        with trial.autocast():
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def t5_training(trial):
    """T5, encoder and decoder, AdamW"""
    config = transformers.T5Config(d_model=512, num_layers=6, num_heads=8, d_ff=2048, use_cache=False, dropout_rate=0.1,
                                   decoder_start_token_id=0)
    model = made(trial, transformers.T5ForConditionalGeneration, config)
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    for _ in range(2):
        batch = trial.batch(16)
        ids, labels = tokens(trial, batch, 256), tokens(trial, batch, 128)
        with trial.autocast():
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def llama_training(trial):
    """a small Llama, vocabulary of 32,000, AdamW"""
    config = transformers.LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8,
                                      num_key_value_heads=4, vocab_size=32000, use_cache=False)
    model = made(trial, transformers.LlamaForCausalLM, config)
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    for _ in range(2):
        ids = tokens(trial, trial.batch(4), 1024)
        with trial.autocast():
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def gpt2_large_optimizer(trial):
    """a wide GPT-2 with little text: the optimizer's step has the peak"""
    config = transformers.GPT2Config(n_embd=768, n_layer=4, n_head=16, vocab_size=2000, use_cache=False)
    model = made(trial, transformers.GPT2LMHeadModel, config)
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    for _ in range(2):
        ids = tokens(trial, trial.batch(2), 64)
        with trial.autocast():
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def bert_evaluation(trial):
    """BERT evaluated after a step of training, without torch.no_grad(), the logits kept"""
    config = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536)
    model = made(trial, transformers.BertForSequenceClassification, config)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    ids = tokens(trial, 4, 128)
    model(input_ids=ids, labels=torch.zeros(4, dtype=torch.long, device=trial.device)).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return evaluate(trial, model)


def evaluate(trial, model):
    model.eval()
    logits = []
    with torch.set_grad_enabled(not trial.tries("no-grad")):
        for _ in range(6):
            outputs = model(input_ids=tokens(trial, trial.batch(16), 128))
            logits.append(outputs.logits.detach() if trial.tries("drop-holder") else outputs.logits)
    return torch.cat(logits)


@program()
def gpt2_logged_losses(trial):
    """GPT-2 whose losses are kept with their graphs"""
    config = transformers.GPT2Config(n_embd=256, n_layer=6, n_head=4, vocab_size=2000, use_cache=False)
    model = made(trial, transformers.GPT2LMHeadModel, config)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(6):
        ids = tokens(trial, trial.batch(8), 256)
        with trial.autocast():
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward(retain_graph=True)
        losses.append(loss.detach() if trial.tries("drop-holder") else loss)
        optimizer.step()
        optimizer.zero_grad()
    return losses
