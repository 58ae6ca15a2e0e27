//! Tables of one's own: what is read from text, how rows are divided, and training on them.

use nalm::batch::{Batch, BatchLayout, from_lanes};
use nalm::rng::{Fast, Rng};
use nalm::table::{Dialect, Note, Records, Sample, Wanted};
use nalm::task::Parts;
use nalm::{Config, Error, Network, Nmu, Noisy, Split, Stream, Table, TableTask, Task, train};
use std::io::{self, Read};
use std::sync::Arc;

fn read(text: impl AsRef<[u8]>) -> Result<Table, Error> {
    Table::from_csv(text.as_ref(), "data.csv", None)
}

fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("refused").to_string()
}

#[test]
fn every_dialect_gives_the_same_table() {
    let want = Table::new([("a", vec![1.0, 3.0]), ("the b", vec![-2.5, 4e3])]).unwrap();
    for text in [
        "a,the b\n1,-2.5\n3,4e3\n",
        "a,the b\n1,-2.5\n3,4e3",
        "\u{feff}a,the b\n1,-2.5\n3,4e3\n",
        "\u{feff}\"a\",the b\n1,-2.5\n3,4e3\n",
        "a;the b\n1;-2.5\n3;4e3\n",
        "a\tthe b\n1\t-2.5\n3\t4e3\n",
        "a,the b\r\n1,-2.5\r\n3,4e3\r\n",
        "a,the b\r1,-2.5\r3,4e3\r",
        "\"a\",\"the b\"\n\"1\",\"-2.5\"\n3,\"4e3\"\n",
        "  a ,  the b\n 1 , -2.5\n3\t, +4000.0 \n",
        "\n\na,the b\n\n1,-2.5\n\n\n3,4e3\n\n",
    ] {
        assert_eq!(read(text).unwrap(), want, "{text:?}");
    }
    let quoted = read("\"a;b;c\",\"say \"\"d\"\"\"\n1,2\n").unwrap();
    assert_eq!(quoted.names(), ["a;b;c", "say \"d\""]);
    assert_eq!(read("one\n1\n2\n").unwrap().column("one").unwrap(), [1.0, 2.0]);
}

#[test]
fn text_columns_are_refused_only_where_they_are_used() {
    let text = "who,b,a\nAda,2,1\nGrace,,3\n";
    let read = |columns: Option<&[&str]>| Table::from_csv(text.as_bytes(), "data.csv", columns);
    assert_eq!(read(Some(&["a"])).unwrap(), Table::new([("a", vec![1.0, 3.0])]).unwrap());
    let number = "data.csv, line 2, column 'who': 'Ada' is not a finite number; write it like 1.5 or -2e-3";
    assert_eq!(message(read(None)), number);
    let missing = "data.csv, line 3, column 'b': the cell is empty; fill it in or leave out the line";
    assert_eq!(message(read(Some(&["a", "b"]))), missing);
    assert_eq!(message(read(Some(&["whom"]))), "unknown column 'whom'; did you mean 'who'? (valid: who, b, a)");
    let twice = "name of two columns is 'a'; it must be different for every column";
    assert_eq!(message(read(Some(&["a", "a"]))), twice);
    assert_eq!(message(read(Some(&[]))), "number of columns of a table is 0; it must be at least 1");
}

