#!/usr/bin/env python3
"""nalm fit beside gplearn, pyoperon and a plain MLP: the same tables, the same time for each, in one run.

Usage: scripts/fit_against.py [--seconds 10] [--rows 200] [--every 6] [--nalm target/release/nalm] [--out record/fit/against.json]

Makes a throw-away environment of its own with the others from PyPI. Tables are drawn from every N-th arithmetic law of
crates/nalm-fit/suites/feynman.csv; all programs see the same rows. A formula is right if it differs from the law by no more than 1e-6 on rows from
ranges three times as wide, and near if by no more than 1e-3 (pyoperon computes in single precision); the median relative error on these rows is recorded, too, also for the
network, which has no formula. Everybody has one thread and so many seconds of it; nalm takes what it needs.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PACKAGES = ["numpy", "scikit-learn<1.6", "sympy", "gplearn", "pyoperon"]


def environment():
    """This script again, within an environment that has the others."""
    folder = tempfile.mkdtemp(prefix="fit-against-")
    venv.create(folder, with_pip=True)
    python = Path(folder) / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    threads = {name: "1" for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]}
    done = subprocess.run([python, __file__, "--inside", *sys.argv[1:]], env={**os.environ, **threads})
    subprocess.run(["rm", "-rf", folder], check=True)
    sys.exit(done.returncode)


def laws(every):
    with open(HERE / "crates/nalm-fit/suites/feynman.csv") as file:
        arithmetic = [row for row in csv.DictReader(file) if row["class"] != "transcendental"]
    return arithmetic[::every]


def wider(low, high):
    middle, half = (low + high) / 2, (high - low) / 2
    return max(middle - 3 * half, low / 3), middle + 3 * half


def draw(law, rows, seed, widen):
    import numpy as np

    rng = np.random.default_rng([seed, sum(map(ord, law["id"])), int(widen)])
    columns = {}
    for variable in law["variables"].split(";"):
        name, low, high = variable.split(":")
        low, high = (wider if widen else lambda a, b: (a, b))(float(low), float(high))
        columns[name] = rng.uniform(low, high, rows)
    with np.errstate(all="ignore"):
        y = eval(law["formula"], {"sqrt": np.sqrt, "pi": np.pi}, columns)
    keep = np.isfinite(y)
    return {name: x[keep] for name, x in columns.items()}, y[keep]


def judged(found, want):
    """The largest and the median difference, as shares of the truth."""
    import numpy as np

    found = np.broadcast_to(np.asarray(found, dtype=float), want.shape)
    share = np.abs(found - want) / np.maximum(np.abs(want), 1e-3 * np.median(np.abs(want)))
    share = np.where(np.isfinite(share), share, np.inf)
    return float(share.max()), float(np.median(share))


def nalm(binary, columns, y, fresh, seconds, folder):
    names = list(columns)
    path = Path(folder) / "table.csv"
    with open(path, "w") as file:
        file.write(",".join([*names, "target"]) + "\n")
        for row in zip(*columns.values(), y):
            file.write(",".join(repr(float(x)) for x in row) + "\n")
    done = subprocess.run([binary, "fit", path, "--json"], capture_output=True, text=True, timeout=60 * seconds)
    answer = json.loads(done.stdout)
    if not answer["formula"]:
        return None, answer["verdict"], None
    import numpy as np

    scope = {name: getattr(np, name) for name in ["sqrt", "exp", "log", "sin", "cos", "pi"]}
    scope |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "tan": np.tan}
    row = {answer["python_names"][name]: fresh[name] for name in answer["columns"]}
    with np.errstate(all="ignore"):
        return eval(answer["formula"]["python"], scope, row), answer["verdict"], answer["formula"]["text"]


def gplearn(columns, y, fresh, seconds):
    import numpy as np
    from gplearn.genetic import SymbolicRegressor

    x = np.column_stack(list(columns.values()))
    functions = ("add", "sub", "mul", "div", "sqrt", "neg", "inv")
    model = SymbolicRegressor(
        population_size=1000, generations=1, function_set=functions, parsimony_coefficient=1e-3, random_state=0,
        stopping_criteria=1e-12, warm_start=True,
    )
    start = time.process_time()
    while time.process_time() - start < seconds:
        model.fit(x, y)
        if model._program.raw_fitness_ < 1e-12:
            break
        model.set_params(generations=model.generations + 1)
    return model.predict(np.column_stack(list(fresh.values()))), None, str(model._program)


def pyoperon(columns, y, fresh, seconds):
    import numpy as np
    from pyoperon.sklearn import SymbolicRegressor

    x = np.column_stack(list(columns.values()))
    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sqrt,square,constant,variable", optimizer_iterations=10, n_threads=1,
        time_limit=int(math.ceil(seconds)), generations=100_000, max_evaluations=1_000_000_000, random_state=0,
        objectives=["r2", "length"], model_selection_criterion="mean_squared_error", max_length=40,
    )
    model.fit(x, y)
    return model.predict(np.column_stack(list(fresh.values()))), None, model.get_model_string(model.model_, 12)


def mlp(columns, y, fresh, seconds):
    import numpy as np
    from sklearn.neural_network import MLPRegressor

    x = np.column_stack(list(columns.values()))
    (mean, scale), (middle, spread) = (x.mean(0), x.std(0)), (y.mean(), y.std())
    model = MLPRegressor((100, 100), max_iter=1, warm_start=True, random_state=0, learning_rate_init=1e-3)
    import warnings

    warnings.simplefilter("ignore")
    start = time.process_time()
    while time.process_time() - start < seconds and model.__dict__.get("n_iter_", 0) < 100_000:
        model.set_params(max_iter=50)
        model.fit((x - mean) / scale, (y - middle) / spread)
    return model.predict((np.column_stack(list(fresh.values())) - mean) / scale) * spread + middle, None, None


def run(options):
    import importlib.metadata

    import numpy as np

    programs = ["nalm", "gplearn", "pyoperon", "mlp"]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for law in laws(options.every):
            columns, y = draw(law, options.rows, 0, False)
            fresh, want = draw(law, 400, 1, True)
            if options.noise:
                y = y + options.noise * y.std() * np.random.default_rng(2).normal(size=y.shape)
            for program in programs:
                start = time.perf_counter()
                try:
                    if program == "nalm":
                        found, verdict, formula = nalm(options.nalm, columns, y, fresh, options.seconds, folder)
                    else:
                        found, verdict, formula = globals()[program](columns, y, fresh, options.seconds)
                    worst, median = (math.inf, math.inf) if found is None else judged(found, want)
                except Exception as error:  # A rival that breaks has not found it; the record says so.
                    worst, median, verdict, formula = math.inf, math.inf, None, f"failed: {type(error).__name__}: {error}"
                seconds = time.perf_counter() - start
                number = lambda x: x if math.isfinite(x) else None
                results.append({
                    "law": law["id"], "program": program, "right": worst <= 1e-6, "near": worst <= 1e-3, "worst": number(worst), "median": number(median),
                    "seconds": round(seconds, 4), "verdict": verdict, "formula": formula and formula[:400],
                })
                print(f"{law['id']:10} {program:9} {'right' if worst <= 1e-6 else '-':6} {median:9.1e} {seconds:7.2f} s", flush=True)
    summary = {}
    for program in programs:
        own = [row for row in results if row["program"] == program]
        medians = sorted(row["median"] if row["median"] is not None else math.inf for row in own)
        middle = medians[len(medians) // 2]
        summary[program] = {
            "laws": len(own), "right": sum(row["right"] for row in own), "near": sum(row["near"] for row in own),
            "median_error_outside": middle if math.isfinite(middle) else None,
            "median_seconds": sorted(row["seconds"] for row in own)[len(own) // 2],
            "failed": sum(str(row["formula"]).startswith("failed") for row in own),
        }
    versions = {name: importlib.metadata.version(name) for name in ["gplearn", "pyoperon", "scikit-learn", "numpy"]}
    versions["nalm"] = subprocess.run([options.nalm, "--version"], capture_output=True, text=True).stdout.strip()
    record = {
        "command": "scripts/fit_against.py", "rows": options.rows, "noise": options.noise, "seconds": options.seconds,
        "every": options.every, "versions": versions, "summary": summary, "results": results,
    }
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(summary, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--nalm", default=str(HERE / "target/release/nalm"))
    parser.add_argument("--out", default=str(HERE / "record/fit/against.json"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    run(options) if options.inside else environment()


if __name__ == "__main__":
    main()
