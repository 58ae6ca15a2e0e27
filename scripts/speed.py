#!/usr/bin/env python3
"""How fast training steps are, beside what a user would pick instead: measured in turn on one machine, recorded, and put into the README.

  scripts/speed.py measure steps|images [ROUNDS]   ours and theirs in turn, into record/speed/*.json; PYTHON names an interpreter with torch, numpy and jax,
                                                   without it a throw-away environment is made
  scripts/speed.py before REVISION [ROUNDS]        steps of an older revision and of this one in turn, into record/speed/before.json
  scripts/speed.py tables [--check]                the README's tables from the records; --check fails where they differ
  scripts/speed.py ours steps|images               our half alone, a short look, beside the recorded other half
"""

import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "record" / "speed"
NAMES = {
    "nmu-2-1": "NMU 2→1",
    "snmu-2-1": "sNMU 2→1",
    "nau-nmu-100-2-1": "NAU 100→2, NMU 2→1",
    "nau-snmu-100-2-1": "NAU 100→2, sNMU 2→1",
    "nac-mul-2-1": "NAC• 2→1",
    "nalu-2-1": "NALU 2→1",
    "real-npu-2-1": "RealNPU 2→1",
    "mlp-100": "MLP(100)",
    "isolated": "isolated network, 256 images",
    "sequential": "sequential network, 128 images",
    "colour": "colour network, 256 samples; ours draws its pictures, too",
}
STEPS = [name for name in NAMES if name[-1].isdigit()]
IMAGES = [name for name in NAMES if not name[-1].isdigit()]
# What is measured of an older revision, besides the steps with the published random streams.
BEFORE = ["nmu-2-1", "snmu-2-1", "nau-nmu-100-2-1", "mlp-100"]


def fail(message):
    sys.exit(f"speed.py: {message}")


def output(command, **options):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def bench(crate, folder=ROOT):
    """The path of a compiled benchmark."""
    lines = output(["cargo", "bench", "--quiet", "-p", crate, "--bench", "step", "--no-run", "--message-format=json"], cwd=folder).splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return next(part["executable"] for part in found if part.get("executable") and part["target"]["name"] == "step")


def processor():
    """Name and vector instructions, for whoever reads the table."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    name = re.search(r"model name\s*: (.*)", text)
    return name.group(1).strip() if name else platform.machine()


def one_core():
    """Everything on one core, so that nobody gains by a second thread."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def python():
    if "PYTHON" in os.environ:
        return os.environ["PYTHON"]
    # Removed when the program ends.
    python.folder = tempfile.TemporaryDirectory()
    subprocess.run([sys.executable, "-m", "venv", python.folder.name], check=True)
    interpreter = pathlib.Path(python.folder.name) / "bin" / "python"
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "torch", "numpy", "jax", "setuptools"], check=True)
    return interpreter


def of(times):
    return {"median": statistics.median(times), "least": min(times)}


def our_steps(program, name, *more):
    rows = json.loads(output([program, "--bench", "--json", "--exact", name, *more]))
    return rows[0]


def our_images(program, name):
    return [json.loads(line) for line in output([program, "--bench", "--best", "--json", name]).splitlines()]


def measure_steps(rounds):
    program, interpreter = bench("nalm"), python()
    one_core()
    rows, versions, instructions = {name: {} for name in STEPS}, {}, None
    for _ in range(rounds):
        for name in STEPS:
            for script in ["pytorch.py", "jax_steps.py"]:
                found = json.loads(output([interpreter, ROOT / "crates/nalm/benches" / script, name]))
                versions[script] = found.pop("version")
                for form, times in found.items():
                    rows[name].setdefault(form, []).append(of(times))
            ours = our_steps(program, name)
            instructions = ours["instructions"]
            rows[name].setdefault("nalm", []).append({"median": ours["ns"], "least": ours["minimum"]})
    return {"unit": "ns", "versions": sorted(versions.values()), "instructions": instructions, "rows": rows}