#[test]
fn every_fault_is_named_with_its_place() {
    let missing = "stands for a missing number; fill it in or leave out the line";
    let own = "give every column a name of its own in the header";
    let ragged = "give every line as many cells as the header";
    let number = "is not a finite number; write it like 1.5 or -2e-3";
    for (text, want) in [
        (&b"a,b\n1,2\n3,x\n"[..], format!(", line 3, column 'b': 'x' {number}")),
        (b"a;b\n1.5;2,5\n", format!(", line 2, column 'b': '2,5' {number}")),
        (b"a,b\n1,inf\n", format!(", line 2, column 'b': 'inf' {number}")),
        (b"a,b\n1,1e999\n", format!(", line 2, column 'b': '1e999' {number}")),
        (b"a,b\n1,NA\n", format!(", line 2, column 'b': 'NA' {missing}")),
        (b"a,b\nNaN,1\n", format!(", line 2, column 'a': 'NaN' {missing}")),
        (b"a,b\n1, \n", ", line 2, column 'b': the cell is empty; fill it in or leave out the line".into()),
        (b"a,b\n1,2\n3\n", format!(", line 3: 1 cell where the header has 2 cells; {ragged}")),
        (b"a,b\n1,2,3\n", format!(", line 2: 3 cells where the header has 2 cells; {ragged}")),
        (b",column 1\n1,2\n", format!(", line 1, column 2: the name 'column 1' is also that of column 1; {own}")),
        (b",,\n1,2,3\n", format!(", line 1, column 1: the name of the column is empty; {own}")),
        (b"a,b, a\n1,2,3\n", format!(", line 1, column 3: the name 'a' is also that of column 1; {own}")),
        (b"", ": there is nothing in it; the first line must name the columns".into()),
        (b"\xef\xbb\xbf\n\n", ": there is nothing in it; the first line must name the columns".into()),
        (b"a,b\n", ": there are no rows below the header; a table needs at least one".into()),
        (b"a,b\n1,\xff\n", ", line 2, column 'b': the cell is not UTF-8; save the file as UTF-8".into()),
        (b"a,\xff\n1,2\n", ", line 1, column 2: the cell is not UTF-8; save the file as UTF-8".into()),
        (b"a,b\n1,2\n3,\"4\n5,6\n", ", line 3: a quote is opened and never closed; close it or leave it out".into()),
    ] {
        assert_eq!(message(read(text)), format!("data.csv{want}"), "{}", String::from_utf8_lossy(text));
    }
}

/// Programs put a column of numbers without a name before their rows.
#[test]
fn columns_without_a_name_are_called_by_their_numbers() {
    let records = Records::new(",a,,b,\n1,2,3,4\n".as_bytes(), "data.csv").unwrap();
    assert_eq!(records.headers(), ["column 1", "a", "column 3", "b"]);
    assert_eq!(records.position("column 3").unwrap(), 2);
    let notes: Vec<String> = records.notes().iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        ["a column has no name and is called 'column 1'", "a column has no name and is called 'column 3'"]
    );
    let sample = Table::sample(",a\n0,2\n1,4\n".as_bytes(), "data.csv", &Dialect::default(), &Wanted::default());
    let sample = sample.unwrap();
    assert_eq!(sample.table.column("column 1").unwrap(), [0.0, 1.0]);
    assert_eq!(sample.notes, [Note::Unnamed("column 1".into())]);
}

#[test]
fn points_that_may_group_thousands_are_named() {
    let notes =
        |text: &str, dialect: Dialect| Records::open(text.as_bytes(), "data.csv", &dialect).unwrap().notes().len();
    let text = "a;b\n7.196;7.696\n12.001;3\n";
    assert_eq!(notes(text, Dialect::default()), 1);
    assert_eq!(notes(text, Dialect::default().decimal(',')), 0);
    assert_eq!(notes("a,b\n7.196,7.696\n12.001,3\n", Dialect::default()), 0);
    assert_eq!(notes("a;b\n7.196;7.696\n12.01;3\n", Dialect::default()), 0);
    assert_eq!(notes("a;b\n0.196;0.696\n", Dialect::default()), 0);
}

/// Whatever lines end with, however many are empty or within quotes.
#[test]
fn lines_are_counted_as_an_editor_would() {
    for end in ["\n", "\r\n", "\r"] {
        let text = "\na,b\n\n1,2\n\n\n\"3\n\",4\n5,x\n".replace('\n', end);
        let mut records = Records::new(text.as_bytes(), "data.csv").unwrap();
        assert_eq!((records.headers(), records.separator()), (&["a".to_string(), "b".to_string()][..], ','));
        let mut lines = Vec::new();
        while let Some(record) = records.next_record().unwrap() {
            lines.push((record.line(), record.iter().collect::<Vec<_>>().join("|")));
            assert_eq!(record.get(2), None);
        }
        assert_eq!(lines, [(4, "1|2".into()), (7, "3|4".into()), (9, "5|x".into())], "{end:?}");
        assert!(message(read(&text)).starts_with("data.csv, line 9, column 'b': 'x'"));
    }
}

