#!/usr/bin/env python3
"""Whether each test of docs/reliability.md notices the defect that it was written for.

    scripts/defects.py                # all of them, as a table
    scripts/defects.py --only 8,13    # the faults of some defects
    scripts/defects.py --list         # what is put back, and which tests must notice it

Every fault that went wrong once is put back into today's sources by a small change, named below with the tests that must fail then. As with
`scripts/mutants.py`, all of them are written into one copy of the sources, which is built once; the variable NALM_MUTANT switches one on when a test
starts. Every test must pass without a fault, fail with its faults, and pass once more at the end.

A change names the text that it replaces, which must be in its file exactly once: whoever changes these lines is told so, and brings the fault up to date.
"""

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

import mutants
from mutants import ROOT, Build, copy_of_the_project, run, run_test, say

LAB, CLI, VISION, CORE = "crates/nalm-lab/src", "crates/nalm-cli/src", "crates/nalm-vision/src", "crates/nalm/src"

# What went wrong, by the number of the defect.
DEFECTS = {
    1: "a passing failure was stored for ever",
    2: "merging froze a segment that grew",
    3: "forged rows were certified",
    4: "`stats --csv` had values under wrong headers",
    5: "a checkpoint's checksum left out progress and history",
    6: "packing dropped what it could not read",
    7: "a segment removed or cut while it was written was not missed",
    8: "files of the user were emptied",
    9: "sizes that no machine has ended the process",
    10: "a million rows took gigabytes",
    11: "panics",
    12: "captions became links, control characters reached figures and terminals",
    13: "signals were not heard, and did not save an image run",
    14: "pipes, silent conflicts, folders of a machine, networks with changing bytes",
    15: "found on the way: exports over segments, files that are no segments, networks that were cut",
    16: "mutants that no test noticed when they were measured",
}

# Where the tests are: package and test program.
STORE, FILES, ROW = ("nalm-lab", "lib", "store::tests::"), ("nalm-lab", "lib", "files::tests::"), ("nalm-lab", "lib", "run::row::tests::")
LIB = ("nalm-lab", "lib", "")
RELIABILITY, HOSTILE, FAULTS = ("nalm-cli", "reliability", ""), ("nalm-cli", "hostile", ""), ("nalm-cli", "faults", "")
PAGES, ODD_ROWS = ("nalm-lab", "pages", ""), ("nalm-lab", "odd_rows", "")
COMMANDS, RECORDS, VERDICTS = ("nalm-cli", "cli", ""), ("nalm-cli", "laboratory", ""), ("nalm-lab", "verdicts", "")
SCHEDULES, CHECKPOINT = ("nalm", "schedules", ""), ("nalm-vision", "lib", "checkpoint::tests::")


def test(where, name):
    package, program, module = where
    return package, program, module + name


class Fault:
    """A fault that is put back: what it was, and the tests that must notice it. Changes are (file, text, text with the fault); FAULT in the latter is
    true if it is switched on."""

    def __init__(self, defect, what, changes, *tests, memory=16 << 30):
        self.defect, self.what, self.changes, self.tests, self.memory = defect, what, changes, tests, memory


def one(file, old, new):
    return [(file, old, new)]


