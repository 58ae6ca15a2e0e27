#!/usr/bin/env python3
"""A gigabyte of CSV through nalm fit, predict and check: how long it takes and how much memory at most.

Usage: scripts/fit_long.py [--megabytes 1000] [--folder /tmp] [--nalm target/release/nalm] [--out record/fit/long.json]

Makes the file in a folder of its own, which is removed afterwards, and records it. Times are of the processor and of the clock; other programs may run meanwhile.
"""

import argparse
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


def make(path, megabytes):
    """A formula of four columns, with a column of text and some missing cells. Blocks of rows are written ten times, so that this takes no longer than what is measured."""
    rng = random.Random(1)
    rows = 0
    with open(path, "w") as file:
        file.write("region,net price,pieces,discount,day,total\n")
        while file.tell() < megabytes * 10**6:
            lines = []
            for _ in range(20_000):
                price, pieces, discount = rng.uniform(1, 900), rng.randint(1, 99), rng.choice([0.0, 0.05, 0.1, 0.25])
                total = price * pieces * (1 - discount) * 1.19
                lines.append(f"{rng.choice(['north', 'east'])},{price!r},{pieces},{discount},{rng.randint(1, 31)},{total!r}\n")
            lines[7] = "north,12.5,,0.1,3,55\n"
            text = "".join(lines)
            for _ in range(10):
                file.write(text)
            rows += 10 * len(lines)
    return rows


def run(command, log):
    """Through time, which tells of one process alone."""
    with tempfile.NamedTemporaryFile("r", suffix=".time") as about:
        start = time.perf_counter()
        timed = ["/usr/bin/time", "-f", "%M %U %S", "-o", about.name]
        done = subprocess.run([*timed, *map(str, command)], stdout=subprocess.PIPE if log else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        clock = time.perf_counter() - start
        kilobytes, user, system = about.read().split()[-3:]
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout, done.stderr, {
        "seconds": round(float(user) + float(system), 2), "clock": round(clock, 2), "peak_megabytes": round(int(kilobytes) / 1000, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--nalm", default=str(HERE / "target/release/nalm"))
    parser.add_argument("--out", default=str(HERE / "record/fit/long.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path, model = Path(folder) / "long.csv", Path(folder) / "model.json"
        rows = make(path, options.megabytes)
        size = path.stat().st_size
        said, notes, fit = run([options.nalm, "fit", path, "--json", "--save", model], True)
        answer = json.loads(said)
        _, _, check = run([options.nalm, "check", model, path], True)
        _, _, predict = run([options.nalm, "predict", model, path], False)
    record = {
        "command": f"scripts/fit_long.py --megabytes {options.megabytes}", "bytes": size, "rows": rows,
        "sampled": answer["rows_inside"] + answer["rows_outside"], "verdict": answer["verdict"], "formula": answer["formula"]["text"],
        "notes": [note for note in notes.splitlines() if note.startswith("note")], "fit": fit, "check": check, "predict": predict,
    }
    Path(options.out).write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