def measure_images(rounds):
    program, interpreter, cores = bench("nalm-vision"), python(), os.cpu_count() or 1
    rows, version, instructions = {name: {} for name in IMAGES}, "", None
    for _ in range(rounds):
        for name in IMAGES:
            for found in our_images(program, name):
                instructions = found["instructions"]
                rows[name].setdefault(f"nalm/{found['threads']}", []).append(of(found["ms"]))
            for threads in sorted({1, cores}):
                found = json.loads(output([interpreter, ROOT / "crates/nalm-vision/benches/pytorch.py", name, threads]))
                version = found.pop("version")
                for form, times in found.items():
                    rows[name].setdefault(f"{form}/{threads}", []).append(of(times))
    return {"unit": "ms", "versions": [version], "instructions": instructions, "threads": cores, "rows": rows}


def measure_before(revision, rounds):
    commit = output(["git", "rev-parse", "--short", revision], cwd=ROOT).strip()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder + "/old", commit], cwd=ROOT, check=True)
        try:
            programs = {"old": bench("nalm", folder + "/old"), "new": bench("nalm")}
            one_core()
            rows = {}
            for _ in range(rounds):
                for name, more in [(name, []) for name in BEFORE] + [("nau-nmu-100-2-1", ["--reference"])]:
                    for which, program in programs.items():
                        for row in json.loads(output([program, "--bench", "--json", "--all-paths", "--exact", name, *more])):
                            set_ = row.get("instructions") or row.get("path")
                            key = f"{name}{' reference' if more else ''}/{set_}"
                            rows.setdefault(key, {}).setdefault(which, []).append({"median": row["ns"], "least": row["minimum"]})
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder + "/old"], cwd=ROOT, check=True)
    return {"unit": "ns", "old": commit, "rows": rows}


def both(rounds):
    """The median of the rounds' medians, and the least of all."""
    return statistics.median(r["median"] for r in rounds), min(r["least"] for r in rounds)


def cell(pair, scale, digits, unit):
    return f"{pair[0] / scale:.{digits}f} {unit} ({pair[1] / scale:.{digits}f})"


def table_steps(record):
    lines = ["| step | PyTorch | JAX, one seed | JAX, 25 seeds | nalm | PyTorch / nalm | best of JAX / nalm |", "|---|---|---|---|---|---|---|"]
    for name in STEPS:
        found = {form: both(rounds) for form, rounds in record["rows"][name].items()}
        ours = found["nalm"]
        jax = [min(found["jit"][k], found["vmap"][k]) / ours[k] for k in (0, 1)]
        ratio = [found["eager"][k] / ours[k] for k in (0, 1)]
        cells = [cell(found["eager"], 1e3, 0, "µs"), cell(found["jit"], 1e3, 1, "µs"), cell(found["vmap"], 1e3, 1, "µs"), cell(ours, 1e3, 2, "µs")]
        lines.append(f"| {NAMES[name]} | {' | '.join(cells)} | {ratio[0]:.0f} ({ratio[1]:.0f}) | {jax[0]:.1f} ({jax[1]:.1f}) |")
    return lines


def calm(rows, threads):
    """Rows without the rounds in which anybody took longer with all threads than with one: another program had a core then."""
    forms = {key.split("/")[0] for key in rows}
    pairs = [(rows[f"{form}/{threads}"], rows[f"{form}/1"]) for form in forms if f"{form}/{threads}" in rows and f"{form}/1" in rows]
    count = min(len(rounds) for rounds in rows.values())
    kept = [k for k in range(count) if all(several[k]["median"] <= one[k]["median"] for several, one in pairs)]
    return {key: [rounds[k] for k in kept or range(count)] for key, rounds in rows.items()}


def table_images(record):
    threads = record["threads"]
    lines = ["| step | PyTorch: eager | channels last | compiled | nalm | best of PyTorch / nalm |", "|---|---|---|---|---|---|"]
    for name in IMAGES:
        rows, cells, ratios = calm(record["rows"][name], threads), [], []
        for form in ["eager", "channels last", "compiled", "nalm"]:
            there = [rows.get(f"{form}/{count}") for count in (threads, 1)]
            cells.append(" ".join(text.format(both(rounds)[0]) for text, rounds in zip(["{:.0f} ms", "({:.0f})"], there) if rounds) or "not measured")
        for count in (threads, 1):
            theirs = min(both(rounds)[0] for key, rounds in rows.items() if key.endswith(f"/{count}") and not key.startswith("nalm"))
            ratios.append(theirs / both(rows[f"nalm/{count}"])[0])
        lines.append(f"| {NAMES[name]} | {' | '.join(cells)} | {ratios[0]:.1f} ({ratios[1]:.1f}) |")
    return lines


