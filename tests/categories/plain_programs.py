"""Models of torch.nn alone, and what is done around them."""

import copy

import torch
from moments import LAST, Moments, train
from torch import nn
from torch.utils.checkpoint import checkpoint


def lstm():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm, self.head = nn.Embedding(1000, 128), nn.LSTM(128, 256, 2, batch_first=True), nn.Linear(256, 1000)

        def forward(self, x):
            return self.head(self.lstm(self.embedding(x))[0])

    model, x = Net(), torch.randint(0, 1000, (8, 64))
    return train(model, torch.optim.Adam(model.parameters()), lambda model: nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten()))


def convolution(into, out, stride=1):
    return nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


def resnet():
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.second = convolution(width, width), convolution(width, width)

        def forward(self, x):
            return x + self.second(self.first(x))

    model = nn.Sequential(convolution(3, 32, 2), Block(32), convolution(32, 64, 2), Block(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    x, y = torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,))
    return train(model, torch.optim.SGD(model.parameters(), momentum=0.9, lr=0.1), lambda model: nn.functional.cross_entropy(model(x), y))


def unet_with_averaged_copy():
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.middle = nn.ModuleList([convolution(3, 32, 2), convolution(32, 64, 2)]), convolution(64, 64)
            self.up = nn.ModuleList([nn.ConvTranspose2d(128, 32, 2, 2), nn.ConvTranspose2d(64, 3, 2, 2)])

        def forward(self, x):
            kept = []
            for layer in self.down:
                x = layer(x)
                kept.append(x)
            x = self.middle(x)
            for layer in self.up:
                x = layer(torch.cat([x, kept.pop()], 1))
            return x

    model = UNet()
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    clean = torch.randn(4, 3, 64, 64)

    def loss(model):
        noise = torch.randn_like(clean)
        return nn.functional.mse_loss(model(clean + noise), noise)

    return train(model, torch.optim.AdamW(model.parameters()), loss, lambda: average.update_parameters(model))


def vision_transformer():
    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.places = nn.Conv2d(3, 128, 8, 8), nn.Parameter(torch.zeros(1, 65, 128))
            self.token, self.head = nn.Parameter(torch.zeros(1, 1, 128)), nn.Linear(128, 10)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, norm_first=True), 3, enable_nested_tensor=False)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            return self.head(self.encoder(torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places)[:, 0])

    model, x, y = ViT(), torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,))
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: nn.functional.cross_entropy(model(x), y))


def adversarial():
    maker = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1024))
    judge = nn.Sequential(nn.Linear(1024, 512), nn.LeakyReLU(), nn.Linear(512, 1))
    for_maker, for_judge = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    moments, real = Moments(maker.parameters()), torch.randn(64, 1024)
    for _ in range(LAST + 1):
        moments.step()
        made = maker(torch.randn(64, 64))
        for_judge.zero_grad()
        (judge(made.detach()).mean() - judge(real).mean()).backward()
        for_judge.step()
        for_maker.zero_grad()
        loss = -judge(made).mean()
        moments.at("forward")
        loss.backward()
        for_maker.step()
        moments.at("after the step")
    return moments


def q_learning():
    online = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))
    target, memory = copy.deepcopy(online), [(torch.randn(64), torch.randint(0, 8, ()), torch.randn(64)) for _ in range(2000)]

    def loss(model):
        before, action, after = (torch.stack(part) for part in zip(*memory[:64]))
        with torch.no_grad():
            wanted = target(after).max(1).values
        return nn.functional.smooth_l1_loss(model(before).gather(1, action[:, None])[:, 0], wanted)

    return train(online, torch.optim.Adam(online.parameters()), loss, lambda: memory.append((torch.randn(64), torch.randint(0, 8, ()), torch.randn(64))))


def tied_weights():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.body, self.head = nn.Embedding(4000, 128), nn.GRU(128, 128, batch_first=True), nn.Linear(128, 4000, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, x):
            return self.head(self.body(self.embedding(x))[0])

    model, x = Net(), torch.randint(0, 4000, (4, 32))
    return train(model, torch.optim.Adam(model.parameters()), lambda model: nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten()))


class Deep(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.layers, self.reentrant = nn.ModuleList([nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(4)]), reentrant

    def forward(self, x):
        for layer in self.layers:
            x = x + checkpoint(layer, x, use_reentrant=self.reentrant)
        return x


def checkpoint_reentrant(reentrant=True):
    model, x = Deep(reentrant), torch.randn(64, 256, requires_grad=True)
    return train(model, torch.optim.AdamW(model.parameters()), lambda model: model(x).square().mean())


def checkpoint_not_reentrant():
    return checkpoint_reentrant(False)


def autocast_with_scaler():
    model, x = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)), torch.randn(64, 256)
    optimizer, scaler, moments = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cpu"), Moments(model.parameters())
    for _ in range(LAST + 1):
        moments.step()
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).float().square().mean()
        moments.at("forward")
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        moments.at("after the step")
    return moments


def quantised_layers():
    class Quantised(nn.Module):
        """Weights of eight bits with a scale for each row, as bitsandbytes keeps them; what is trained lies beside it."""

        def __init__(self, width):
            super().__init__()
            weight = torch.randn(width, width)
            self.register_buffer("scale", weight.abs().amax(1, keepdim=True) / 127)
            self.register_buffer("weight", (weight / self.scale).round().to(torch.int8))
            self.adapter = nn.Linear(width, width)

        def forward(self, x):
            return nn.functional.linear(x, self.weight.float() * self.scale) + self.adapter(x)

    model, x = nn.Sequential(Quantised(512), nn.ReLU(), Quantised(512)), torch.randn(32, 512)
    return train(model, torch.optim.Adam(model.parameters()), lambda model: model(x).square().mean())


def sampled_graph():
    class Convolution(nn.Module):
        def __init__(self, into, out):
            super().__init__()
            self.own, self.others = nn.Linear(into, out), nn.Linear(into, out)

        def forward(self, x, edges):
            gathered = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])
            return self.own(x) + self.others(gathered)

    features, edges = torch.randn(4000, 64), torch.randint(0, 4000, (2, 20000))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Convolution(64, 128), Convolution(128, 16)

        def forward(self, x, edges):
            return self.second(self.first(x, edges).relu(), edges)

    def loss(model):
        nodes = torch.randperm(4000)[:1000]
        place = torch.full((4000,), -1).index_copy_(0, nodes, torch.arange(1000))
        inside = (place[edges[0]] >= 0) & (place[edges[1]] >= 0)
        return model(features[nodes], place[edges[:, inside]]).square().mean()

    model = Net()
    return train(model, torch.optim.Adam(model.parameters()), loss)
