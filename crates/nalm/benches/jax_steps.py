"""The same training steps in JAX on one thread: a thousand of them in one compiled loop, for one seed (`jit`) and for 25 seeds at once (`vmap`),
which is the fastest form that a careful user would write. `scripts/speed.py` runs them in turn with ours.

usage: jax_steps.py NAME; prints a line of JSON, nanoseconds a step and seed
"""

import json
import math
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
from jax import lax, random
from jax import numpy as jnp

BATCH, STEPS, SEEDS = 128, 1000, 25


def product(x, w):
    return (x[:, None, :] * w + 1 - w).prod(-1)


def nmu(p, x, key):
    return product(x, p["w"])


def snmu(p, x, key):
    n = random.uniform(key, x.shape, minval=1.0, maxval=5.0)
    return product(x * n, p["w"]) / product(n, p["w"])


def stack(top):
    return lambda p, x, key: top({"w": p["v"]}, x @ p["u"].T, key)


def weights(p):
    return jnp.tanh(p["what"]) * jax.nn.sigmoid(p["mhat"])


def nac_mul(p, x, key):
    return jnp.exp(jnp.log(jnp.abs(x) + 1e-7) @ weights(p).T)


def nalu(p, x, key):
    w, g = weights(p), jax.nn.sigmoid(x @ p["gate"].T)
    return g * (x @ w.T) + (1 - g) * jnp.exp(jnp.log(jnp.abs(x) + 1e-7) @ w.T)


def real_npu(p, x, key):
    g = jnp.clip(p["g"], 0, 1)
    r = g * (jnp.abs(x) + 2**-23) + (1 - g)
    k = g * math.pi * (x < 0)
    return jnp.exp(jnp.log(r) @ p["w"].T) * jnp.cos(k @ p["w"].T)


def mlp(p, x, key):
    return jnp.maximum(x @ p["w1"].T + p["b1"], 0) @ p["w2"].T + p["b2"]


def pair(x):
    return x[:, :1] * x[:, 1:]


def sums(x):
    return x[:, 10:35].sum(1, keepdims=True) * x[:, 23:48].sum(1, keepdims=True)


def box(low, high, *shape):
    return lambda key: random.uniform(key, shape, minval=low, maxval=high)


# Forward pass, start of the parameters, the boxes of those that have a box and a penalty, inputs, target.
UNIT, SIGNED = (0.0, 1.0), (-1.0, 1.0)
ALL = {
    "nmu-2-1": (nmu, {"w": box(0.25, 0.75, 1, 2)}, {"w": UNIT}, 2, pair),
    "snmu-2-1": (snmu, {"w": box(0.25, 0.75, 1, 2)}, {"w": UNIT}, 2, pair),
    "nau-nmu-100-2-1": (stack(nmu), {"u": box(-0.24, 0.24, 2, 100), "v": box(0.25, 0.75, 1, 2)}, {"u": SIGNED, "v": UNIT}, 100, sums),
    "nau-snmu-100-2-1": (stack(snmu), {"u": box(-0.24, 0.24, 2, 100), "v": box(0.25, 0.75, 1, 2)}, {"u": SIGNED, "v": UNIT}, 100, sums),
    "nac-mul-2-1": (nac_mul, {"what": box(-1, 1, 1, 2), "mhat": box(-1, 1, 1, 2)}, {}, 2, pair),
    "nalu-2-1": (nalu, {"what": box(-1, 1, 1, 2), "mhat": box(-1, 1, 1, 2), "gate": box(-1, 1, 1, 2)}, {}, 2, pair),
    "real-npu-2-1": (real_npu, {"w": box(-1, 1, 1, 2), "g": box(0.5, 0.5001, 2)}, {}, 2, pair),
    "mlp-100": (mlp, {"w1": box(-1, 1, 100, 2), "b1": box(0, 1e-9, 100), "w2": box(-0.2, 0.2, 1, 100), "b2": box(0, 1e-9, 1)}, {}, 2, pair),
}


def trainer(forward, start, boxes, inputs, target):
    def loss(p, x, key):
        value = ((forward(p, x, key) - target(x)) ** 2).mean()
        for name in boxes:
            size = jnp.abs(p[name])
            value += 10.0 * 0.5 * jnp.minimum(size, jnp.abs(1 - size)).mean()
        return value

    def step(k, state):
        p, mean, square, key = state
        key, data, noise = random.split(key, 3)
        x = random.uniform(data, (BATCH, inputs), minval=1.0, maxval=2.0)
        g = jax.grad(loss)(p, x, noise)
        t = k + 1.0
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
        square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, g)
        rate, correction = 1e-3 / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
        p = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) / correction + 1e-8), p, mean, square)
        p = {name: jnp.clip(w, *boxes[name]) if name in boxes else w for name, w in p.items()}
        return p, mean, square, key

    def train(seed):
        key = random.key(seed)
        p = {name: draw(random.fold_in(key, k)) for k, (name, draw) in enumerate(start.items())}
        zeros = jax.tree.map(jnp.zeros_like, p)
        return lax.fori_loop(0, STEPS, step, (p, zeros, zeros, key))[0]

    return train


def clock(run, argument, seeds):
    jax.block_until_ready(run(argument))
    times, end = [], time.perf_counter() + 0.7
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        jax.block_until_ready(run(argument))
        times.append((time.perf_counter() - start) / (STEPS * seeds) * 1e9)
    return times


def main():
    train = trainer(*ALL[sys.argv[1]])
    one = clock(jax.jit(train), 0, 1)
    many = clock(jax.jit(jax.vmap(train)), jnp.arange(SEEDS), SEEDS)
    print(json.dumps({"version": "JAX " + jax.__version__, "jit": one, "vmap": many}))


if __name__ == "__main__":
    main()