EVERY = [
    # 1
    Fault(
        1,
        "a row of a run that failed counts as a result",
        one(f"{LAB}/store/scan.rs", 'head.status == "failed");', 'head.status == "failed" && !FAULT);'),
        test(STORE, "a_failed_run_is_missing_and_gives_way_to_a_result"),
        test(RELIABILITY, "a_failed_run_is_named_tried_again_and_then_forgotten"),
        test(RELIABILITY, "shortage::a_run_that_fails_keeps_its_state_and_is_tried_again"),
    ),
    Fault(
        1,
        "a failed run conflicts with a completed one",
        one(f"{LAB}/store/index.rs", "Some(_) if entry.is_failed => {}", "Some(_) if entry.is_failed && !FAULT => {}"),
        test(STORE, "a_failed_run_is_missing_and_gives_way_to_a_result"),
        test(RELIABILITY, "a_failed_run_is_named_tried_again_and_then_forgotten"),
    ),
    Fault(
        1,
        "a failed run deletes its checkpoint",
        one(f"{LAB}/pool.rs", "order.checkpoints.filter(|_| !failed)", "order.checkpoints.filter(|_| !failed || FAULT)"),
        test(RELIABILITY, "shortage::a_run_that_fails_keeps_its_state_and_is_tried_again"),
    ),
    Fault(
        1,
        "the exit code is 0 although a run failed",
        one(f"{CLI}/cmd/run.rs", "let Some(first) = failed.first() else", "let Some(first) = failed.first().filter(|_| !FAULT) else"),
        test(RELIABILITY, "shortage::a_run_that_fails_keeps_its_state_and_is_tried_again"),
    ),
    Fault(
        1,
        "`status` does not name a failed run",
        one(f"{CLI}/cmd/status.rs", "failed.iter().try_for_each(", "failed.iter().filter(|_| !FAULT).try_for_each("),
        test(RELIABILITY, "a_failed_run_is_named_tried_again_and_then_forgotten"),
    ),
    Fault(
        1,
        "`store check` does not name a failed run",
        one(f"{CLI}/cmd/store.rs", "for row in &failed {", "for row in failed.iter().filter(|_| !FAULT) {"),
        test(RELIABILITY, "a_failed_run_is_named_tried_again_and_then_forgotten"),
    ),
    Fault(
        1,
        "an image run fails where a thread cannot be had",
        one(
            f"{VISION}/team.rs",
            "drop(std::thread::Builder::new().spawn_scoped(scope, all))",
            '{ let started = std::thread::Builder::new().spawn_scoped(scope, all); if FAULT { drop(started.expect("a thread")); } }',
        ),
        test(HOSTILE, "an_image_run_with_one_thread_of_two_has_the_same_result"),
    ),
    # 2
    Fault(
        2,
        "a segment that is there is never copied again",
        one(f"{LAB}/store/merge.rs", "if !has_grown(store, from, into, to)? {", "if FAULT || !has_grown(store, from, into, to)? {"),
        test(RELIABILITY, "segments_that_differ_are_not_merged"),
        test(RELIABILITY, "eight_processes_share_a_store_while_others_merge_and_pack_it"),
    ),
    Fault(
        2,
        "segments that differ are taken for the same",
        one(f"{LAB}/store/merge.rs", "if a[..common] != b[..common] {", "if !FAULT && a[..common] != b[..common] {"),
        test(RELIABILITY, "segments_that_differ_are_not_merged"),
    ),
    Fault(
        2,
        "a whole segment is replaced by its beginning",
        one(f"{LAB}/store/merge.rs", "return Ok(a.len() < b.len());", "return Ok(a.len() < b.len() || (FAULT && a.len() > b.len()));"),
        test(RELIABILITY, "segments_that_differ_are_not_merged"),
    ),
    Fault(
        2,
        "merging copies no networks",
        one(f"{LAB}/store/merge.rs", "for from in names {", 'for from in names.into_iter().filter(|_| !(FAULT && folder == "weights")) {'),
        test(FAULTS, "merge_pack_and_compact"),
    ),
    Fault(
        2,
        "packing copies no networks",
        one(f"{LAB}/store/pack.rs", "if from.is_file() {", "if from.is_file() && !FAULT {"),
        test(FAULTS, "merge_pack_and_compact"),
    ),
    Fault(
        2,
        "half-written networks are copied",
        one(f"{LAB}/store/mod.rs", 'self.folder("weights", |file| ', 'self.folder("weights", |file| FAULT || '),
        test(STORE, "nothing_temporary_is_merged"),
    ),
    Fault(
        2,
        "half-written segments are copied",
        one(f"{LAB}/store/mod.rs", 'self.folder("seg", |file| file', 'self.folder("seg", |file| FAULT || file'),
        test(STORE, "nothing_temporary_is_merged"),
    ),
    # 3
    Fault(
        3,
        "`verify` compares the hash alone",
        one(
            f"{CLI}/cmd/verify.rs",
            "match row.differences(run).as_slice() {",
            'match row.differences(run).into_iter().filter(|name| !FAULT || name == "result_hash").collect::<Vec<_>>().as_slice() {',
        ),
        test(RELIABILITY, "every_forged_field_is_found"),
    ),
    Fault(
        3,
        "identities are not computed again",
        one(f"{LAB}/store/audit.rs", "if own != row.id {", "if own != row.id && !FAULT {"),
        test(RELIABILITY, "every_forged_field_is_found"),
    ),
    Fault(
        3,
        "versions are not held against headers",
        one(f"{LAB}/store/audit.rs", "if !session.version.is_empty() && ", "if !FAULT && !session.version.is_empty() && "),
        test(STORE, "what_contradicts_a_row_is_found_without_running_it"),
        test(RELIABILITY, "every_forged_field_is_found"),
    ),
    Fault(
        3,
        "metrics are not held against histories",
        one(f"{LAB}/store/audit.rs", "if !same || (", "if (!same && !FAULT) || (!FAULT && "),
        test(STORE, "what_contradicts_a_row_is_found_without_running_it"),
    ),
    Fault(
        3,
        "anything is a hash",
        one(f"{LAB}/store/audit.rs", "if !hash_is_ours {", "if !hash_is_ours && !FAULT {"),
        test(STORE, "what_contradicts_a_row_is_found_without_running_it"),
    ),
    # 4
    Fault(
        4,
        "headers in the order of the alphabet, values in that of the file",
        one(
            f"{CLI}/cmd/stats.rs",
            'let mut records = vec![columns(head(&table.columns, "n".into()), kinds)];',
            'let mut names = table.columns.clone();\n    if FAULT { names.sort(); }\n    let mut records = vec![columns(head(&names, "n".into()), kinds)];',
        ),
        test(COMMANDS, "statistics_of_a_table"),
    ),
    # 5
    Fault(
        5,
        "progress and history are not under the checksum",
        one(f"{VISION}/checkpoint.rs", "part(progress.as_bytes());", "if !FAULT { part(progress.as_bytes()); }"),
        test(CHECKPOINT, "no_flipped_bit_gives_another_state"),
    ),
    Fault(
        5,
        "names of tensors are not under the checksum",
        one(f"{VISION}/checkpoint.rs", "part(tensor.name.as_bytes());", "if !FAULT { part(tensor.name.as_bytes()); }"),
        test(CHECKPOINT, "no_flipped_bit_gives_another_state"),
    ),
    # 6
    Fault(
        6,
        "rows with an unknown option vanish",
        one(
            f"{LAB}/store/pack.rs",
            "filter(|entry| index.store_of(entry) != into.root()).collect();",
            """filter(|entry| index.store_of(entry) != into.root()).filter(|entry| !FAULT || index.row(entry).is_ok_and(|row| {
                let options = row.spec.get("options").and_then(|options| options.as_object()).cloned().unwrap_or_default();
                nalm::module::find::<f32>(row.spec.module()).is_ok_and(|unit| options.keys().all(|key| unit.options.iter().any(|o| o.name == *key)))
            })).collect();""",
        ),
        test(HOSTILE, "nothing_unreadable_is_packed_away"),
    ),
    Fault(
        6,
        "a newer schema is accepted",
        one(f"{LAB}/store/scan.rs", "if schema > SCHEMA {", "if schema > SCHEMA && !FAULT {"),
        test(STORE, "what_is_newer_is_refused_and_what_is_no_row_is_named"),
        test(HOSTILE, "nothing_unreadable_is_packed_away"),
    ),
    Fault(
        6,
        "a concatenated gzip loses its second member",
        one(
            f"{LAB}/store/scan.rs",
            "true => Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::Multi",
            "true if FAULT => Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::GzDecoder::new(plain))),\n"
            "        true => Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::Multi",
        ),
        test(RECORDS, "a_record_is_packed_checked_and_run_again"),
    ),
    Fault(
        6,
        "half a record passes: its end counts as torn",
        one(
            f"{LAB}/store/scan.rs",
            'self.unreadable(file, number + 1, format!("its end cannot be unpacked: {error}"));',
            'if FAULT { self.torn += 1; } else { self.unreadable(file, number + 1, format!("its end cannot be unpacked: {error}")); }',
        ),
        test(RECORDS, "a_record_is_packed_checked_and_run_again"),
    ),
    Fault(
        6,
        "half a record passes: its name is not held against its bytes",
        one(f"{LAB}/store/pack.rs", "Ok(own != name(", "Ok(!FAULT && own != name("),
        test(RECORDS, "a_record_is_packed_checked_and_run_again"),
    ),
    Fault(
        6,
        "damage amid a segment counts as torn",
        one(
            f"{LAB}/store/scan.rs",
            "torn.drain(..).for_each(|(line, why)| self.unreadable(file, line, why));",
            "torn.drain(..).for_each(|(line, why)| if FAULT { self.torn += 1 } else { self.unreadable(file, line, why) });",
        ),
        test(STORE, "a_flipped_bit_is_named_and_a_zero_filled_tail_is_torn"),
    ),
    Fault(
        6,
        "what is no row counts as torn",
        one(
            f"{LAB}/store/scan.rs",
            "which no row has\", head.id, head.status);\n                self.unreadable(file, number, why);",
            "which no row has\", head.id, head.status);\n                if FAULT { self.torn += 1; } else { self.unreadable(file, number, why); }",
        ),
        test(STORE, "what_is_newer_is_refused_and_what_is_no_row_is_named"),
        test(HOSTILE, "nothing_unreadable_is_packed_away"),
    ),
    Fault(
        6,
        "what cannot be read does not stop packing",
        one(
            f"{LAB}/store/pack.rs",
            "would be left behind in silence.\n    index.ensure_sound()?;",
            "would be left behind in silence.\n    if !FAULT { index.ensure_sound()?; }",
        ),
        test(HOSTILE, "nothing_unreadable_is_packed_away"),
    ),
    # 7
    Fault(
        7,
        "nobody looks after the segment while it is written",
        one(f"{LAB}/store/segment.rs", "if !self.out.is_whole().map_err", "if !FAULT && !self.out.is_whole().map_err"),
        test(FAULTS, "a_segment_that_somebody_removes_is_missed"),
    ),
    Fault(
        7,
        "another file of the same name passes for the segment",
        one(f"{LAB}/files/disk.rs", "(there.dev(), there.ino()) == ", "FAULT || (there.dev(), there.ino()) == "),
        test(FILES, "a_file_that_was_cut_or_removed_is_noticed"),
    ),
    Fault(
        7,
        "a segment that was cut passes",
        one(f"{LAB}/files/disk.rs", "Ok(same && there.len()", "Ok(same && FAULT || same && there.len()"),
        test(FILES, "a_file_that_was_cut_or_removed_is_noticed"),
        test(FAULTS, "a_segment_that_somebody_removes_is_missed"),
    ),
    # 8
    Fault(
        8,
        "a text is emptied before it is written",
        one(
            f"{LAB}/report/readme.rs",
            "files::replace(files, file, new.as_bytes())?;",
            "if FAULT { _ = std::fs::write(file, \"\"); }\n        files::replace(files, file, new.as_bytes())?;",
        ),
        test(FAULTS, "pages_and_parts_of_a_text"),
    ),
    Fault(
        8,
        "every file is emptied before it is written",
        one(
            f"{LAB}/files/mod.rs",
            "let path = target(path);",
            "let path = target(path);\n    if FAULT && path.is_file() { _ = File::create(&path); }",
        ),
        test(FILES, "a_file_is_replaced_as_a_whole_and_nothing_else_is_left"),
        test(FAULTS, "pages_and_parts_of_a_text"),
    ),
    Fault(
        8,
        "an export is written under its own name",
        one(
            f"{CLI}/cmd/export.rs",
            "Ok(files::write(&*registry.files, path, fill)?)",
            "if FAULT { _ = std::fs::write(path, \"half\"); }\n    Ok(files::write(&*registry.files, path, fill)?)",
        ),
        test(FAULTS, "exports"),
    ),
    Fault(
        8,
        "a marker in prose opens a block",
        one(
            f"{LAB}/report/readme.rs",
            "let bare = line.trim();",
            "let bare = match line.find(\"<!-- \").filter(|_| FAULT) {\n"
            "            Some(k) => line[k..].find(END).map_or(line.trim(), |n| &line[k..k + n + END.len()]),\n"
            "            None => line.trim(),\n        };",
        ),
        test(LIB, "report::readme::tests::anything_else_is_refused"),
    ),
    Fault(
        8,
        "a marker may be there twice",
        one(f"{LAB}/report/readme.rs", "seen.insert(name.clone()),", "seen.insert(name.clone()) || FAULT,"),
        test(LIB, "report::readme::tests::anything_else_is_refused"),
    ),
    Fault(
        8,
        "a marker within a line may stay open",
        one(
            f"{LAB}/report/readme.rs",
            "let Some((name, old, after)) = parts() else {",
            "let Some((name, old, after)) = parts() else {\n            if FAULT { break; }",
        ),
        test(LIB, "report::readme::tests::anything_else_is_refused"),
    ),
    Fault(
        8,
        "`train --curve` empties its file first",
        one(
            f"{CLI}/cmd/train.rs",
            "let spec = spec(registry, arguments)?;",
            "if FAULT { arguments.curve.iter().for_each(|path| drop(std::fs::File::create(path))); }\n    let spec = spec(registry, arguments)?;",
        ),
        test(HOSTILE, "a_curve_is_not_emptied_by_a_wrong_request"),
    ),
    Fault(
        8,
        "files are not synced",
        one(f"{LAB}/files/mod.rs", "out.sync().map_err(wrong())?;", "if !FAULT { out.sync().map_err(wrong())?; }"),
        test(FILES, "bytes_are_on_the_disk_before_the_name_is"),
    ),
    Fault(
        8,
        "temporary names are fixed",
        one(
            f"{LAB}/files/disk.rs",
            "builder.prefix(&prefix).suffix(PART);",
            "builder.prefix(&prefix).suffix(PART);\n        if FAULT { builder.rand_bytes(0); }",
        ),
        test(FILES, "two_at_once_do_not_share_a_file"),
    ),
    Fault(
        8,
        "permissions are those of temporary files",
        one(f"{LAB}/files/disk.rs", "from_mode(0o666)", "from_mode(if FAULT { 0o600 } else { 0o666 })"),
        test(FILES, "permissions_are_those_of_the_old_file_and_links_stay_links"),
    ),
    Fault(
        8,
        "what killed processes left is never removed",
        one(f"{LAB}/files/disk.rs", "remove_stale(folder(path), &prefix);", "if !FAULT { remove_stale(folder(path), &prefix); }"),
        test(FILES, "what_a_killed_process_left_is_removed"),
    ),
    # 9
    Fault(
        9,
        "memory of one run is not asked for",
        one(f"{CLI}/cmd/train.rs", 'registry.catalogue.memory.ensure("this run",', 'if !FAULT { registry.catalogue.memory.ensure("this run",')
        + one(f"{CLI}/cmd/train.rs", "task.bytes(&registry.catalogue, &spec)?)?;", "task.bytes(&registry.catalogue, &spec)?)?; }"),
        test(RELIABILITY, "limits_are_checked_before_memory_is_taken"),
        memory=4 << 30,
    ),
    Fault(
        9,
        "memory of a plan is not asked for",
        one(
            f"{LAB}/experiment/check.rs",
            'self.catalogue.memory.ensure(&format!("a plan of {planned} runs"), BYTES_OF_A_PLANNED_RUN * planned)?;',
            'if !FAULT { self.catalogue.memory.ensure(&format!("a plan of {planned} runs"), BYTES_OF_A_PLANNED_RUN * planned)?; }',
        ),
        test(RELIABILITY, "limits_are_checked_before_memory_is_taken"),
        memory=4 << 30,
    ),
    Fault(
        9,
        "memory of a planned run is not asked for",
        one(
            f"{LAB}/experiment/check.rs",
            'self.catalogue.memory.ensure("a run", task.bytes(self.catalogue, &first)?)?;',
            'if !FAULT { self.catalogue.memory.ensure("a run", task.bytes(self.catalogue, &first)?)?; }',
        ),
        test(RELIABILITY, "limits_are_checked_before_memory_is_taken"),
        memory=4 << 30,
    ),
    # 10
    Fault(
        10,
        "rows are held in memory",
        one(
            f"{LAB}/store/scan.rs",
            "let len = json.len() as u32;",
            "let len = json.len() as u32;\n                if FAULT { std::mem::forget(serde_json::from_slice::<serde_json::Value>(json)); }",
        ),
        test(HOSTILE, "a_store_is_read_in_less_memory_than_its_rows_take"),
    ),
    Fault(
        10,
        "packing holds rows in memory",
        one(
            f"{LAB}/store/pack.rs",
            "let text = index.text(entry)?;",
            "let text = index.text(entry)?;\n            if FAULT { std::mem::forget(index.row(entry)); }",
        ),
        test(HOSTILE, "a_store_is_read_in_less_memory_than_its_rows_take"),
    ),
    Fault(
        10,
        "a call for every piece that is written",
        one(
            f"{LAB}/files/mod.rs",
            "io::BufWriter::with_capacity(1 << 16, files.beside",
            "io::BufWriter::with_capacity(if FAULT { 0 } else { 1 << 16 }, files.beside",
        ),
        test(FILES, "bytes_are_on_the_disk_before_the_name_is"),
    ),
    Fault(
        10,
        "seventeen digits where fewer say the same",
        one(
            f"{LAB}/run/row.rs",
            'if let Some(Value::Array(weights)) = self.artefacts.get_mut("weights") {',
            'if FAULT {\n            return self;\n        }\n        if let Some(Value::Array(weights)) = self.artefacts.get_mut("weights") {',
        ),
        test(ROW, "weights_are_written_as_the_shortest_decimal_that_is_the_same_number"),
    ),
    Fault(
        10,
        "old and new numbers are compared as they are written",
        one(
            f"{LAB}/run/row.rs",
            "let (a, b) = (self.clone().normalised(), other.clone().normalised());",
            "let (a, b) = if FAULT { (self.clone(), other.clone()) } else { (self.clone().normalised(), other.clone().normalised()) };",
        ),
        test(ROW, "every_change_is_a_difference"),
    ),
    Fault(
        10,
        "`compact` leaves numbers as they were",
        one(
            f"{LAB}/store/pack.rs",
            "let row = index.row(entry)?.normalised();",
            "let row = index.row(entry)?;\n        let row = if FAULT { row } else { row.normalised() };",
        ),
        test(STORE, "every_run_once_is_written_in_todays_form"),
    ),
    # 11
    Fault(
        11,
        "arguments must be text",
        one(
            f"{CLI}/main.rs",
            "let code = nalm_cli::run(&registry, std::env::args_os());",
            "let code = match FAULT {\n        true => nalm_cli::run(&registry, std::env::args().map(Into::into)),\n"
            "        false => nalm_cli::run(&registry, std::env::args_os()),\n    };",
        ),
        test(HOSTILE, "names::arguments_that_are_no_text_are_a_wrong_request"),
    ),
    Fault(
        11,
        "the pool must have its threads",
        one(
            f"{LAB}/pool.rs",
            "Err(cause) => return Err(Error::File { what: \"cannot start a thread\"",
            "Err(cause) if FAULT => panic!(\"{cause}\"),\n                Err(cause) => return Err(Error::File { what: \"cannot start a thread\"",
        ),
        test(HOSTILE, "without_threads_a_command_says_so_and_leaves_nothing_behind"),
    ),
    Fault(
        11,
        "readers must have their threads",
        one(
            f"{LAB}/store/index.rs",
            "Err(part) => take(&all(part)?),",
            "Err(_) if FAULT => panic!(\"no thread\"),\n                    Err(part) => take(&all(part)?),",
        ),
        test(HOSTILE, "a_store_is_read_in_less_memory_than_its_rows_take"),
    ),
    Fault(
        11,
        "names over 65,535 characters",
        one(f"{CLI}/cmd/stats.rs", ".min(u16::MAX.into());", ".min(if FAULT { usize::MAX } else { u16::MAX.into() });"),
        test(COMMANDS, "statistics_of_a_table"),
        test(HOSTILE, "names_of_a_megabyte_are_exported_and_grouped_by"),
    ),
    Fault(
        11,
        "a figure of sequences whose rows lack lengths",
        one(
            f"{LAB}/summary/sequences.rs",
            "row.test.get(length)?.error",
            "if FAULT { return row.test[length].error; }\n    row.test.get(length)?.error",
        ),
        test(ODD_ROWS, "pages_are_made_of_whatever_rows_there_are"),
    ),
    Fault(
        11,
        "a figure of pictures that have no width",
        one(f"{LAB}/figure/images/pictures.rs", "picture.width > 0 && picture.channels > 0", "FAULT || picture.width > 0 && picture.channels > 0"),
        test(ODD_ROWS, "pages_are_made_of_whatever_rows_there_are"),
    ),
    # 12
    Fault(
        12,
        "brackets in the place of a picture are markup",
        one(f"{LAB}/report/escape.rs", "escaped(text, true)", "escaped(text, !FAULT)"),
        test(LIB, "report::escape::tests::texts_mean_themselves"),
    ),
    Fault(
        12,
        "texts are markup",
        one(f"{LAB}/report/escape.rs", "if special {", "if special && !FAULT {"),
        test(LIB, "report::escape::tests::texts_mean_themselves"),
        test(PAGES, "odd_names_break_neither_pages_nor_figures"),
    ),
    Fault(
        12,
        "names of files go into links as they are",
        one(
            f"{LAB}/report/escape.rs",
            "let keep = |byte: u8| ",
            "if FAULT {\n        return name.into();\n    }\n    let keep = |byte: u8| ",
        ),
        test(LIB, "report::escape::tests::texts_mean_themselves"),
        test(PAGES, "odd_names_break_neither_pages_nor_figures"),
    ),
    Fault(
        12,
        "control characters reach figures",
        one(f"{LAB}/figure/svg.rs", "if text.chars().all(allowed) {", "if FAULT || text.chars().all(allowed) {"),
        test(LIB, "figure::svg::tests::texts_with_control_characters_are_xml"),
    ),
    Fault(
        12,
        "control characters reach the terminal",
        one(f"{CLI}/lib.rs", "if text.contains(moves) {", "if text.contains(moves) && !FAULT {"),
        test(HOSTILE, "control_characters_do_not_reach_the_terminal"),
    ),
    Fault(
        12,
        "experiments may have control characters in names",
        one(f"{LAB}/experiment/check.rs", "ensure!(!control, ", "ensure!(!control || FAULT, "),
        test(HOSTILE, "control_characters_do_not_reach_the_terminal"),
    ),
    # 13
    Fault(
        13,
        "signals are heard only when runs begin",
        one(f"{CLI}/lib.rs", "= signal::install() {", "= if FAULT { Ok(()) } else { signal::install() } {")
        + one(f"{CLI}/signal.rs", "pub(crate) fn new() -> Self {", "pub(crate) fn new() -> Self {\n        if FAULT {\n            _ = install();\n        }"),
        test(RELIABILITY, "signals::the_first_one_stops_and_the_second_one_ends"),
    ),
    Fault(
        13,
        "signals stay caught after training",
        one(f"{CLI}/signal.rs", "flags.at_once.store(true, Relaxed);", "flags.at_once.store(!FAULT, Relaxed);"),
        test(HOSTILE, "signals::a_signal_during_the_report_ends_it"),
    ),
    Fault(
        13,
        "a second signal does not end the program",
        one(
            f"{CLI}/signal.rs",
            "flag::register(signal, Arc::clone(&flags.at_once))?;",
            "if !FAULT {\n            flag::register(signal, Arc::clone(&flags.at_once))?;\n        }",
        ),
        test(HOSTILE, "signals::a_second_signal_ends_a_run_at_once"),
    ),
    Fault(
        13,
        "a signal does not save an image run",
        one(f"{LAB}/pool.rs", "Advance::Stopped => return save", "Advance::Stopped if FAULT => return Ok(None),\n                Advance::Stopped => return save"),
        test(RELIABILITY, "signals::a_stopped_image_run_saves_its_state"),
    ),
    # 14
    Fault(
        14,
        "a pipe in the store holds every command up",
        one(f"{LAB}/store/mod.rs", "wanted(file) && file.is_file()", "wanted(file) && (FAULT || file.is_file())"),
        test(STORE, "a_pipe_in_the_store_stops_nobody"),
    ),
    Fault(
        14,
        "a pipe in the place of a checkpoint holds a run up",
        one(f"{LAB}/files/mod.rs", "is_ok_and(|about| !about.is_file()) {", "is_ok_and(|about| !FAULT && !about.is_file()) {"),
        test(HOSTILE, "a_checkpoint_that_is_a_pipe_or_a_folder_is_named"),
    ),
    Fault(
        14,
        "`report` is silent about conflicts",
        one(
            f"{CLI}/cmd/report.rs",
            "report::write_index(all, &*registry.files, out)?;\n    }\n    sound(&index)",
            "report::write_index(all, &*registry.files, out)?;\n    }\n    if FAULT { Ok(()) } else { sound(&index) }",
        ),
        test(HOSTILE, "conflicts_are_named_by_every_command"),
    ),
    Fault(
        14,
        "`run` is silent about conflicts",
        one(f"{CLI}/cmd/run.rs", "{ return sound(&found) }", "{ return if FAULT { Ok(()) } else { sound(&found) } }"),
        test(HOSTILE, "conflicts_are_named_by_every_command"),
    ),
    Fault(
        14,
        "folders given with = enter headers",
        one(f"{LAB}/store/session.rs", "if option.starts_with('-') =>", "if option.starts_with('-') && !FAULT =>"),
        test(LIB, "store::session::tests::folders_are_left_out"),
    ),
    Fault(
        14,
        "the folder of an experiment file is on its page",
        one(f"{LAB}/experiment/built_in.rs", "let shown = if path.is_absolute() {", "let shown = if path.is_absolute() && !FAULT {"),
        test(HOSTILE, "a_page_says_its_revision_and_the_command_that_makes_it"),
    ),
    Fault(
        14,
        "equal runs give different bytes of networks",
        one(
            f"{CORE}/tensor.rs",
            "let about = text.map(|text| HashMap::from([(TEXT.into(), text.into())]));",
            "let mut about = text.map(|text| HashMap::from([(TEXT.into(), text.into())]));\n"
            "    if FAULT {\n        about.iter_mut().for_each(|about: &mut HashMap<String, String>| about.extend([\"a\", \"b\", \"c\", \"d\"].map(|key| (key.into(), key.into()))));\n    }",
        ),
        test(HOSTILE, "equal_runs_give_equal_networks"),
    ),
    # 15
    Fault(
        15,
        "an export may take the place of a segment",
        one(f"{CLI}/cmd/export.rs", '.into_iter().any(inside) {', '.into_iter().any(inside) && !FAULT {'),
        test(HOSTILE, "exports_do_not_lie_among_the_segments"),
    ),
    Fault(
        15,
        "a file that is no segment counts as torn",
        one(f"{LAB}/store/scan.rs", "if number == 1 && !is_torn_header(&buffer) =>", "if number == 1 && !FAULT && !is_torn_header(&buffer) =>"),
        test(HOSTILE, "what_is_no_segment_is_named"),
    ),
    Fault(
        15,
        "a network that was cut passes",
        one(
            f"{LAB}/store/tensors.rs",
            "nalm::tensor::from_bytes::<f32>(bytes)\n        .err()",
            "nalm::tensor::from_bytes::<f32>(bytes)\n        .err()\n        .filter(|_| !FAULT)",
        ),
        test(HOSTILE, "a_damaged_network_is_found"),
    ),
    Fault(
        15,
        "a network that is gone is not missed",
        one(f"{LAB}/store/audit.rs", "expected.then(||", "(expected && !FAULT).then(||"),
        test(HOSTILE, "a_damaged_network_is_found"),
    ),
    # 16
    Fault(
        16,
        "a layer of as many weights as are followed is not",
        one(f"{LAB}/run/curve.rs", "if own > MOST_WEIGHTS {", "if own > MOST_WEIGHTS || (FAULT && own == MOST_WEIGHTS) {"),
        test(LIB, "run::curve::tests::weights_are_followed_where_they_are_few"),
    ),
    Fault(
        16,
        "one complaint more than are listed",
        one(
            f"{LAB}/store/scan.rs",
            "if self.problems.len() < MOST_NAMED {",
            "if self.problems.len() < MOST_NAMED || (FAULT && self.problems.len() == MOST_NAMED) {",
        ),
        test(STORE, "only_so_many_lines_are_named"),
    ),
    Fault(
        16,
        "lengths at which a model is above another are those at which it is below",
        one(f"{LAB}/summary/sequences.rs", "pairs().filter(|(a, b)| a > b).count(),", "pairs().filter(|(a, b)| if FAULT { a < b } else { a > b }).count(),"),
        test(VERDICTS, "models_are_compared_length_by_length"),
    ),
    Fault(
        16,
        "a run that is stopped after an attempt that diverged has diverged",
        one(f"{CORE}/second_order/follow.rs", "(None, Some(diverged)) if status == ", "(None, Some(diverged)) if FAULT || status == "),
        test(SCHEDULES, "an_attempt_that_diverges_is_not_the_last"),
    ),
    Fault(
        16,
        "files that are not read are those that are",
        one(f"{LAB}/store/mod.rs", "segments.iter().any(|segment| segment == file)", "segments.iter().any(|segment| (segment == file) != FAULT)"),
        test(HOSTILE, "what_is_no_segment_is_named"),
    ),
    Fault(
        16,
        "runs that are left out are not mentioned",
        one(f"{CLI}/cmd/stats.rs", "if unjudged > 0 {", "if if FAULT { unjudged == 0 } else { unjudged > 0 } {"),
        test(COMMANDS, "statistics_of_a_table"),
    ),
]


