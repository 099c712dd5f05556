"""Forecasts of twenty-seven models against what runs of the forecast sizes really need, as tables for docs/forecasts.md.

    .venv/bin/python tests/forecast/forecast_accuracy.py [NAME ...] [--sizes] [--folder FOLDER]

Each model is recorded at one size and at twice that, the forecast is for twice and four times the larger one, and these are recorded
as well; then the what-ifs, against runs that do them. NAME: only these models with their what-ifs, or only these what-ifs, by their rows'
names ("bert in bfloat16", "mlp over 2 ranks"). --sizes: no what-ifs. Recordings that are in the folder already are taken from there.
Takes half an hour on one core.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", ROOT / "build"))
LIBRARY = os.environ.get("TENSORSCOPE_TEST_LIBRARY", str(BUILD / "preload" / "libtensorscope.so"))
CLI = os.environ.get("TENSORSCOPE_TEST_PROGRAM", str(BUILD / "analyzer" / "tensorscope"))
PROGRAM = pathlib.Path(__file__).with_name("forecast_programs.py")
FAKE_CUDA = os.environ.get("TENSORSCOPE_TEST_FAKE_CUDA") or ROOT / ".cache" / "fake-cuda" / "bin" / "python"

# What varies, and its smallest value. gpt2 has two sizes and three inputs.
MODELS = {"mlp": ("batch", 64), "convnet": ("batch", 4), "resnet": ("batch", 4), "unet": ("length", 32), "lstm": ("length", 16),
          "vit": ("batch", 4), "attention": ("length", 64), "gpt2": None, "bert": ("batch", 2), "t5": ("length", 32),
          "llama": ("length", 32)}
# Written before a forecast of them was made, to see how well unseen programs are forecast.
HELD_OUT = {"swin": ("batch", 2), "mamba": ("length", 16), "gnn": ("batch", 8), "translator": ("length", 16)}
# The second round, for autocast and checkpointing: what varies, its smallest value, and what is checkpointed.
HELD_OUT_BLOCKS = {"convnext": ("batch", 2, ("model.blocks.*", "model.later.*")),
                   "summarizer": ("length", 32, ("model.encoder.*", "model.decoder.*")),
                   "pooled_vit": ("batch", 4, ("model.blocks.*",)), "gru_tagger": ("length", 32, ("model.context", "model.tags")),
                   "denoiser": ("batch", 2, ("model.downs.*", "model.ups.*")), "mixer": ("batch", 4, ("model.blocks.*",))}
# The third round, of other kinds: likewise, and for bfloat16.
HELD_OUT_KINDS = {"graph_transformer": ("batch", 4, ("model.layers.*",)), "wavenet": ("length", 256, ("model.layers.*",)),
                  "moe": ("batch", 2, ("model.layers.*",)), "siamese": ("batch", 4, ("model.stages.*",)),
                  "volume_unet": ("batch", 1, ("model.downs.*", "model.ups.*")), "transducer": ("length", 8, ("model.joint",))}
MODELS |= HELD_OUT | {model: (size, least) for model, (size, least, _) in (HELD_OUT_BLOCKS | HELD_OUT_KINDS).items()}
# Whose sizes are told with --vary: the smallest length in its shapes is that of the target, a half.
TOLD = {"summarizer"}
# What if: model, options of all runs, options of the measured run, options of forecast.
WHAT_IF = {
    "llama in bfloat16": ("llama", ("--length", "128"), ("--dtype", "bfloat16"), ("--as", "bfloat16")),
    "mlp in bfloat16": ("mlp", ("--batch", "256"), ("--dtype", "bfloat16"), ("--as", "bfloat16")),
    "llama with checkpointing": ("llama", ("--length", "128"), ("--checkpoint",), ("--checkpoint", "model.model.model.layers.*")),
    "convnet with Adam for SGD": ("convnet", ("--batch", "16"), ("--optimizer", "adam"), ("--optimizer", "adam")),
    "resnet with AdamW for SGD": ("resnet", ("--batch", "16"), ("--optimizer", "adamw"), ("--optimizer", "adamw")),
    "mlp with SGD for AdamW": ("mlp", ("--batch", "256"), ("--optimizer", "sgd"), ("--optimizer", "sgd")),
}
HALF = [(f"{model} in bfloat16", (model, (f"--{size}", str(value)), ("--dtype", "bfloat16"), ("--as", "bfloat16")))
        for model, size, value in (("vit", "batch", 16), ("resnet", "batch", 16), ("bert", "batch", 8), ("gpt2", "batch", 8),
                                   ("t5", "length", 128), ("attention", "length", 256))]
AUTOCAST = [(f"{model} under autocast", (model, (f"--{size}", str(value)), ("--autocast",), ("--as", "autocast")))
            for model, size, value in (("mlp", "batch", 256), ("convnet", "batch", 16), ("resnet", "batch", 16), ("vit", "batch", 16),
                                       ("bert", "batch", 8), ("llama", "length", 128), ("lstm", "length", 64))]
WHAT_IF |= dict(HALF) | dict(AUTOCAST)
WHAT_IF["llama with checkpointing under autocast"] = (
    "llama", ("--length", "128"), ("--checkpoint", "--autocast"), ("--checkpoint", "model.model.model.layers.*", "--as", "autocast"))
for model, size, value in ("swin", "batch", 8), ("mamba", "length", 64), ("gnn", "batch", 32), ("translator", "length", 64):
    WHAT_IF[f"{model} in bfloat16"] = (model, (f"--{size}", str(value)), ("--dtype", "bfloat16"), ("--as", "bfloat16"))
    WHAT_IF[f"{model} under autocast"] = (model, (f"--{size}", str(value)), ("--autocast",), ("--as", "autocast"))
WHAT_IF["gpt2 with checkpointing"] = ("gpt2", ("--batch", "8"), ("--checkpoint",), ("--checkpoint", "model.model.transformer.h.*"))
WHAT_IF["gpt2 with checkpointing under autocast"] = (
    "gpt2", ("--batch", "8"), ("--checkpoint", "--autocast"), ("--checkpoint", "model.model.transformer.h.*", "--as", "autocast"))
for model, (size, least, patterns) in (HELD_OUT_BLOCKS | HELD_OUT_KINDS).items():
    of = (model, (f"--{size}", str(4 * least)))
    checkpointed = tuple(word for pattern in patterns for word in ("--checkpoint", pattern))
    WHAT_IF[f"{model} under autocast"] = (*of, ("--autocast",), ("--as", "autocast"))
    WHAT_IF[f"{model} with checkpointing"] = (*of, ("--checkpoint",), checkpointed)
    if model in HELD_OUT_KINDS:
        WHAT_IF[f"{model} in bfloat16"] = (*of, ("--dtype", "bfloat16"), ("--as", "bfloat16"))
    WHAT_IF[f"{model} with checkpointing under autocast"] = (*of, ("--checkpoint", "--autocast"), (*checkpointed, "--as", "autocast"))
    if model != "denoiser":  # its embedding of time is float32 whatever the model is, so it does not run in bfloat16
        WHAT_IF[f"{model} with checkpointing in bfloat16"] = (
            *of, ("--checkpoint", "--dtype", "bfloat16"), (*checkpointed, "--as", "bfloat16"))
for model, size, value, pattern in (("llama", "length", 128, "model.model.model.layers.*"), ("gpt2", "batch", 8, "model.model.transformer.h.*")):
    WHAT_IF[f"{model} with checkpointing in bfloat16"] = (
        model, (f"--{size}", str(value)), ("--checkpoint", "--dtype", "bfloat16"), ("--checkpoint", pattern, "--as", "bfloat16"))
# The same on a device.
WHAT_IF_ON_A_DEVICE = {
    "mlp in bfloat16": ("mlp", ("--batch", "4096"), ("--dtype", "bfloat16"), ("--as", "bfloat16")),
    "mlp under autocast": ("mlp", ("--batch", "4096"), ("--autocast",), ("--as", "autocast")),
    "vit under autocast": ("vit", ("--batch", "32"), ("--autocast",), ("--as", "autocast")),
    "mlp with SGD for AdamW": ("mlp", ("--batch", "4096"), ("--optimizer", "sgd"), ("--optimizer", "sgd")),
}
# Sharded with fully_shard over processes: model, options of all runs.
RANKS = {"mlp": ("--batch", "256"), "vit": ("--batch", "16"), "gpt2": ("--batch", "8"), "llama": ("--length", "128")}


def run(place, model, *options, python=sys.executable, **more):
    """The process, and where its recording will be."""
    place.mkdir(parents=True, exist_ok=True)
    settings = {key: value for key, value in os.environ.items() if not key.startswith("TENSORSCOPE")}
    settings |= {"LD_PRELOAD": LIBRARY, "TENSORSCOPE_DIR": str(place), "TENSORSCOPE_RECORD": "1", "TENSORSCOPE_LOW_MEMORY": "off",
                 "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TENSORSCOPE_NAMES_GIL_MS": "60000"}
    return subprocess.Popen([str(python), str(PROGRAM), model, *options], env=settings | more, cwd=place, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process):
    """What it printed."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


