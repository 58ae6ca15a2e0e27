#!/usr/bin/env python3
"""Every form of a formula that nalm fit gives has the same values: the saved model through nalm predict, Python, SymPy, C and Rust compiled, and a spreadsheet's formula.

Usage: scripts/fit_languages.py [--nalm target/release/nalm] [--every 5] [--out record/fit/languages.json]

Makes a throw-away environment of its own with SymPy, formulas (which computes what Excel would) and openpyxl from PyPI. Where LibreOffice is installed, it computes the spreadsheet's formulas, too. Tables are drawn from every N-th law; half of them have columns whose
names are no words. Each formula is evaluated on rows that it has not seen. Fails if any two forms differ by more than 1e-12 of the value.
"""

import argparse
import csv
import json
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROWS = 40
SCOPE = {name: getattr(math, name) for name in "sqrt exp log sin cos pi tan asin acos atan sinh cosh tanh".split()}


def environment():
    folder = tempfile.mkdtemp(prefix="fit-languages-")
    try:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", "sympy", "formulas", "openpyxl"], check=True)
        done = subprocess.run([python, __file__, "--inside", *sys.argv[1:]])
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    sys.exit(done.returncode)


def draw(law, rows, rng, rename):
    known = dict(SCOPE, ln=math.log, arcsin=math.asin, arccos=math.acos)
    ranges = [variable.split(":") for variable in law["variables"].split(";")]
    table = []
    while len(table) < rows:
        row = {name: rng.uniform(float(low), float(high)) for name, low, high in ranges}
        try:
            table.append(({rename(name): x for name, x in row.items()}, eval(law["formula"], known, row)))
        except (ValueError, ZeroDivisionError):
            continue
    return table


def write(path, table, target):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*table[0][0], *(["target"] if target else [])])
        for row, y in table:
            out.writerow([*map(repr, row.values()), *([repr(y)] if target else [])])


def compiled(nalm, source, language, folder, names, rows):
    """The values of the function that nalm fit --write prints."""
    text = subprocess.run([nalm, "fit", source, "--write", language], capture_output=True, text=True, check=True).stdout
    calls = [", ".join(repr(row[name]) for name in names) for row in rows]
    if language == "c":
        main = "#include <stdio.h>\n" + text + "int main(void) {\n"
        main += "".join(f'printf("%.17g\\n", target({call}));\n' for call in calls) + "return 0;\n}\n"
        (folder / "f.c").write_text(main)
        compile = ["cc", "-std=c99", "-Wall", "-Werror", "-ffp-contract=off", "f.c", "-o", "f", "-lm"]
    else:
        main = text + "fn main() {\n" + "".join(f'println!("{{:?}}", target({call}));\n' for call in calls) + "}\n"
        (folder / "f.rs").write_text(main)
        compile = ["rustc", "--edition", "2021", "-D", "warnings", "f.rs", "-o", "f"]
    subprocess.run(compile, cwd=folder, check=True)
    return [float(x) for x in subprocess.run([folder / "f"], capture_output=True, text=True, check=True).stdout.split()]


def spreadsheet(formula, headers, rows):
    import formulas

    function = formulas.Parser().ast(formula)[1].compile()
    letters = {cell: headers[ord(cell) - ord("A")] for cell in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(headers)]}
    inputs = [re.sub(r"\d+$", "", str(name)) for name in function.inputs]
    return [float(function(*[row[letters[name]] for name in inputs])) for row in rows]


def office(sheet, folder):
    """What LibreOffice makes of formulas, all in one sheet: a list of (cells of a row, formula for the second row)."""
    import openpyxl

    book = openpyxl.Workbook()
    for k, (cells, formula) in enumerate(sheet, 1):
        for column, x in enumerate(cells, 1):
            book.active.cell(k, column, x)
        # As a spreadsheet does when a cell is filled downwards.
        book.active.cell(k, 27, re.sub(r"\b([A-Z])2\b", rf"\g<1>{k}", formula))
    book.save(folder / "all.xlsx")
    # Commas, quotes, UTF-8, and numbers as they are instead of as they are shown.
    convert = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/office", "--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"]
    subprocess.run([*convert, "all.xlsx"], cwd=folder, capture_output=True, check=True)
    with open(folder / "all.csv") as file:
        return [float(cells[26]) for cells in csv.reader(file)]


def run(options):
    import sympy

    with open(HERE / "crates/nalm-fit/suites/feynman.csv") as file:
        laws = list(csv.DictReader(file))[:: options.every]
    worst, counted, failures = {}, 0, []
    sheet, wanted = [], []

    def compare(law, form, values, want, formula):
        usual = sorted(map(abs, want))[len(want) // 2]
        off = max(abs(a - b) / max(abs(b), 1e-3 * usual) for a, b in zip(values, want, strict=True))
        worst[form] = max(worst.get(form, 0.0), off)
        if not off <= 1e-12:
            failures.append({"law": law, "form": form, "off": off, "formula": formula})

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for k, law in enumerate(laws):
            rename = (lambda name: f"the {name} (no. {k})") if k % 2 else (lambda name: name)
            rng = random.Random(f"languages {law['id']}")
            table, fresh = draw(law, 200, rng, rename), draw(law, ROWS, rng, rename)
            write(folder / "table.csv", table, True)
            write(folder / "fresh.csv", fresh, False)
            fit = [options.nalm, "fit", folder / "table.csv", "--json"]
            answer = json.loads(subprocess.run(fit, capture_output=True, text=True, check=True).stdout)
            if not answer["formula"]:
                continue
            counted += 1
            subprocess.run([*fit, "--save", folder / "m.json"], capture_output=True, check=True)
            predict = [options.nalm, "predict", folder / "m.json", folder / "fresh.csv"]
            lines = subprocess.run(predict, capture_output=True, text=True, check=True).stdout.splitlines()
            want = [float(cells["target"]) for cells in csv.DictReader(lines)]
            rows = [row for row, _ in fresh]
            names, words = answer["columns"], answer["python_names"]
            forms = {
                "python": [eval(answer["formula"]["python"], dict(SCOPE), {words[n]: row[n] for n in names}) for row in rows]
            }
            expression = sympy.sympify(answer["formula"]["sympy"])
            forms["sympy"] = [float(expression.evalf(30, subs={sympy.Symbol(n): row[n] for n in names})) for row in rows]
            forms["c"] = compiled(options.nalm, folder / "table.csv", "c", folder, names, rows)
            forms["rust"] = compiled(options.nalm, folder / "table.csv", "rust", folder, names, rows)
            headers = [*rows[0], "target"]
            forms["spreadsheet"] = spreadsheet(answer["formula"]["spreadsheet"], headers, rows)
            sheet += [([row[name] for name in headers[:-1]], answer["formula"]["spreadsheet"]) for row in rows]
            wanted.append((law["id"], want, answer["formula"]["spreadsheet"]))
            for form, values in forms.items():
                compare(law["id"], form, values, want, answer["formula"]["text"])
            print(law["id"], answer["verdict"], {form: f"{off:.0e}" for form, off in worst.items()}, flush=True)
        if shutil.which("soffice"):
            values = iter(office(sheet, folder))
            for law, want, formula in wanted:
                compare(law, "LibreOffice", [next(values) for _ in want], want, formula)
    record = {"command": f"scripts/fit_languages.py --every {options.every}", "formulas": counted, "rows": ROWS, "worst": worst, "failures": failures}
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    sys.exit(bool(failures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nalm", default=str(HERE / "target/release/nalm"))
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--out", default=str(HERE / "record/fit/languages.json"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    run(options) if options.inside else environment()


if __name__ == "__main__":
    main()
