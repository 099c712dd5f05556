"""Vision models written out as timm, torchvision and diffusers have them."""
import torch
from torch import nn
from torch.nn import functional

from remedy_trial import program


class Bottleneck(nn.Module):
    def __init__(self, channels, inner, stride=1, before=None):
        super().__init__()
        before = before or channels
        self.conv1, self.bn1 = nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = nn.Conv2d(inner, channels, 1, bias=False), nn.BatchNorm2d(channels)
        self.act = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or before != channels:
            self.downsample = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.act(self.bn1(self.conv1(x)))
        x = self.act(self.bn2(self.conv2(x)))
        return self.act(self.bn3(self.conv3(x)) + shortcut)


class ResNet(nn.Module):
    def __init__(self, depths=(3, 4, 6, 3), width=64, classes=1000):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(3, 2, 1))
        before, stages = width, []
        for number, depth in enumerate(depths):
            inner = width << number
            blocks = [Bottleneck(4 * inner, inner, 1 if number == 0 else 2, before)]
            blocks += [Bottleneck(4 * inner, inner) for _ in range(depth - 1)]
            stages.append(nn.Sequential(*blocks))
            before = 4 * inner
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(before, classes)

    def forward(self, x):
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(x.mean((2, 3)))


def train(trial, model, optimizer, shape, classes, steps=2):
    for _ in range(steps):
        images = torch.rand(shape, device=trial.device)
        labels = torch.zeros(shape[0], dtype=torch.long, device=trial.device)
        with trial.autocast():
            loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def resnet50_training(trial):
    """ResNet-50, SGD with momentum"""
    model = trial.ready(ResNet().to(trial.device))
    optimizer = trial.optimizer(torch.optim.SGD, model.parameters(), lr=0.1, momentum=0.9)
    train(trial, model, optimizer, (trial.batch(16), 3, 160, 160), 1000)


class ViTBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attention = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1)
        x = x + self.proj((attention @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, width=384, depth=12, heads=6, patch=16, size=224):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.pos_embed = nn.Parameter(torch.zeros(1, (size // patch) ** 2, width))
        self.blocks = nn.Sequential(*[ViTBlock(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2) + self.pos_embed
        return self.head(self.norm(self.blocks(x)).mean(1))


@program()
def vit_training(trial):
    """ViT-S with attention written out, AdamW"""
    model = trial.ready(ViT().to(trial.device))
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    train(trial, model, optimizer, (trial.batch(32), 3, 224, 224), 1000)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv_dw, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = self.norm(self.conv_dw(x).permute(0, 2, 3, 1))
        y = self.fc2(functional.gelu(self.fc1(y))) * self.gamma
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, widths=(64, 128, 256), depths=(2, 2, 4)):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 4, 4)
        self.stages = nn.ModuleList()
        for number, (width, depth) in enumerate(zip(widths, depths)):
            down = nn.Identity() if number == 0 else nn.Conv2d(widths[number - 1], width, 2, 2)
            self.stages.append(nn.Sequential(down, *[ConvNeXtBlock(width) for _ in range(depth)]))
        self.head = nn.Linear(widths[-1], 100)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


@program()
def convnext_training(trial):
    """ConvNeXt, AdamW"""
    model = trial.ready(ConvNeXt().to(trial.device))
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    train(trial, model, optimizer, (trial.batch(16), 3, 224, 224), 100)


class ResnetBlock(nn.Module):
    def __init__(self, before, after, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, before), nn.Conv2d(before, after, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, after), nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(time, after)
        self.shortcut = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(functional.silu(self.norm1(x)))
        h = h + self.time(functional.silu(time))[:, :, None, None]
        return self.conv2(functional.silu(self.norm2(h))) + self.shortcut(x)


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256), time=128):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, time), nn.SiLU(), nn.Linear(time, time))
        self.inlet = nn.Conv2d(4, widths[0], 3, padding=1)
        self.downs, self.ups, before = nn.ModuleList(), nn.ModuleList(), widths[0]
        for width in widths:
            self.downs.append(ResnetBlock(before, width, time))
            before = width
        self.middle = ResnetBlock(before, before, time)
        for width in reversed(widths):
            self.ups.append(ResnetBlock(before + width, width, time))
            before = width
        self.outlet = nn.Conv2d(before, 4, 3, padding=1)

    def forward(self, x, time):
        time, x, kept = self.time(time), self.inlet(x), []
        for down in self.downs:
            x = down(x, time)
            kept.append(x)
            x = functional.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for up in self.ups:
            x = functional.interpolate(x, scale_factor=2.0)
            x = up(torch.cat([x, kept.pop()], 1), time)
        return self.outlet(x)


@program()
def unet_training(trial):
    """a diffusion UNet as diffusers has them, AdamW, an average of the weights"""
    model = trial.ready(UNet().to(trial.device))
    average = UNet().to(trial.device).requires_grad_(False)
    optimizer = trial.optimizer(torch.optim.AdamW, model.parameters())
    for _ in range(2):
        latents = torch.randn(trial.batch(8), 4, 128, 128, device=trial.device)
        noise, time = torch.randn_like(latents), torch.rand(len(latents), 1, device=trial.device)
        with trial.autocast():
            loss = functional.mse_loss(model(latents + noise, time), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for mine, theirs in zip(average.parameters(), model.parameters()):
                mine.lerp_(theirs, 0.01)