def record(folder, model, *options, **more):
    """The recording of a run; made where it is not there yet. `more`: as of run()."""
    place = pathlib.Path(folder) / "-".join([model, *(option.strip("-") for option in options)])
    if not list(place.glob("*.recording")):
        ended(run(place, model, *options, **more))
    return next(place.glob("*.recording"))


def record_device(folder, model, *options):
    """The recording of a run on the double of a GPU (scripts/fake-cuda), and what torch said of its peaks."""
    place = pathlib.Path(folder) / "-".join([model, "cuda", *(option.strip("-") for option in options)])
    if not (place / "peaks.json").exists():
        # More than any of them needs: where memory is short, torch gives back what it keeps, which is not forecast.
        process = run(place, model, *options, "--device", "cuda", python=FAKE_CUDA, TENSORSCOPE_FAKE_CUDA_CAPACITY=str(4 << 30))
        (place / "peaks.json").write_text(ended(process).splitlines()[-1])
    return next(place.glob("*.recording")), json.loads((place / "peaks.json").read_text())


def record_ranks(folder, model, ranks, *options):
    """The recordings of all ranks of a job."""
    place = pathlib.Path(folder) / "-".join([model, f"ranks-{ranks}", *(option.strip("-") for option in options)])
    if not list(place.glob("*/*.recording")):
        place.mkdir(parents=True, exist_ok=True)
        jobs = [run(place / str(rank), model, *options, "--ranks", str(ranks), RANK=str(rank), WORLD_SIZE=str(ranks),
                    STORE=str(place / "store")) for rank in range(ranks)]
        for job in jobs:
            ended(job)
    return sorted(place.glob("*/*.recording"))


