"""Runs one program (`all_programs()` names them) and prints the paths of its dumps as JSON."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "include" / "tensorscope"))  # the stand-in, where there is no preload
SKIPPED = {"train", "tokens", "gpt2_model", "convolution", "alone", "layers", "checkpoint"}


def all_programs():
    import distributed_programs
    import plain_programs
    import transformer_programs
    import varied_programs

    modules = (transformer_programs, plain_programs, distributed_programs, varied_programs)
    return {name: function for module in modules for name, function in vars(module).items()
            if callable(function) and getattr(function, "__module__", "") == module.__name__ and not isinstance(function, type) and name not in SKIPPED}


if __name__ == "__main__":
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    print(json.dumps(all_programs()[sys.argv[1]]().paths))