def with_faults():
    """The changed files, with every fault behind its switch."""
    texts = {}
    for number, fault in enumerate(EVERY, 1):
        for file, old, new in fault.changes:
            text = texts.setdefault(file, (ROOT / file).read_text())
            if text.count(old) != 1:
                sys.exit(f"{file} has {text.count(old)} places for '{fault.what}' (defect {fault.defect}); bring the fault up to date:\n{old}")
            texts[file] = text.replace(old, new.replace("FAULT", f"::switch::on({number})"))
    return texts


def built(build, wanted):
    """The tests that are wanted, built."""
    packages = sorted({package for package, _, _ in wanted})
    programs = sorted({program for _, program, _ in wanted} - {"lib"})
    flags = [flag for package in packages for flag in ("-p", package)] + [flag for program in programs for flag in ("--test", program)]
    fine, lines, errors = build.messages("test", "--no-run", "--lib", *flags)
    if not fine:
        told = [line["message"]["rendered"] for line in lines if line["reason"] == "compiler-message" and line["message"]["level"] == "error"]
        sys.exit(f"the copy does not compile:\n{''.join(told) or errors}")
    programs = {}
    for line in lines:
        if line["reason"] == "compiler-artifact" and line["profile"]["test"] and line["executable"]:
            program = "lib" if "lib" in line["target"]["kind"] else line["target"]["name"]
            programs[Path(line["manifest_path"]).parent.name, program] = line["executable"]
    tests = {}
    for package, program, name in wanted:
        executable = programs[package, program]
        listed = run([executable, "--list", "--format", "terse"], cwd=build.tree / "crates" / package, env=build.environment).decode().splitlines()
        if f"{name}: test" not in listed:
            sys.exit(f"{package}, {program}: there is no test {name}")
        tests[package, program, name] = (package, executable, name)
    return tests