def tensorscope(*arguments):
    done = subprocess.run([CLI, *map(str, arguments), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def measured(recording):
    return next(curve["peak_bytes"] for curve in tensorscope("timeline", recording)["curves"] if curve["device"] == "cpu")


def measured_of_steps(recording):
    """The highest peak of a step, without what came before the first one."""
    return max(step["peak_bytes"] for step in tensorscope("timeline", recording)["steps"])


def vary(model, size, *seen):
    return ("--vary", f"{size}={','.join(map(str, seen))}") if model in TOLD else ()


def forecast(inputs, sizes, *options):
    sets = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    return tensorscope("forecast", *inputs, *sets, *options)


def plan(model):
    """Options of the runs that are seen, then sizes that are forecast with the options of their runs."""
    if MODELS[model] is None:
        of = lambda batch, length: ("--batch", str(batch), "--length", str(length))
        return ([of(2, 32), of(4, 32), of(2, 64)],
                [({"batch": b, "sequence": s}, of(b, s)) for b, s in ((8, 64), (4, 128), (8, 128), (16, 256))])
    name, least = MODELS[model]
    of = lambda value: (f"--{name}", str(value))
    return [of(least), of(2 * least)], [({name: value}, of(value)) for value in (4 * least, 8 * least)]


def accuracy(folder, model):
    """Yields sizes, forecast answer and measured bytes."""
    seen, wanted = plan(model)
    inputs = [record(folder, model, *options) for options in seen]
    told = vary(model, MODELS[model][0], *(options[1] for options in seen)) if MODELS[model] else ()
    for sizes, options in wanted:
        yield sizes, forecast(inputs, sizes, *told), measured(record(folder, model, *options))


def what_if(folder, name):
    model, options, changed, asked = WHAT_IF[name]
    size, value = options[0].strip("-"), int(options[1])
    inputs = [record(folder, model, f"--{size}", str(value // n)) for n in (4, 2)]
    found = forecast(inputs, {size: value}, *vary(model, size, value // 4, value // 2), *asked)
    return found, measured(record(folder, model, *options, *changed))


def what_if_on_a_device(folder, name):
    """The forecast, and what torch says of a run that does it."""
    model, options, changed, asked = WHAT_IF_ON_A_DEVICE[name]
    size, value = options[0].strip("-"), int(options[1])
    inputs = [record_device(folder, model, f"--{size}", str(value // n))[0] for n in (4, 2)]
    return forecast(inputs, {size: value}, *asked), record_device(folder, model, *options, *changed)[1]["allocated"]


# On a device: model, sizes of the runs that are seen, of the forecast.
DEVICE = {"mlp": ("batch", (1024, 2048), 8192), "vit": ("batch", (8, 16), 64), "unet": ("length", (64, 128), 256), "resnet": ("batch", (8, 16), 64)}


def on_a_device(folder, model):
    size, seen, wanted = DEVICE[model]
    inputs = [record_device(folder, model, f"--{size}", str(value))[0] for value in seen]
    return forecast(inputs, {size: wanted})["forecast"], record_device(folder, model, f"--{size}", str(wanted))[1]


def sharded(folder, model, ranks):
    """The forecast from runs of one process at a half and a quarter of the size, and the peak of each rank of a real job."""
    size, value = RANKS[model][0].strip("-"), int(RANKS[model][1])
    inputs = [record(folder, model, f"--{size}", str(value // n)) for n in (4, 2)]
    found = forecast(inputs, {size: value}, "--ranks", str(ranks))
    return found, [measured_of_steps(one) for one in record_ranks(folder, model, ranks, *RANKS[model])]


def mib(value):
    return f"{value / 2**20:.2f} MiB"


def ends(of, what=""):
    """Both ends of the range of a forecast's peak, or of another amount of it: `what` is "reserved_" or "without_cudnn_"."""
    return of[f"{what}least_bytes"], of[f"{what}most_bytes"]


def within(of, truth, what=""):
    least, most = ends(of, what)
    return least <= truth <= most


CELLS = ("forecast", "range", "measured", "within", "off by")


def cells(of, truth, what=""):
    """A forecast and what was measured, as cells of a table's row."""
    forecast_bytes = of[f"{what or 'peak_'}bytes"]
    least, most = ends(of, what)
    return [mib(forecast_bytes), f"{least / 2**20:.2f} to {mib(most)}", mib(truth), "yes" if within(of, truth, what) else "no",
            f"{(forecast_bytes - truth) / truth:+.2%}"]


def line(*row):
    print(f"| {' | '.join(row)} |", flush=True)


def head(*row):
    print()
    line(*row)
    line(*("---" for _ in row))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--folder")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="forecasts")

    def asked(*names):
        return not options.names or any(name in options.names for name in names)

    head("model", "size", *CELLS)
    for model in filter(asked, MODELS):
        for sizes, found, truth in accuracy(folder, model):
            line(model, ", ".join(f"{k} {v}" for k, v in sizes.items()), *cells(found["forecast"], truth))
    if options.sizes:
        return
    head("what if", *CELLS)
    for name, (model, *_) in WHAT_IF.items():
        if asked(name, model):
            what_if_line(name, *what_if(folder, name))
    for model in RANKS:
        for ranks in 2, 4:
            name = f"{model} over {ranks} ranks"
            if asked(name, model):
                found, peaks = sharded(folder, model, ranks)
                what_if_line(name, found, max(peaks))
    if options.names or not pathlib.Path(FAKE_CUDA).exists():
        return
    head("what if, on a device", *CELLS)
    for name in WHAT_IF_ON_A_DEVICE:
        what_if_line(name, *what_if_on_a_device(folder, name))
    head("on a device", *CELLS, *(f"reserved: {cell}" for cell in CELLS))
    for model, (size, _, wanted) in DEVICE.items():
        of, says = on_a_device(folder, model)
        line(f"{model}, {size} {wanted}", *cells(of, says["allocated"]), *cells(of, says["reserved"], "reserved_"))


def what_if_line(name, found, truth):
    line(name, *cells(found["what_if"][-1], truth))  # of all changes together


if __name__ == "__main__":
    main()