def table_before(record):
    lines = [f"| step | instructions | {record['old']} | now | now / before: medians (minima) |", "|---|---|---|---|---|"]
    for key, row in record["rows"].items():
        name, instructions = key.split("/")
        name, _, streams = name.partition(" ")
        old, new = both(row["old"]), both(row["new"])
        label = NAMES[name] + (", published streams" if streams else "")
        ratios = f"{new[0] / old[0]:.2f} ({new[1] / old[1]:.2f})"
        lines.append(f"| {label} | {instructions} | {cell(old, 1e3, 2, 'µs')} | {cell(new, 1e3, 2, 'µs')} | {ratios} |")
    return lines


TABLES = {"steps": table_steps, "images": table_images, "before": table_before}


def read(name):
    path = RECORD / f"{name}.json"
    if not path.exists():
        fail(f"{path.relative_to(ROOT)} is missing; `scripts/speed.py measure {name}` makes it")
    return json.loads(path.read_text())


def block(name):
    record = read(name)
    versions = ", ".join(record.get("versions", []))
    made = [record["processor"], f"ours on {record['instructions']}" if "instructions" in record else "", versions, f"rounds: {record['rounds']}, in turn"]
    what = "; ".join(part for part in made if part)
    return "\n".join([*TABLES[name](record), "", f"({what})"])


def ratios():
    """How many times faster than PyTorch, from the least to the most, in two digits; both rounded down, so that neither says too much."""
    rows = read("steps")["rows"].values()
    found = [both(row["eager"])[0] / both(row["nalm"])[0] for row in rows]
    unit = lambda ratio: 10 ** max(math.floor(math.log10(ratio)) - 1, 0)
    return " to ".join(f"{math.floor(ratio / unit(ratio)) * unit(ratio):,}" for ratio in (min(found), max(found)))


def tables(check):
    """Fills `<!-- speed:NAME -->` … `<!-- /speed:NAME -->` of README.md and record/speed/README.md."""
    stale = []
    for path in [ROOT / "README.md", RECORD / "README.md"]:
        old = path.read_text()
        new = re.sub(r"(<!-- speed:(\w+) -->\n).*?(<!-- /speed:\2 -->)", lambda m: m[1] + block(m[2]) + "\n" + m[3], old, flags=re.S)
        new = re.sub(r"(<!-- speed:ratios -->).*?(<!-- /speed:ratios -->)", lambda m: m[1] + ratios() + m[2], new)
        if new != old:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(new)
    if check and stale:
        fail(f"{', '.join(stale)}: tables are not those of record/speed; run scripts/speed.py tables")


def ours(name):
    """The recorded other half beside a short look at ours; nothing is written."""
    record = read(name)
    if name == "steps":
        program = bench("nalm")
        for step in STEPS:
            row = our_steps(program, step)
            record["rows"][step]["nalm"] = [{"median": row["ns"], "least": row["minimum"]}]
    else:
        program = bench("nalm-vision")
        for step in IMAGES:
            for found in our_images(program, step):
                if found["threads"] in (1, record["threads"]):
                    # As often as theirs, so that the rounds that count are chosen among all of them.
                    rounds = min(len(row) for row in record["rows"][step].values())
                    record["rows"][step][f"nalm/{found['threads']}"] = rounds * [of(found["ms"])]
    print(f"ours here and now, theirs as recorded on {record['processor']}:\n")
    print("\n".join(TABLES[name](record)))


def main():
    arguments = sys.argv[1:]
    match arguments:
        case ["measure", ("steps" | "images") as name, *rest]:
            rounds = int(rest[0]) if rest else 3
            found = {"steps": measure_steps, "images": measure_images}[name](rounds)
        case ["before", revision, *rest]:
            name, rounds = "before", int(rest[0]) if rest else 3
            found = measure_before(revision, rounds)
        case ["tables", *rest] if rest in ([], ["--check"]):
            return tables(bool(rest))
        case ["ours", ("steps" | "images") as name]:
            return ours(name)
        case _:
            fail(__doc__.split("\n", 2)[2].rstrip())
    RECORD.mkdir(parents=True, exist_ok=True)
    found = {"processor": processor(), "rounds": rounds, **found}
    temporary = RECORD / f".{name}.json"
    temporary.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    temporary.replace(RECORD / f"{name}.json")
    print("\n".join(TABLES[name](found)))


if __name__ == "__main__":
    main()