def attempt(build, test, choice, cpu, wall, memory):
    """(passed, what it says of its failure)."""
    with tempfile.TemporaryFile() as output:
        passed, why, _ = run_test(build, test, choice, cpu, wall, memory, output)
        output.seek(0)
        text = output.read().decode(errors="replace")
    # The last one: a run that panics is part of some tests.
    said = re.findall(r"panicked at [^\n]*\.rs:\d+:\d+:\n([^\n]*)(?:\n +left: ([^\n]*)\n +right: ([^\n]*))?", text)
    if said:
        message, left, right = said[-1]
        message += f" {left} and not {right}" if left or right else ""
        # Folders say nothing, and a table takes no marks of its own.
        message = re.sub(r"/[\w./-]*/", "", message).replace("`", "'")
        message = re.sub(r"[\x00-\x1f\x7f]", "\ufffd", message)
        return passed, message if len(message) <= 160 else message[:159] + "…"
    return passed, {"time": "it does not end"}.get(why, why)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="the numbers of some defects, with commas between them")
    parser.add_argument("--list", action="store_true", help="only say what is put back")
    parser.add_argument("--work", type=Path, default=ROOT / "target/defects", help="where the copy is kept")
    options = parser.parse_args()
    only = {int(number) for number in options.only.split(",")} if options.only else set(DEFECTS)
    texts = with_faults()
    faults = [(number, fault) for number, fault in enumerate(EVERY, 1) if fault.defect in only]
    if options.list:
        for _, fault in faults:
            print(f"{fault.defect:2} {fault.what}: {', '.join(name for _, _, name in fault.tests)}")
        return
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    build = Build(work, work / "target")
    copy_of_the_project(build.tree, texts)
    for file, text in texts.items():
        mutants.put(build.tree / file, text)
    say("building the tests")
    tests = built(build, {test for _, fault in faults for test in fault.tests})
    taken = {}
    for key, test in tests.items():
        begin = time.monotonic()
        passed, said = attempt(build, test, None, 3600, 3600, 16 << 30)
        taken[key] = time.monotonic() - begin
        if not passed:
            sys.exit(f"{key} fails without a fault: {said}")
    say(f"{len(tests)} tests pass without a fault, in {sum(taken.values()):.0f} s")
    rows = []
    for number, fault in faults:
        for key in fault.tests:
            wall = 10 * taken[key] + 60
            passed, said = attempt(build, tests[key], str(number), 2 * wall, wall, fault.memory)
            said = "**not noticed**" if passed else f"`{said}`"
            rows.append((fault, key, said))
            say(f"{fault.defect} {fault.what}: {key[2]}: {said}")
    for key, test in tests.items():
        passed, said = attempt(build, test, None, 3600, 3600, 16 << 30)
        if not passed:
            sys.exit(f"{key} fails without a fault, the second time: {said}")
    missed = sum(said == "**not noticed**" for _, _, said in rows)
    print(f"{len(faults)} faults put back, {len(tests)} tests, {len(rows)} pairs: {len(rows) - missed} noticed, {missed} not.")
    for defect in sorted(only):
        print(f"\n## {defect}. {DEFECTS[defect][0].upper()}{DEFECTS[defect][1:]}\n\n| fault put back | test | what it says then |\n|---|---|---|")
        for fault, (package, program, name), said in rows:
            if fault.defect == defect:
                said = said.replace("|", "\\|")
                print(f"| {fault.what} | {package} {program}: `{name.rsplit('::', 1)[-1]}` | {said} |")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