#[test]
fn a_reader_that_fails_is_an_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("no disk"))
        }
    }
    let want = "data.csv: it cannot be read (no disk); see that it is there and may be read";
    assert_eq!(message(Table::from_csv(Broken, "data.csv", None)), want);
    let late = b"a\n1\n".chain(Broken);
    assert_eq!(message(Table::from_csv(late, "data.csv", None)), want);
}

/// t = a b of numbers between 1 and 2.
fn products(rows: usize) -> Table {
    let mut rng = Rng::Fast(Fast::new("a table of products"));
    let [a, b] = [0; 2].map(|_| (0..rows).map(|_| rng.uniform(1.0, 2.0)).collect::<Vec<f64>>());
    let t = a.iter().zip(&b).map(|(a, b)| a * b).collect();
    Table::new([("a", a), ("b", b), ("t", t)]).unwrap()
}

fn random(validation: f64, test: f64) -> Split {
    Split::Random { validation, test }
}

fn extremes(column: &str, validation: f64, test: f64) -> Split {
    Split::Extremes { column: column.into(), validation, test }
}

fn task(rows: usize, split: Split) -> TableTask {
    TableTask::new(products(rows), &["a", "b"], "t", split, TableTask::GOAL).unwrap()
}

fn sizes(parts: &Parts) -> [usize; 3] {
    [&parts.training, &parts.validation, &parts.test].map(Vec::len)
}

fn covers(parts: &Parts, rows: usize) -> bool {
    let Parts { training, validation, test } = parts;
    let mut all: Vec<usize> = [training, validation, test].into_iter().flatten().copied().collect();
    all.sort_unstable();
    all == (0..rows).collect::<Vec<_>>()
}

#[test]
fn every_row_is_in_one_part() {
    for (split, seeds_test) in [(random(0.1, 0.25), true), (extremes("a", 0.1, 0.25), false)] {
        let task = task(501, split);
        let (first, other) = (task.parts(1), task.parts(2));
        assert_eq!(sizes(&first), [326, 50, 125]);
        assert!(covers(&first, 501) && covers(&other, 501));
        assert_eq!(first, task.parts(1));
        assert_ne!(first.validation, other.validation);
        assert_eq!(first.test != other.test, seeds_test);
        assert_eq!(Task::<f32>::evaluation_rows(&task), Some((50, 125)));
    }
}

#[test]
fn extremes_lie_outside_all_other_rows() {
    let task = task(501, extremes("a", 0.1, 0.25));
    let a = task.table().column("a").unwrap();
    let parts = task.parts(0);
    let others = || parts.training.iter().chain(&parts.validation).map(|&row| a[row]);
    let (low, high) = (others().fold(f64::INFINITY, f64::min), others().fold(f64::NEG_INFINITY, f64::max));
    let below = parts.test.iter().filter(|&&row| a[row] < low).count();
    let above = parts.test.iter().filter(|&&row| a[row] > high).count();
    assert_eq!((below, above), (62, 63));
}

/// Ten rows of each of ten values: 15 rows at the ends take two values whole.
#[test]
fn equal_values_stay_together() {
    let x: Vec<f64> = (0..100).map(|k| f64::from(k % 10)).collect();
    let t: Vec<f64> = (0..100).map(f64::from).collect();
    let table = Arc::new(Table::new([("x", x.clone()), ("t", t)]).unwrap());
    let task = TableTask::new(Arc::clone(&table), &["x"], "t", extremes("x", 0.1, 0.15), 1e-3).unwrap();
    let parts = task.parts(0);
    assert_eq!(sizes(&parts), [70, 10, 20]);
    assert!(covers(&parts, 100) && parts.test.iter().all(|&row| x[row] == 0.0 || x[row] == 9.0));
    let two = Table::new([("x", x.iter().map(|x| x % 2.0).collect()), ("t", x)]).unwrap();
    let want = "100 rows split by the extremes of the column 'x' (equal values stay together) with shares of 0.1 for validation and \
                0.2 for testing leave no row for training; every part needs one: use more rows or other shares";
    assert_eq!(message(TableTask::new(two, &["x"], "t", extremes("x", 0.1, 0.2), 1e-3)), want);
}

