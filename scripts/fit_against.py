#!/usr/bin/env python3
"""nalm fit beside gplearn, pyoperon and a plain MLP: the same tables, the same time for each, in one run.

Usage: scripts/fit_against.py [--seconds 5] [--rows 200] [--noise 0] [--every 4] [--nalm target/release/nalm] [--out record/fit/against.json]

Makes a throw-away environment of its own with the others from PyPI; the MLP is scikit-learn's MLPRegressor with two hidden layers of 100. Tables are those of nalm bench fit, of every N-th
arithmetic law. Everybody sees the same rows, has one thread and so many seconds of processor time, and is judged by the same judge on the same rows from ranges three times as wide: right is
what differs from the law by no more than 1e-6 of it anywhere, near what differs by no more than 1e-3 (pyoperon computes in single precision). The usual error, the median over rows, is recorded inside and outside of the
range, also for the network, which has no formula. nalm takes what it needs; an answer that comes later than the others' time does not count.
A run that is stopped goes on where it was: laws that are done are kept in a file beside the record until all are.
"""

import argparse
import csv
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PACKAGES = ["numpy", "scikit-learn<1.6", "gplearn", "pyoperon"]
THREADS = {name: "1" for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]}


def environment():
    """This script again, within an environment that has the others."""
    folder = tempfile.mkdtemp(prefix="fit-against-")
    try:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        done = subprocess.run([python, __file__, "--inside", *sys.argv[1:]], env={**os.environ, **THREADS})
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    sys.exit(done.returncode)


def laws(every):
    with open(HERE / "crates/nalm-fit/suites/feynman.csv") as file:
        arithmetic = [row["id"] for row in csv.DictReader(file) if row["class"] != "transcendental"]
    return arithmetic[::every], len(arithmetic)


def read(path):
    import numpy as np

    with open(path) as file:
        lines = list(csv.reader(file))
    numbers = np.array(lines[1:], dtype=float)
    return lines[0][:-1], numbers[:, :-1], numbers[:, -1]


