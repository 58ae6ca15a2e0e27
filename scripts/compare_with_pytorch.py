"""Holds one training step of a task against PyTorch: loss, every gradient, and the parameters after Adam.

usage: compare_with_pytorch.py isolated|colour|sequential TRACE.safetensors

The trace comes from the example `trace` of nalm-vision. It holds the parameters before, the images, which numbers dropout left, the noise
of the sNMU, and what came of it. Everything is computed anew here by autograd; exits with 1 if anything is off by more than 1e-4, relative to
the size of its tensor. Needs torch and numpy.
"""
import json
import struct
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        tensors[name] = torch.from_numpy(np.frombuffer(data[start:end], np.float32).reshape(entry["shape"]).copy())
    return tensors


def channels_first(x):
    return x.permute(0, 3, 1, 2)


def mask(kept, drop):
    """What dropout left, scaled. A zero that ReLU made stays zero either way."""
    return (kept > 0).float() / (1 - drop)


def expected(logits):
    return (torch.softmax(logits, 1) * torch.arange(10.0)).sum(1)


def classify(p, x, t):
    x = F.relu(F.conv2d(x, p["classifier.conv1.weight"], p["classifier.conv1.bias"]))
    x = F.relu(F.conv2d(x, p["classifier.conv2.weight"], p["classifier.conv2.bias"]))
    x = F.max_pool2d(x, 2) * mask(channels_first(t["kept1"]), 0.25)
    x = F.relu(F.linear(x.flatten(1), p["classifier.dense1.weight"], p["classifier.dense1.bias"]))
    x = x * mask(t["kept2"], 0.5)
    return expected(F.linear(x, p["classifier.dense2.weight"], p["classifier.dense2.bias"]))


def snmu(w, x, n):
    return ((n * x * w + 1 - w) / (n * w + 1 - w)).prod(1)


def isolated(p, t):
    z = classify(p, channels_first(t["x"]), t)
    pairs = torch.stack(z.chunk(2), 1)
    return ((snmu(p["head.weight"], pairs, t["noise"].reshape(-1, 2)) - t["target"]) ** 2).mean()


def spline_matrix(side):
    grid = [-0.9, -0.3, 0.3, 0.9]
    points = np.array([[x, y] for y in grid for x in grid])

    def kernel(a, b):
        d = ((a[:, None] - b[None]) ** 2).sum(2)
        return 0.5 * d * np.log(np.where(d > 0, d, 1))

    def rows(a):
        return np.concatenate([kernel(a, points), np.ones((len(a), 1)), a], 1)

    system = np.zeros((19, 19))
    system[:16] = rows(points)
    system[16:, :16] = system[:16, 16:].T
    at = np.linspace(-1, 1, side)
    pixels = np.array([[x, y] for y in at for x in at])
    return torch.from_numpy((rows(pixels) @ np.linalg.inv(system)[:, :16]).astype(np.float32))


def colour(p, t):
    x = channels_first(t["x"])
    seen = []
    for part in ["first", "second"]:
        h = F.avg_pool2d(x, 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, p[f"{part}.conv1.weight"], p[f"{part}.conv1.bias"])), 2)
        h = F.relu(F.conv2d(h, p[f"{part}.conv2.weight"], p[f"{part}.conv2.bias"]))
        h = F.relu(F.linear(h.flatten(1), p[f"{part}.dense1.weight"], p[f"{part}.dense1.bias"]))
        points = torch.tanh(F.linear(h, p[f"{part}.dense2.weight"], p[f"{part}.dense2.bias"])).reshape(-1, 16, 2)
        grid = (spline_matrix(42) @ points).reshape(-1, 42, 42, 2)
        seen.append(F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False))
    z = classify(p, F.avg_pool2d(torch.cat(seen), 2), t)
    pairs = torch.stack(z.chunk(2), 1)
    return ((snmu(p["head.weight"], pairs, t["noise"].reshape(-1, 2)) - t["target"]) ** 2).mean()


def sequential(p, t):
    x = channels_first(t["x"])
    x = F.max_pool2d(F.relu(F.conv2d(x, p["regressor.conv1.weight"], p["regressor.conv1.bias"])), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, p["regressor.conv2.weight"], p["regressor.conv2.bias"])), 2)
    x = F.relu(F.linear(x.flatten(1), p["regressor.dense1.weight"], p["regressor.dense1.bias"]))
    labels = F.linear(x, p["regressor.dense2.weight"], p["regressor.dense2.bias"])[:, 0].chunk(2)
    digits, noise = t["target"].chunk(2), t["noise"].reshape(2, -1, 2)
    w, state, target = p["head.weight"], torch.ones_like(labels[0]), torch.ones_like(digits[0])
    loss, stored = 0, []
    for step in range(2):
        x = torch.stack([labels[step], state], 1)
        stored.append(x * noise[step])
        state, target = snmu(w, x, noise[step]), target * digits[step]
        loss = loss + ((state - target) ** 2).mean() / 2
    means = torch.cat(stored).mean(0)
    return loss + 0.5 * ((1 - w) * (1 - means) ** 2).sum()


def main():
    task, path = sys.argv[1], sys.argv[2]
    t = read(path)
    p = {n.removeprefix("before."): nn.Parameter(v.clone()) for n, v in t.items() if n.startswith("before.")}
    adam = torch.optim.Adam(p.values(), lr=1e-3)
    loss = {"isolated": isolated, "colour": colour, "sequential": sequential}[task](p, t)
    loss.backward()
    gradients = {name: value.grad.clone() for name, value in p.items()}
    adam.step()
    p["head.weight"].data.clamp_(0, 1)
    errors = [abs(loss.item() - t["loss"].item()) / abs(loss.item())]
    print(f"{'loss':32} PyTorch {loss.item():.7g}, ours {t['loss'].item():.7g}, off by {errors[0]:.1e}")
    for name, gradient in gradients.items():
        ours = t[f"gradient.{name}"].reshape(gradient.shape)
        off = ((ours - gradient).norm() / gradient.norm()).item()
        moved = p[name].detach() - t[f"before.{name}"].reshape(gradient.shape)
        after = t[f"after.{name}"].reshape(gradient.shape) - t[f"before.{name}"].reshape(gradient.shape)
        # Adam's first step is the sign of the gradient, which rounding decides where there is none.
        clear = gradient.abs() > 1e-6 * gradient.abs().max()
        off_moved = ((after - moved)[clear].norm() / moved[clear].norm()).item()
        errors += [off, off_moved]
        print(f"{name:32} gradient {gradient.norm().item():.7e} off by {off:.1e}, update off by {off_moved:.1e}")
    print(f"worst {np.max(errors):.1e}")
    # A NaN is not below anything.
    sys.exit(not all(error < 1e-4 for error in errors))


if __name__ == "__main__":
    main()