/// The rows of a batch, each by its place in the table.
fn places(task: &TableTask, batch: &Batch<f64>) -> Vec<usize> {
    let (x, t) = (from_lanes(&batch.x, batch.at), from_lanes(&batch.t, batch.at));
    let rows: Vec<Vec<f64>> = (0..task.table().rows()).map(|k| task.table().row(k).unwrap()).collect();
    let place = |(x, t): (&[f64], &f64)| rows.iter().position(|row| row[..2] == *x && row[2] == *t).unwrap();
    x.chunks_exact(2).zip(&t).map(place).collect()
}

#[test]
fn batches_go_through_the_training_rows_epoch_by_epoch() {
    let task = task(60, random(0.2, 0.3));
    let parts = task.parts(7);
    let draw = |rows: usize, batches: usize, seed: u64| {
        let mut samples = Task::<f64>::open(&task, Stream::Fast, seed).unwrap();
        let mut batch = Batch::zeros(2, 1, BatchLayout::new(rows).unwrap());
        let mut drawn = Vec::new();
        for _ in 0..batches {
            samples.train(&mut batch);
            drawn.extend(places(&task, &batch));
        }
        drawn
    };
    // 30 training rows, in batches that do not divide them.
    let drawn = draw(9, 10, 7);
    let sorted = |rows: &[usize]| {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows
    };
    let epochs: Vec<&[usize]> = drawn.chunks(30).collect();
    assert!(epochs.iter().all(|epoch| sorted(epoch) == sorted(&parts.training)));
    assert!(epochs[0] != epochs[1] && epochs[1] != epochs[2]);
    // The order does not depend on the size of a batch, which may be larger than the table.
    assert_eq!(draw(90, 1, 7), drawn);
    assert_ne!(draw(90, 1, 8), drawn);
    let mut samples = Task::<f64>::open(&task, Stream::Fast, 7).unwrap();
    let mut batch = Batch::zeros(2, 1, BatchLayout::new(12).unwrap());
    samples.validation(&mut batch);
    assert_eq!(places(&task, &batch), parts.validation);
    let mut batch = Batch::zeros(2, 1, BatchLayout::new(25).unwrap());
    samples.test(&mut batch);
    assert_eq!(places(&task, &batch), [&parts.test[..], &parts.test[..7]].concat());
}

#[test]
fn streams_depend_on_the_columns_in_use_alone() {
    let key = |task: &TableTask| Task::<f32>::key(task);
    let table = products(60);
    let wide = Table::new(
        ["a", "b", "t", "t"]
            .iter()
            .enumerate()
            .map(|(k, name)| (if k == 3 { "other" } else { name }, table.column(name).unwrap().to_vec())),
    )
    .unwrap();
    let of = |table: &Table, inputs: &[&str], split: Split, goal: f64| {
        key(&TableTask::new(table.clone(), inputs, "t", split, goal).unwrap())
    };
    let one = of(&table, &["a", "b"], random(0.2, 0.2), 1e-6);
    assert_eq!(one, of(&wide, &["a", "b"], random(0.2, 0.2), 1e-3));
    assert_ne!(one, of(&table, &["b", "a"], random(0.2, 0.2), 1e-6));
    assert_ne!(one, of(&table, &["a", "b"], random(0.2, 0.3), 1e-6));
    assert_ne!(one, of(&table, &["a", "b"], extremes("a", 0.2, 0.2), 1e-6));
    assert_ne!(one, of(&products(61), &["a", "b"], random(0.2, 0.2), 1e-6));
}

