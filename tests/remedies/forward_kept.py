"""What a forward pass leaves allocated, in float32 and under autocast: run by tests/integration/test_autocast_gain.py on the double of a GPU.

    forward_kept.py MODEL        under the profiler: prints the path of a dump and the bytes
    forward_kept.py MODEL half   under autocast, in bfloat16: prints the bytes"""
import contextlib
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [*map(str, (ROOT / ".venv" / "lib").glob("python3*/site-packages")), str(ROOT / "include" / "tensorscope")]


def of_transformers(kind, config, **options):
    import transformers
    model = getattr(transformers, kind)(getattr(transformers, config)(**options)).train()
    return model, lambda: model(input_ids=torch.randint(0, 1000, (8, 256)), labels=torch.randint(0, 1000, (8, 256))).loss


def images(model, size, classes):
    return model, lambda: functional.cross_entropy(model(torch.rand(8, 3, size, size)), torch.zeros(8, dtype=torch.long) + classes - 1)


def gpt2():
    return of_transformers("GPT2LMHeadModel", "GPT2Config", n_embd=256, n_layer=4, n_head=4, vocab_size=8000, use_cache=False)


def llama():
    return of_transformers("LlamaForCausalLM", "LlamaConfig", hidden_size=256, intermediate_size=704, num_hidden_layers=4, num_attention_heads=4,
                           num_key_value_heads=2, vocab_size=8000, use_cache=False)


def t5():
    return of_transformers("T5ForConditionalGeneration", "T5Config", d_model=256, num_layers=2, num_heads=4, d_kv=64, d_ff=1024, vocab_size=8000,
                           use_cache=False, decoder_start_token_id=0)


def unet():
    from programs_vision import UNet
    model = UNet((32, 64, 128))
    noise = torch.randn(4, 4, 64, 64)
    return model, lambda: functional.mse_loss(model(noise, torch.rand(4, 1)), noise)


def vit():
    from programs_vision import ViT
    return images(ViT(depth=4), 224, 1000)


def resnet():
    from programs_vision import ResNet
    return images(ResNet((1, 1, 1, 1)), 160, 1000)


def convnext():
    from programs_vision import ConvNeXt
    return images(ConvNeXt(), 160, 100)


def custom():
    from programs_sequences import SwishBlock
    model = nn.Sequential(*[SwishBlock(256) for _ in range(4)])
    return model, lambda: model(torch.rand(4096, 256)).square().mean()


def main():
    torch.manual_seed(0)
    half = sys.argv[2:] == ["half"]
    with torch.device("cuda"):
        _, forward = globals()[sys.argv[1]]()
        with torch.autocast("cuda", dtype=torch.bfloat16) if half else contextlib.nullcontext():
            loss = forward()
    if not half:
        import libtensorscope
        print("dump", libtensorscope.dump())
    print("kept", torch.cuda.memory_allocated())
    return loss


if __name__ == "__main__":
    main()