def judged(found, want):
    """The largest and the median difference, as shares of the truth; near its zeros, of a thousandth of its usual size, as nalm bench fit has it."""
    import numpy as np

    found = np.broadcast_to(np.asarray(found, dtype=float), want.shape)
    usual = np.sort(np.abs(want))[len(want) // 2]
    share = np.abs(found - want) / np.maximum(np.abs(want), 1e-3 * usual)
    share = np.where(np.isfinite(share), share, np.inf)
    return float(share.max()), float(np.median(share))


def nalm(options, path):
    """What it answers, as a function of rows; what it printed; the processor time that it took."""
    import numpy as np

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([options.nalm, "fit", path, "--json"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer = json.loads(done.stdout)
    if not answer["formula"]:
        return None, answer["verdict"], None, seconds
    scope = {name: getattr(np, name) for name in ["sqrt", "exp", "log", "sin", "cos", "tan", "pi"]}
    scope |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
    names, _, _ = read(path)

    def predict(x):
        row = {answer["python_names"][name]: x[:, names.index(name)] for name in answer["columns"]}
        return eval(answer["formula"]["python"], scope, row)

    return predict, answer["verdict"], answer["formula"]["text"], seconds


def gplearn(x, y, seconds):
    from gplearn.genetic import SymbolicRegressor

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
    return model.predict, str(model._program), time.process_time() - start


def pyoperon(x, y, seconds):
    from pyoperon.sklearn import SymbolicRegressor

    # Its own limit is one of the clock, and other programs run beside it: it starts over with more until it had its time.
    limit = seconds
    for _ in range(4):
        model = SymbolicRegressor(
            allowed_symbols="add,sub,mul,div,sqrt,square,constant,variable", optimizer_iterations=10, n_threads=1,
            time_limit=int(math.ceil(limit)), generations=100_000, max_evaluations=1_000_000_000, random_state=0,
            objectives=["r2", "length"], model_selection_criterion="mean_squared_error", max_length=40,
        )
        start = time.process_time()
        model.fit(x, y)
        used = time.process_time() - start
        if used >= 0.95 * seconds:
            break
        limit *= 1.1 * seconds / used
    return model.predict, model.get_model_string(model.model_, 12), used


def mlp(x, y, seconds):
    import warnings

    from sklearn.neural_network import MLPRegressor

    warnings.simplefilter("ignore")
    (mean, scale), (middle, spread) = (x.mean(0), x.std(0)), (y.mean(), y.std())
    # Without its own rule to stop, which leaves errors of some percent inside, too.
    model = MLPRegressor((100, 100), max_iter=500, tol=0, n_iter_no_change=10**6, warm_start=True, random_state=0)
    start = time.process_time()
    while time.process_time() - start < seconds:
        model.fit((x - mean) / scale, (y - middle) / spread)
    return lambda x: model.predict((x - mean) / scale) * spread + middle, None, time.process_time() - start


def run(options):
    import importlib.metadata

    import numpy as np

    programs = ["nalm", "gplearn", "pyoperon", "mlp"]
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    settings = f"--seconds {options.seconds:g} --rows {options.rows} --noise {options.noise:g} --every {options.every}"
    part = out.with_suffix(".part")
    results = []
    if part.exists():
        lines = part.read_text().splitlines()
        if lines[0] == settings:
            results = [row for line in lines[1:] for row in json.loads(line)]
    if not results:
        part.write_text(settings + "\n")
    chosen, all_laws = laws(options.every)
    number = lambda x: x if math.isfinite(x) else None
    with tempfile.TemporaryDirectory() as folder:
        draw = [options.nalm, "bench", "fit", "--suite", "feynman", "--arithmetic", "--rows", str(options.rows)]
        subprocess.run([*draw, "--noise", str(options.noise), "--tables", folder], check=True)
        for law in chosen:
            if any(row["law"] == law for row in results):
                continue
            path = Path(folder) / f"{law}.csv"
            _, x, y = read(path)
            _, fresh, want = read(Path(folder) / f"{law}.judge.csv")
            for program in programs:
                verdict, formula, seconds = None, None, None
                (worst, outside), inside = (math.inf, math.inf), math.inf
                try:
                    if program == "nalm":
                        predict, verdict, formula, seconds = nalm(options, path)
                    else:
                        predict, formula, seconds = globals()[program](x, y, options.seconds)
                    if predict is not None and (program != "nalm" or seconds <= options.seconds):
                        with np.errstate(all="ignore"):
                            (worst, outside), (_, inside) = judged(predict(fresh), want), judged(predict(x), y)
                except Exception as error:  # A program that breaks has not found it; the record says so.
                    formula = f"failed: {type(error).__name__}: {error}"
                results.append({
                    "law": law, "program": program, "right": worst <= 1e-6, "near": worst <= 1e-3, "worst": number(worst),
                    "outside": number(outside), "inside": number(inside), "seconds": seconds and round(seconds, 4),
                    "verdict": verdict, "formula": formula and formula[:400],
                })
                print(f"{law:10} {program:9} {'right' if worst <= 1e-6 else '-':6} {outside:9.1e} {seconds or 0:7.2f} s", flush=True)
            with open(part, "a") as file:
                file.write(json.dumps(results[-len(programs):]) + "\n")
    summary = {}
    for program in programs:
        own = [row for row in results if row["program"] == program]

        def middle(key):
            values = sorted(math.inf if row[key] is None else row[key] for row in own)
            return number(values[len(values) // 2])

        summary[program] = {
            "laws": len(own), "right": sum(row["right"] for row in own), "near": sum(row["near"] for row in own),
            "inside": middle("inside"), "outside": middle("outside"), "seconds": middle("seconds"),
            "failed": sum(str(row["formula"]).startswith("failed") for row in own),
        }
    versions = {name: importlib.metadata.version(name) for name in ["gplearn", "pyoperon", "scikit-learn", "numpy"]}
    versions["nalm"] = subprocess.run([options.nalm, "--version"], capture_output=True, text=True).stdout.split()[-1]
    record = {
        "command": f"scripts/fit_against.py {settings}",
        "rows": options.rows, "noise": options.noise, "seconds": options.seconds, "every": options.every, "all_laws": all_laws,
        "versions": versions, "summary": summary, "results": results,
    }
    out.write_text(json.dumps(record, indent=1) + "\n")
    part.unlink()
    print(json.dumps(summary, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--nalm", default=str(HERE / "target/release/nalm"))
    parser.add_argument("--out", default=str(HERE / "record/fit/against.json"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    run(options) if options.inside else environment()


if __name__ == "__main__":
    main()