#[test]
fn a_product_is_found_in_a_table_and_holds_outside_of_what_was_trained_on() {
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    let config = Config::published(&network).steps(20_000);
    for split in [extremes("t", 0.1, 0.2), random(0.1, 0.2)] {
        let task = task(500, split);
        let outcome = train(&network, &task, 3, &config, &mut ()).unwrap();
        assert!(outcome.solved() && outcome.test_error < task.thresholds().simulated, "{}", outcome.test_error);
        // Up to the rounding of the targets to f32.
        assert!(outcome.params.iter().all(|w| (w - 1.0).abs() < 1e-6), "{:?}", outcome.params);
        assert_eq!(outcome.flat, None);
        assert_eq!(outcome, train(&network, &task, 3, &config, &mut ()).unwrap());
        // Sizes of sampled sets do not matter to a table.
        let other = Config { validation: 1, test: 1, ..config.clone() };
        assert_eq!(outcome, train(&network, &task, 3, &other, &mut ()).unwrap());
    }
}

/// What is logged is the mean over exactly the rows of each part.
#[test]
fn errors_are_those_of_the_whole_parts() {
    let network = Network::<f64>::single(Nmu::new(2, 1).unwrap());
    let task = task(100, random(0.13, 0.37));
    let config = Config { start: Some(vec![0.25, 0.75]), ..Config::published(&network).steps(0) };
    let row = train(&network, &task, 5, &config, &mut ()).unwrap().rows[0];
    let parts = task.parts(5);
    let error = |rows: &[usize]| {
        let squares = rows.iter().map(|&k| {
            let row = task.table().row(k).unwrap();
            (network.predict(&[0.25, 0.75], &row[..2]).unwrap()[0] - row[2]).powi(2)
        });
        squares.sum::<f64>() / rows.len() as f64
    };
    for (got, want) in [(row.validation, error(&parts.validation)), (row.test, error(&parts.test))] {
        assert!((got / want - 1.0).abs() < 1e-12, "{got} {want}");
    }
    let noisy = Noisy::new(Arc::new(task) as Arc<dyn Task<f64>>, 0.0).unwrap();
    assert_eq!(train(&network, &noisy, 5, &config, &mut ()).unwrap().rows[0], row);
}

#[test]
fn the_threshold_is_a_share_of_the_variance() {
    let table = Table::new([("x", vec![0.0, 1.0, 2.0, 3.0]), ("t", vec![1.0, 3.0, 5.0, 7.0])]).unwrap();
    let task = TableTask::new(table, &["x"], "t", random(0.25, 0.25), 0.01).unwrap();
    assert_eq!((task.thresholds().flat, task.thresholds().simulated), (None, 0.05));
}

