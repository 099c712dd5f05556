"""Whole outputs of generate() are kept for a report that needs the ids only."""
# after: huggingface/transformers: generate() with return_dict_in_generate
# fix: report.append(out.sequences)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "report"
# lines = ["out = model.generate("]
# bytes = 226048  # 16 scores of 4 x 512 floats, a cache of 2 layers x 2 x 4 x 4 x 23 x 16 floats, 4 x 24 ids
# ///
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from ask import at

torch.manual_seed(0)
config = GPT2Config(vocab_size=512, n_positions=64, n_embd=64, n_layer=2, n_head=4)
model = GPT2LMHeadModel(config).eval()
report = []


def answer(prompt):
    out = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=16,
        min_new_tokens=16,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        eos_token_id=None,
        pad_token_id=0,
    )
    return out


for step in range(1, 67):
    prompt = torch.randint(1, 512, (4, 8))
    out = answer(prompt)
    report.append(out)
    at(step)
print("answers", len(report), report[-1].sequences.shape)
