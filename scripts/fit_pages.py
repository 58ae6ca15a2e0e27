#!/usr/bin/env python3
"""Puts what record/fit holds into docs/fit.md, between the markers <!-- fit:NAME --> and <!-- /fit:NAME -->.

Usage: scripts/fit_pages.py [--check]      --check changes nothing and fails where the page differs from the record

against: nalm beside other programs (fit_against.py). languages: one formula in every language (fit_languages.py). long: a gigabyte of CSV (fit_long.py).
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
RECORD = HERE / "record/fit"
PAGE = HERE / "docs/fit.md"


def record(name):
    return json.loads((RECORD / f"{name}.json").read_text())


def error(x):
    return "none" if x is None else "0" if x == 0 else f"{x:.1e}"


def against():
    data = record("against")
    v = data["versions"]
    names = {
        "nalm": "nalm", "gplearn": f"gplearn {v['gplearn']}", "pyoperon": f"pyoperon {v['pyoperon']}",
        "mlp": f"MLP, two layers of 100 (scikit-learn {v['scikit-learn']})",
    }
    laws = data["summary"]["nalm"]["laws"]
    lines = [
        f"Every {data['every']}th of the {data['all_laws']} arithmetic laws, {laws} in all, {data['rows']} rows each, noise {data['noise']:g}; one thread and {data['seconds']:g} seconds of processor time a table and program:",
        "",
        "| program | right (1e-6) | near (1e-3) | usual error inside | usual error outside | seconds: median |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for key, name in names.items():
        s = data["summary"][key]
        found = ["–", "–"] if key == "mlp" else [f"{s['right']} of {s['laws']}", f"{s['near']} of {s['laws']}"]
        lines.append("| " + " | ".join([name, *found, error(s["inside"]), error(s["outside"]), f"{s['seconds']:.2g}"]) + " |")
        if s["failed"]:
            lines[-1] += f" (failed on {s['failed']})"
    return lines


def languages():
    data = record("languages")
    worst = ", ".join(f"{name} {value:.0e}" for name, value in data["worst"].items())
    off = f"{len(data['failures'])} of them are off" if data["failures"] else "none is off by more than 1e-12"
    return [f"{data['formulas']} formulas on {data['rows']} fresh rows each, against `nalm predict`: {off}. Largest differences, as shares of the value: {worst}."]


def long():
    data = record("long")
    line = lambda verb: (
        f"| `nalm {verb}` | {data[verb]['seconds']:.1f} s | {data[verb]['peak_megabytes']:.0f} MB |"
    )
    return [
        f"A file of {data['bytes'] / 1e9:.2f} GB with {data['rows']:,} rows (of which `fit` keeps a sample of 50,000; `check` and `predict` go through all):",
        "",
        "| verb | processor time | memory at most |",
        "|---|---:|---:|",
        *map(line, ["fit", "check", "predict"]),
    ]


def main():
    old = text = PAGE.read_text()
    for part in [against, languages, long]:
        name = part.__name__
        pattern = re.compile(rf"(<!-- fit:{name} -->\n).*?(<!-- /fit:{name} -->)", re.S)
        if len(pattern.findall(text)) != 1:
            sys.exit(f"{PAGE.name} needs the marker fit:{name} once")
        text = pattern.sub(lambda found: found[1] + "\n".join(part()) + "\n" + found[2], text)
    if "--check" in sys.argv:
        sys.exit(f"{PAGE.name} is not what record/fit says; run scripts/fit_pages.py" if text != old else 0)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