#[test]
fn what_is_no_task_is_refused() {
    let new = |inputs: &[&str], target, split, goal| message(TableTask::new(products(12), inputs, target, split, goal));
    let (good, ab) = (random(0.1, 0.1), &["a", "b"][..]);
    assert_eq!(new(&["a", "c"], "t", good.clone(), 1e-6), "unknown column 'c' (valid: a, b, t)");
    assert_eq!(new(ab, "tt", good.clone(), 1e-6), "unknown column 'tt' (valid: a, b, t)");
    assert_eq!(new(ab, "t", extremes("A", 0.1, 0.1), 1e-6), "unknown column 'A'; did you mean 'a'? (valid: a, b, t)");
    assert_eq!(new(&[], "t", good.clone(), 1e-6), "number of input columns is 0; it must be at least 1");
    assert_eq!(
        new(&["a", "a"], "t", good.clone(), 1e-6),
        "the column 'a' is not available as two inputs; name it once"
    );
    let both = "the column 't' is not available as an input and as the target; leave it out of the inputs";
    assert_eq!(new(&["a", "t"], "t", good.clone(), 1e-6), both);
    let goal = "goal (squared error relative to the target's variance) is 0; it must be positive and finite";
    assert_eq!(new(ab, "t", good.clone(), 0.0), goal);
    let share = "share of the validation rows is -0.1; it must be from 0 to 1";
    assert_eq!(new(ab, "t", random(-0.1, 0.1), 1e-6), share);
    assert_eq!(new(ab, "t", random(0.1, f64::NAN), 1e-6), "share of the test rows is NaN; it must be from 0 to 1");
    for (split, part) in [
        (random(0.02, 0.1), "validation"),
        (random(0.1, 0.0), "testing"),
        (random(0.5, 0.5), "training"),
        (extremes("a", 0.5, 0.5), "training"),
        (extremes("a", 0.0, 0.5), "validation"),
        (extremes("a", 0.5, 0.02), "testing"),
    ] {
        let want = format!(
            "12 rows split {split} leave no row for {part}; every part needs one: use more rows or other shares"
        );
        assert_eq!(new(ab, "t", split, 1e-6), want);
    }
    assert_eq!(good.to_string(), "at random with shares of 0.1 for validation and 0.1 for testing");

    let table = |t: Vec<f64>| Table::new([("x", (0..t.len()).map(|k| k as f64).collect()), ("t", t)]).unwrap();
    let of = |t: Vec<f64>| TableTask::new(table(t), &["x"], "t", random(0.2, 0.2), 1e-6);
    let constant = "target is constant ('t' is 3.5 in every row); it must be a column that varies";
    assert_eq!(message(of(vec![3.5; 10])), constant);
    let vast = "variance of the target is inf; it must be positive and finite";
    assert_eq!(message(of((0..10).map(|k| 1e200 * f64::from(k)).collect())), vast);

    let large = of((0..10).map(|k| 1e100 * f64::from(k)).collect()).unwrap();
    let narrow =
        "the number 1e100 of the column 't' is not available in f32; give the column in another unit, or train in f64";
    assert_eq!(message(Task::<f32>::open(&large, Stream::Fast, 0)), narrow);
    assert!(Task::<f64>::open(&large, Stream::Fast, 0).is_ok());
    let reference = "a table of your own is not available with reference streams; use the fast streams";
    assert_eq!(message(Task::<f64>::open(&large, Stream::Reference, 0)), reference);
}

/// Held-out rows and fits are larger than the table: its rows come again.
#[cfg(feature = "second-order")]
#[test]
fn schedules_work_on_small_tables() {
    use nalm::second_order::{Adam, Lm, Phase, TrainingSchedule, follow};
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    let schedule = TrainingSchedule {
        phases: vec![Phase::Adam(Adam { steps: 200, ..Adam::default() }), Phase::Lm(Lm::default())],
        ..TrainingSchedule::default()
    };
    let task = task(20, extremes("t", 0.1, 0.2));
    let outcome = follow(&network, &task, 0, &Config::published(&network), &schedule, &mut ()).unwrap();
    assert!(outcome.solved());
    assert_eq!(outcome.params, [1.0, 1.0]);
}

fn sample(text: impl AsRef<[u8]>, wanted: &Wanted) -> Result<Sample, Error> {
    Table::sample(text.as_ref(), "data.csv", &Dialect::default(), wanted)
}

