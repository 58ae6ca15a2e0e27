#!/usr/bin/env python3
"""How many of a seeded random sample of mutants the tests notice.

    scripts/mutants.py --seed 1 --sample 150              # measures, prints tables
    scripts/mutants.py --seed 1 --sample 0 --also FILE    # measures the mutants that a file names, a line each as the report has them

`cargo mutants --list` (https://mutants.rs; `cargo install cargo-mutants`) says what mutants there are. The sampled ones are all written into one copy of the
sources and built once; the variable NALM_MUTANT chooses one when a test starts. A mutant that does not compile, or that is no part of the build, is
replaced by the next one in the seeded order.

Every test runs once, alone, without a mutant: it must pass, and notes which mutants it reaches. A mutant is then run against the tests that reach it, those of its own
crate first, the quickest first, until one fails, crashes, or takes far more time than before. A test that fails must pass without the mutant right afterwards, or its
failure does not count. Doc tests and ignored tests are left out.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ["nalm", "nalm-fit", "nalm-vision", "nalm-lab", "nalm-cli"]

# Says which mutant is on. The variable is read before `main`, so that a check costs one load of a number that never changes; with the value
# `trace`, every mutant that is asked for is noted in a file, which all processes of a test share.
SWITCH = """
#![allow(static_mut_refs)]

use std::ffi::{c_int, c_void};
use std::os::fd::IntoRawFd;

pub const MOST: usize = 1 << 16;
const TRACING: u32 = u32::MAX;

#[repr(C, align(4096))]
struct Page([u8; MOST]);

static mut ACTIVE: u32 = 0;
static mut REACHED: Page = Page([0; MOST]);

