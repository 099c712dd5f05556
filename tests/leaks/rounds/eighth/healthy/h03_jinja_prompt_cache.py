"""Environment(cache_size=8) keeps 8 compiled templates; full at step 8; the encodings of prompts are temporary."""
# report: "prompt templates from strings fill the environment's cache": the cache is an LRU
# looks like: a new template for every request (plain Python objects), loader asked for a new name each time
# library: jinja2
# /// healthy
# dumps = "asks"
# ///
import torch
from jinja2 import Environment, FunctionLoader
from ask import at

torch.manual_seed(0)


def source(name):
    return "User {{ user }} asks in session %s: " % name + "".join("{%% if n > %d %%}word%d {%% endif %%}" % (i, i) for i in range(20))


env = Environment(loader=FunctionLoader(source), cache_size=8)
embed = torch.nn.Embedding(256, 64)


def answer(step):
    text = env.get_template("session-%d" % step).render(user="u%d" % step, n=step % 20)
    with torch.inference_mode():
        return embed(torch.tensor(list(text.encode()))).mean(0).argmax().item()


for step in range(1, 71):
    answer(step)
    at(step)
print(len(env.cache))