/// Odd files with the numbers that a person reads in them.
#[test]
fn odd_files_are_read_as_they_are_meant() {
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let want = [vec![1.0, 3.0], vec![-2.5, 4000.0]];
    for text in [
        "a;b\n1;-2,5\n3;4000,0\n".as_bytes().to_vec(),
        "a;b\n1,0;-2,5\n3,0;4.000,0\n".into(),
        "a\tb\n1\t-2,5\n3\t4 000,0\n".into(),
        "a|b\n1|-2.5\n3|4000\n".into(),
        "sep=;\r\na;b\r\n1;-2,5\r\n3;4000\r\n".into(),
        "sep=|\na|b\n1|-2.5\n3|4000\n".into(),
        "a,b\n\"1\",\"-2.5\"\n\"3\",\"4,000.0\"\n".into(),
        "a,b\n\"1,0\",\"-2,5\"\n\"3,0\",\"4.000,0\"\n".into(),
        "a,b,,\n1,-2.5,,\n3,4000,,\n".into(),
        "a,b\n1,-2.5,\n3,4000,,\n".into(),
        "a,b\n1,\u{2212}2.5\n3,4\u{2019}000\n".into(),
        utf16("a\tb\r\n1\t-2,5\r\n3\t4000\r\n"),
        utf16("a;b\n1;-2,5\n3;4000\n"),
        "a,b\n1,-2.5\n,7\n3,4e3\n5,NA\n".into(),
        "who,a,b\nAda,1,-2.5\nGrace,3,4000\n".into(),
        "a,day,b\n1,2026-01-05,-2.5\n3,2026-01-06,4000\n".into(),
        "a,notes,b\n1,,-2.5\n3,,4000\n".into(),
        "\u{feff}\"a\";\"b\"\r\n\"1\";\"-2,5\"\r\n\"3\";\"4000\"".into(),
    ] {
        let shown = String::from_utf8_lossy(&text).into_owned();
        let got = sample(&text, &Wanted::default()).unwrap_or_else(|error| panic!("{error}: {shown:?}"));
        assert_eq!(got.table.names(), ["a", "b"], "{shown:?}");
        assert_eq!([got.table.column("a").unwrap(), got.table.column("b").unwrap()], want, "{shown:?}");
    }
}

#[test]
fn files_that_cannot_be_used_say_why() {
    for (text, want) in [
        (
            "a\tb\n1,234\t5\n",
            ", line 2, column 'a': '1,234' may be 1234 or 1.234; say whether decimals stand after a point or a comma",
        ),
        ("1,2\n3,4\n", ": the first line holds numbers; the first line must name the columns"),
        ("1,5;2,5\n3,5;4\n", ": the first line holds numbers; the first line must name the columns"),
        ("1,5\t2\n3,5\t4\n", ": the first line holds numbers; the first line must name the columns"),
        ("a b\n1.5 2\n3 4.5\n", ": no column holds numbers; say what stands between its cells"),
        ("a,b\nx,y\n", ": no column holds numbers; a table needs at least one"),
        ("a,b\n1,\n,2\n", ": every row has a missing cell; fill them in, or leave out the columns that have them"),
        ("a,b\n1,2\n3,4\n5,6x\n", ", line 4, column 'b': '6x' is not a finite number; write it like 1.5 or -2e-3"),
        (
            "a;b\n1,5;2\n3;2x\n",
            ", line 3, column 'b': '2x' is not a finite number; decimals stand after a comma here, so write it like 1,5 or -2e-3",
        ),
        ("a,b\n", ": there are no rows below the header; a table needs at least one"),
        ("", ": there is nothing in it; the first line must name the columns"),
        ("a,b\n1,2,3\n", ", line 2: 3 cells where the header has 2 cells; give every line as many cells as the header"),
    ] {
        assert_eq!(message(sample(text, &Wanted::default())), format!("data.csv{want}"));
    }
    let infinite = message(sample("a,b\ninf,1\n-inf,2\n", &Wanted::default().columns(["a"])));
    assert_eq!(
        infinite,
        "data.csv: the column 'a' holds numbers that are not finite ('inf', line 2); choose columns of numbers"
    );
    let asked = Wanted::default().columns(["who"]);
    let text = "data.csv: the column 'who' holds text ('Ada', line 2); choose columns of numbers";
    assert_eq!(message(sample("who,a\nAda,1\n", &asked)), text);
    let unknown = message(sample("a,b\n1,2\n", &Wanted::default().ignored(["c"])));
    assert_eq!(unknown, "unknown column 'c' (valid: a, b)");
    let decimal = Table::sample(&b"a\n1\n"[..], "t", &Dialect::default().decimal('x'), &Wanted::default());
    assert_eq!(message(decimal), "mark before decimals is 'x'; it must be '.' or ','");
    assert!(Records::open(&b"a\n1\n"[..], "t", &Dialect::default().separator('"')).is_err());
    let forced = Table::sample(&b"a b\n1 2\n"[..], "t", &Dialect::default().separator(' '), &Wanted::default());
    assert_eq!(forced.unwrap().table.names(), ["a", "b"]);
}