unsafe extern "C" {
    fn mmap(at: *mut c_void, len: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
}

#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;

extern "C" fn init() {
    let Ok(text) = std::env::var("NALM_MUTANT") else { return };
    unsafe {
        if let Some(file) = text.strip_prefix("trace:") {
            let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap().into_raw_fd();
            // PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED
            let at = mmap((&raw mut REACHED).cast(), MOST, 3, 0x11, file, 0);
            assert_eq!(at, (&raw mut REACHED).cast());
            ACTIVE = TRACING;
        } else {
            ACTIVE = text.parse().unwrap();
        }
    }
}

#[inline(always)]
pub fn on(mutant: u32) -> bool {
    unsafe {
        let active = ACTIVE;
        if active == TRACING {
            REACHED.0[mutant as usize % MOST] = 1;
        }
        active == mutant
    }
}
"""


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


# The sample


def every_mutant():
    """All mutants of the crates, in an order that depends on the sources alone."""
    flags = [flag for crate in CRATES for flag in ("--package", crate)]
    found = json.loads(run(["cargo", "mutants", "--list", "--json", "--all-features", *flags], cwd=ROOT))
    found.sort(key=lambda m: (m["file"], position(m["span"]["start"]), position(m["span"]["end"]), m["replacement"]))
    # A name that does not change with lines elsewhere: the same change in the same function is counted.
    seen = {}
    for mutant in found:
        file, _, _, text = mutant["name"].split(":", 3)
        count = seen[file, text] = seen.get((file, text), 0) + 1
        mutant["name"] = f"{file}:{text}" + (f" ({count})" if count > 1 else "")
    return found


def in_seeded_order(mutants, seed):
    """By a hash, so that a change of the sources moves none but the mutants that it concerns."""
    return sorted(mutants, key=lambda m: hashlib.sha256(f"{seed}|{m['name']}".encode()).digest())


def position(place):
    return place["line"], place["column"]


def described(mutant):
    """A text such as `crates/nalm/src/real.rs:12: replace + with - in sum`."""
    file, text = mutant["name"].split(":", 1)
    return f"{file}:{mutant['span']['start']['line']}:{text}"


# Rewriting


def innermost(ranges, start, end):
    around = [(b - a, a, b) for a, b in ranges if a <= start and end <= b]
    return min(around)[1:] if around else None


class Source:
    """A file, its mutants, and where they are after rewriting."""

    def __init__(self, path, places):
        self.path = path
        self.bytes = (ROOT / path).read_bytes()
        self.lines = [0]
        for line in self.bytes.split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)
        self.operators = {tuple(op): whole for op, whole in places["operators"]}
        self.bodies = places["bodies"]
        self.arms = places["arms"]
        self.structs = places["structs"]

    def at(self, place):
        """Lines and columns count from one, columns in characters."""
        start = self.lines[place["line"] - 1]
        line = self.bytes[start : self.lines[place["line"]]].decode()
        return start + len(line[: place["column"] - 1].encode())

    def edit(self, mutant):
        """(start, end, what stands before, between and after): the text of start..end, with what is written around it. None if the place is not found."""
        number, genre = mutant["number"], mutant["genre"]
        start, end = self.at(mutant["span"]["start"]), self.at(mutant["span"]["end"])
        on = f"::switch::on({number})"
        mark = f"let mutant_{number} = ();"  # whoever compiles this warns of it, which shows that it is part of the build
        if genre == "FnValue":
            body = innermost(self.bodies, start, end)
            if body:
                return body[0], body[0], f" if {on} {{ {mark} return {mutant['replacement']}; }} ", ""
        elif genre in ("BinaryOperator", "UnaryOperator"):
            whole = self.operators.get((start, end))
            if whole:
                changed = self.bytes[whole[0] : start] + mutant["replacement"].encode() + self.bytes[end : whole[1]]
                return *whole, f"(if {on} {{ {mark} {changed.decode()} }} else {{ ", " })"
        elif genre == "MatchArm":
            for arm, pattern, guard in self.arms:
                if arm[0] == start:
                    if guard:
                        return *guard, f"(!{{ {mark} {on} }} && (", "))"
                    return pattern, pattern, f" if !{{ {mark} {on} }} ", ""
        elif genre == "MatchArmGuard":
            for _, _, guard in self.arms:
                if guard and guard[0] == start:
                    return *guard, f"(if {on} {{ {mark} {mutant['replacement']} }} else {{ ", " })"
        elif genre == "StructField":
            whole = innermost(self.structs, start, end)
            if whole:
                changed = self.bytes[whole[0] : start] + self.bytes[end : whole[1]]
                return *whole, f"(if {on} {{ {mark} {changed.decode()} }} else {{ ", " })"
        return None

    def rewritten(self, mutants):
        """The file with these mutants, and where each is in it."""
        edits = [(*self.edit(m), m["number"]) for m in mutants]
        out, where = bytearray(), {}

        def write(start, end, edits):
            edits = sorted(edits, key=lambda e: (e[0], e[1] > e[0], -e[1], e[4]))
            at = start
            while edits:
                (a, b, before, after, number), edits = edits[0], edits[1:]
                inside = [e for e in edits if a <= e[0] and e[1] <= b and b > a and not (e[0] == e[1] and e[0] in (a, b))]
                edits = [e for e in edits if e not in inside]
                out.extend(self.bytes[at:a])
                begin = len(out)
                out.extend(before.encode())
                write(a, b, inside)
                out.extend(after.encode())
                where[number] = (begin, len(out))
                at = b
            out.extend(self.bytes[at:end])

        write(0, len(self.bytes), edits)
        return bytes(out), where


def copy_of_the_project(to, rewritten):
    names = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT).split(b"\0")
    manifests = ["Cargo.toml", *[f"crates/{crate}/Cargo.toml" for crate in CRATES]]
    for name in map(os.fsdecode, filter(None, names)):
        # Those that are rewritten keep their time unless they change, or everything would be built again.
        if (ROOT / name).exists() and name not in rewritten and name not in manifests:
            put(to / name, (ROOT / name).read_bytes())
            shutil.copymode(ROOT / name, to / name)
    switch = to / "crates/switch"
    put(switch / "src/lib.rs", SWITCH)
    put(switch / "Cargo.toml", '[package]\nname = "switch"\nversion = "0.1.0"\nedition = "2024"\nlicense = "MIT"\n')
    root = (ROOT / "Cargo.toml").read_text()
    put(to / "Cargo.toml", root.replace('members = [', 'members = ["crates/switch", ', 1) + '\n[profile.test.package.switch]\nopt-level = 3\n')
    for crate in CRATES:
        file = Path("crates", crate, "Cargo.toml")
        put(to / file, (ROOT / file).read_text().replace("[dependencies]\n", '[dependencies]\nswitch = { path = "../switch" }\n', 1))


def put(path, content):
    """Writes a file unless it is there already, so that nothing is compiled again for nothing."""
    content = content if isinstance(content, bytes) else content.encode()
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def points(span):
    """Where a message of the compiler points to, in whatever file, through macros."""
    while span:
        yield span["file_name"], span["byte_start"]
        span = (span.get("expansion") or {}).get("span")


class Build:
    def __init__(self, work, target):
        self.tree = work / "tree"
        self.environment = dict(os.environ, CARGO_TARGET_DIR=str(target), CARGO_TERM_COLOR="never", RUSTFLAGS="")
        self.environment.pop("NALM_MUTANT", None)

    def messages(self, *arguments):
        command = ["cargo", *arguments, "--message-format=json"]
        process = subprocess.run(command, cwd=self.tree, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith(b"{")]
        return process.returncode == 0, lines, process.stderr.decode()

    def check(self, sources, mutants):
        """Writes the mutants into the copy; returns which of them do not compile and which are compiled."""
        where = {}
        for path, source in sources.items():
            text, places = source.rewritten([m for m in mutants if m["file"] == path])
            put(self.tree / path, text)
            where[path] = places
        fine, lines, errors = self.messages(
            "check", "--keep-going", "--profile", "test", *[f for c in CRATES for f in ("-p", c)], "--lib", "--bins", "--features", "nalm-cli/faults"
        )
        compiled, bad = set(), {}
        for message in (line["message"] for line in lines if line["reason"] == "compiler-message"):
            text = message["message"]
            if text.startswith("unused variable: `mutant_"):
                compiled.add(int(text.split("mutant_")[1].rstrip("`")))
            if message["level"] != "error" or not message["spans"]:
                continue
            spans = sorted(message["spans"], key=lambda span: not span["is_primary"])
            hits = []
            for file, byte in (point for span in spans for point in points(span)):
                inside = [(b - a, k) for k, (a, b) in where.get(file, {}).items() if a <= byte < b]
                if inside:
                    hits.append(min(inside)[1])
            if not hits:
                # What a function returns first decides what the rest of it must return: the error is behind the mutant.
                for file, byte in (point for span in spans for point in points(span)):
                    hits += [k for _, k in sorted((byte - b, k) for k, (_, b) in where.get(file, {}).items() if b <= byte)]
            if not hits:
                sys.exit(f"an error at no mutant: {message['rendered']}")
            bad[hits[0]] = text
        if not fine and not bad:
            sys.exit(f"the copy does not compile:\n{errors}")
        return bad, compiled

    def tests(self):
        """Every test of the workspace: (package, program, name)."""
        fine, lines, errors = self.messages("test", "--workspace", "--lib", "--bins", "--tests", "--no-run")
        if not fine:
            sys.exit(f"the copy does not compile:\n{errors}")
        tests = []
        for line in lines:
            if line["reason"] == "compiler-artifact" and line["profile"]["test"] and line["executable"]:
                folder = Path(line["manifest_path"]).parent
                listed = run([line["executable"], "--list", "--format", "terse"], cwd=folder, env=self.environment).decode()
                ignored = run([line["executable"], "--list", "--format", "terse", "--ignored"], cwd=folder, env=self.environment).decode()
                for name in listed.splitlines():
                    if name.endswith(": test") and name not in ignored.splitlines():
                        tests.append((folder.name, line["executable"], name.removesuffix(": test")))
        return tests


# Running


def limits(cpu, memory):
    def apply():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu), int(cpu) + 5))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))

    return apply


def run_test(build, test, choice, cpu, wall, memory=16 << 30, output=subprocess.DEVNULL):
    """(passed, why not, seconds of processor time)."""
    package, program, name = test
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(build.environment, INSTA_UPDATE="no", TMPDIR=folder, CARGO_MANIFEST_DIR=str(build.tree / "crates" / package))
        if choice:
            environment["NALM_MUTANT"] = choice
        manifest = build.tree / ("examples" if package == "own-unit" else "crates") / package
        process = subprocess.Popen(
            [program, "--exact", name, "--test-threads", "1"],
            cwd=manifest,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=limits(cpu, memory),
        )
        try:
            deadline = time.monotonic() + wall
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    os.killpg(process.pid, signal.SIGKILL)
                    os.wait4(process.pid, 0)
                    process.returncode = -9
                    return False, "time", wall
                time.sleep(0.005)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.returncode = os.waitstatus_to_exitcode(status)
        used = usage.ru_utime + usage.ru_stime
        if process.returncode == 0:
            return True, "", used
        killed = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        return False, "time" if killed else "failure" if process.returncode == 101 else f"exit {process.returncode}", used


def baseline(build, tests, work, jobs):
    """Runs every test without a mutant; returns for each its time and the mutants that it reaches."""

    def one(test):
        with tempfile.NamedTemporaryFile(dir=work) as trace:
            trace.truncate(1 << 16)
            begin = time.monotonic()
            for attempt in range(2):
                passed, why, used = run_test(build, test, f"trace:{trace.name}", 3600, 7200)
                if passed:
                    break
            taken = time.monotonic() - begin
            reached = [k for k, byte in enumerate(Path(trace.name).read_bytes()) if byte]
        return {"passed": passed, "why": why, "cpu": used, "wall": taken, "reached": reached}

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, tests))


def judge(build, mutant, tests, facts):
    """What becomes of a mutant: which test notices it, or none."""
    own = mutant["package"]
    reach = [k for k in range(len(tests)) if mutant["number"] in facts[k]["reached"]]
    reach.sort(key=lambda k: (tests[k][0] != own, facts[k]["wall"]))
    for k in reach:
        cpu, wall = 10 * facts[k]["cpu"] + 20, 20 * facts[k]["wall"] + 120
        passed, why, _ = run_test(build, tests[k], str(mutant["number"]), cpu, wall)
        if not passed:
            again, _, _ = run_test(build, tests[k], None, 3600, 7200)
            if again:
                return {"by": f"{tests[k][0]}: {tests[k][2]}", "why": why, "reached_by": len(reach)}
    return {"by": None, "why": "", "reached_by": len(reach)}


# The report


def report(mutants, verdicts):
    print("| crate | mutants | noticed | share |")
    print("|---|---|---|---|")
    for crate in [*CRATES, "all"]:
        some = [m for m in mutants if crate in (m["package"], "all")]
        noticed = sum(verdicts[m["number"]]["by"] is not None for m in some)
        if some:
            print(f"| {crate} | {len(some)} | {noticed} | {100 * noticed / len(some):.1f} % |")
    alive = [m for m in mutants if verdicts[m["number"]]["by"] is None]
    print(f"\n{len(alive)} not noticed:\n")
    for mutant in sorted(alive, key=lambda m: (m["file"], m["span"]["start"]["line"])):
        print(f"* `{described(mutant)}`, reached by {verdicts[mutant['number']]['reached_by']} tests")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--sample", type=int, default=150, help="mutants that compile")
    parser.add_argument("--also", type=Path, help="a file with further mutants, one a line; line numbers do not matter")
    parser.add_argument("--list", action="store_true", help="only say which mutants the sample has")
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time")
    parser.add_argument("--work", type=Path, default=ROOT / "target/mutants", help="where the copy and what is known so far are kept")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)

    found = every_mutant()
    order = in_seeded_order(found, options.seed)
    say(f"{len(order)} mutants in all")
    asked = [re.sub(r":\d+:", ":", line.strip(), count=1) for line in options.also.open()] if options.also else []
    asked = {name for name in asked if name}
    unknown = asked - {mutant["name"] for mutant in found}
    if unknown:
        sys.exit(f"no such mutant: {unknown}")
    places_of = ROOT / "scripts/mutants"
    run(["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(work / "places")], cwd=places_of)
    files = sorted({m["file"] for m in found})
    places = json.loads(run([str(work / "places/release/places"), *files], cwd=ROOT))
    sources = {file: Source(file, places[file]) for file in files}

    build = Build(work, work / "target")
    copy_of_the_project(build.tree, sources)
    numbered = {mutant["name"]: dict(mutant, number=k + 1) for k, mutant in enumerate(order)}
    also = [mutant for mutant in numbered.values() if mutant["name"] in asked]
    sampled, dropped, taken = [], [], 0
    memory = work / "dropped.json"
    known = json.loads(memory.read_text()) if memory.exists() else {}
    while True:
        while len(sampled) < options.sample and taken < len(order):
            mutant = numbered[order[taken]["name"]]
            taken += 1
            if mutant["diff"] in known:
                dropped.append((mutant, known[mutant["diff"]]))
            elif sources[mutant["file"]].edit(mutant):
                sampled.append(mutant)
            else:
                dropped.append((mutant, "no place to switch it"))
        every = {mutant["number"]: mutant for mutant in sampled + also}
        bad, compiled = build.check(sources, list(every.values()))
        if not bad:
            bad = {number: "not part of the build" for number in every if number not in compiled}
        if not bad:
            break
        if any(mutant["number"] in bad for mutant in also):
            sys.exit(f"asked for, and does not compile: {bad}")
        say(f"{len(bad)} dropped")
        known |= {m["diff"]: bad[m["number"]] for m in sampled if m["number"] in bad}
        memory.write_text(json.dumps(known))
        dropped += [(m, bad[m["number"]]) for m in sampled if m["number"] in bad]
        sampled = [m for m in sampled if m["number"] not in bad]
    for mutant, why in dropped:
        say(f"dropped: {described(mutant)}: {why}")

    if options.list:
        for mutant in sampled:
            print(described(mutant))
        return

    say("building the tests")
    tests = build.tests()
    # What is known of this very build is not measured again.
    state, key = work / "state.json", [[*test, os.stat(test[1]).st_mtime_ns] for test in tests]
    known = json.loads(state.read_text()) if state.exists() else {}
    if known.get("key") != key:
        known = {"key": key, "facts": None, "verdicts": {}}
    if not known["facts"]:
        say(f"{len(tests)} tests without a mutant")
        known["facts"] = baseline(build, tests, work, options.jobs)
    facts = known["facts"]
    for test, fact in zip(tests, facts):
        if not fact["passed"]:
            say(f"fails without a mutant: {test[0]}: {test[2]}: {fact['why']}")
    if not all(fact["passed"] for fact in facts):
        sys.exit(1)
    say(f"without a mutant, tests took {sum(fact['cpu'] for fact in facts):.0f} s of processor time")

    wanted = list(every.values())
    verdicts, lock = {}, threading.Lock()

    def one(mutant):
        verdict = known["verdicts"].get(mutant["name"]) or judge(build, mutant, tests, facts)
        with lock:
            verdicts[mutant["number"]] = known["verdicts"][mutant["name"]] = verdict
            put(state, json.dumps(known))
            found = f"noticed by {verdict['by']} ({verdict['why']})" if verdict["by"] else f"SURVIVES {verdict['reached_by']} tests"
            say(f"{len(verdicts)}/{len(wanted)} #{mutant['number']} {described(mutant)}: {found}")

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, wanted))

    if sampled:
        print(f"Seed {options.seed}: {len(sampled)} of {len(order)} mutants; {len(dropped)} more were drawn that do not compile or cannot be switched.\n")
        report(sampled, verdicts)
    if also:
        print("\nAsked for:\n")
        report(also, verdicts)


if __name__ == "__main__":
    main()