/// What a reader could be told is typed, and the core names no options of a program.
#[test]
fn what_a_reader_lacks_is_typed() {
    let lack = |text: &str, column: &str| match Table::from_csv(text.as_bytes(), "t", Some(&[column])).unwrap_err() {
        nalm::Error::Lacking { lack, cause } => {
            assert!(!cause.to_string().contains("--"), "{cause}");
            Some(lack)
        }
        _ => None,
    };
    assert_eq!(lack("a\tb\n1,234\t5\n", "a"), Some(nalm::Lack::Decimal));
    assert_eq!(lack("a,b\n kg , m\n1,2\n", "a"), Some(nalm::Lack::Units));
    assert_eq!(lack("a,b\n kg , 5\n1,2\n", "a"), None);
    let blanks = sample("a b\n1.5 2\n", &Wanted::default());
    assert!(matches!(blanks, Err(nalm::Error::Lacking { lack: nalm::Lack::Separator, .. })), "{blanks:?}");
}

/// Text that never ends, after a quote that is never closed.
struct Unclosed(usize);

impl std::io::Read for Unclosed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let start = b"a,b\n1,2\n3,\"4\n";
        buffer.iter_mut().enumerate().for_each(|(k, byte)| *byte = *start.get(self.0 + k).unwrap_or(&b'7'));
        self.0 += buffer.len();
        assert!(self.0 < 1 << 26, "it reads on and on");
        Ok(buffer.len())
    }
}

#[test]
fn a_record_without_end_is_refused_with_its_line() {
    let error = Table::from_csv(Unclosed(0), "t.csv", None).unwrap_err().to_string();
    let want =
        "t.csv, line 3: a record of more than 16 MiB begins here; see whether a quote is opened and never closed";
    assert_eq!(error, want);
}

#[test]
fn what_is_left_out_is_counted_and_named() {
    let text = "who,a,b,c\nAda,1.50,2,\nGrace,1.50,2,\nAlan,,3,\nMary,4,5e-3,7\n";
    let got = sample(text, &Wanted::default()).unwrap();
    assert_eq!((got.rows, got.missing, got.repeated), (4, 1, 1));
    let left_out: Vec<String> = got.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left_out, ["the column 'who' holds text ('Ada', line 2)", "most cells of the column 'c' are empty"]);
    assert_eq!((got.lines, got.headers.len()), (vec![2, 3, 5], 4));
    assert_eq!(got.last_digits, [[-2, -2, 0], [0, 0, -3]]);
    let units = sample("a,b\nkg,m/s\n1,2\n", &Wanted::default().units(true)).unwrap();
    assert_eq!((units.units, units.table.rows()), (vec!["kg".to_string(), "m/s".into()], 1));
}

/// Text without end, so that nothing that holds all of it would survive.
struct Endless {
    rows: u64,
    at: Vec<u8>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at.is_empty() && self.rows > 0 {
            self.rows -= 1;
            self.at = format!("{},{}\n", self.rows, 2 * self.rows).into_bytes();
        }
        let n = self.at.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.at[..n]);
        self.at.drain(..n);
        Ok(n)
    }
}

#[test]
fn of_long_files_a_fair_sample_is_kept() {
    let rows = 200_000;
    let read = || {
        let text = Endless { rows, at: b"a,b\n".to_vec() };
        Table::sample(text, "long.csv", &Dialect::default(), &Wanted::default().most_rows(2_000)).unwrap()
    };
    let got = read();
    assert_eq!((got.rows, got.table.rows()), (rows, 2_000));
    assert_eq!(got, read());
    assert!(got.lines.is_sorted());
    let a = got.table.column("a").unwrap();
    assert!(a.iter().zip(got.table.column("b").unwrap()).all(|(a, b)| 2.0 * a == *b));
    // The mean of a fair sample is within four of its standard errors.
    let mean = a.iter().sum::<f64>() / 2_000.0 / rows as f64;
    assert!((mean - 0.5).abs() < 4.0 / (12.0 * 2_000.0f64).sqrt(), "{mean}");
}
