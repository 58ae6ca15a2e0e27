//! `nalm fit`: the formula behind a column of a CSV file.

use crate::arguments::{Fit, Forms};
use crate::exit::Stopped;
use crate::progress::{Pace, duration};
use crate::signal::Listening;
use crate::terminal::{self, counted, paragraph};
use anyhow::{Result, bail, ensure};
use nalm::expression::{Expression, Language};
use nalm::formula::source_of;
use nalm::table::{Dialect, Note, Records, Sample, Wanted};
use nalm::{Lack, Table};
use nalm_fit::{Holdout, Line, Observer, Problem, Unit, fit};
use nalm_lab::Error::{self, Request};
use nalm_lab::Registry;
use nalm_lab::files;
use nalm_lab::fit::{Answer, LANGUAGES, Model, Models, page, stack};
use nalm_lab::stats::shown::{interval, plain, significant};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, FileType};
use std::io::{Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// More candidates than this are not listed.
const MOST_LISTED: usize = 8;

pub(crate) fn run(registry: &Registry, arguments: &Fit) -> Result<()> {
    let language = arguments.write.as_deref().map(language).transpose()?;
    arguments.html.as_deref().map(super::compare::split).transpose()?;
    let inputs = [arguments.file.as_path(), Path::new(&arguments.holdout)];
    let inputs = inputs.into_iter().chain(arguments.units.as_deref().map(Path::new));
    super::ensure_apart([("--save", arguments.save.as_ref()), ("--html", arguments.html.as_ref())], inputs)?;
    let dialect = arguments.dialect.dialect();
    let records = Records::open(open(registry, &arguments.file)?, &name(&arguments.file), &dialect)?;
    let (headers, decimal) = (records.headers().to_vec(), records.decimal());
    let targets = match arguments.target.as_slice() {
        [] => headers.last().cloned().into_iter().collect(),
        given => columns(given, &headers)?,
    };
    if let Some(path) = arguments.save.as_ref().filter(|path| is_network(path) && targets.len() > 1) {
        bail!(Request(format!("{} holds one network; save one target at a time", path.display())));
    }
    let (inputs, ignored) = (columns(&arguments.inputs, &headers)?, columns(&arguments.ignore, &headers)?);
    if let Some(both) = targets.iter().chain(&inputs).find(|name| ignored.contains(name)) {
        bail!(Request(format!("the column '{both}' is to be ignored and used; decide on one")));
    }
    let mut wanted =
        Wanted::default().most_rows(arguments.most_rows as usize).units(arguments.units.as_deref() == Some("row"));
    wanted = match inputs.as_slice() {
        [] => wanted.ignored(ignored),
        // A target that holds no numbers is passed over where there are others.
        inputs if targets.len() > 1 => {
            let used = |name: &&String| !inputs.contains(name) && !targets.contains(name);
            wanted.ignored(headers.iter().filter(used).cloned())
        }
        inputs => {
            wanted.columns(inputs.iter().chain(targets.iter().filter(|target| !inputs.contains(target))).cloned())
        }
    };
    let mut sample = Table::sample(open(registry, &arguments.file)?, &name(&arguments.file), &dialect, &wanted)?;
    notes(&sample);
    if let Some(text) = sample.left_out.iter().find(|left_out| inputs.contains(&left_out.column)) {
        bail!(Request(format!("{text}; choose columns of numbers")));
    }
    let holdout = holdout(registry, arguments, &dialect, &mut sample)?;
    // What cannot be explained does not keep the others from it.
    let mut failed: Vec<String> = Vec::new();
    let mut explained = Vec::new();
    for target in &targets {
        let Some(left_out) = sample.left_out.iter().find(|left_out| left_out.column == *target) else {
            explained.push(target);
            continue;
        };
        let instead = left_out.hint().unwrap_or("name another target");
        let text = format!("{left_out}, and cannot be explained; {instead}");
        ensure!(targets.len() > 1, Request(text));
        failed.push(text);
    }
    ensure!(!explained.is_empty(), Request(failed.join("; ")));
    let units = units(registry, arguments, &sample)?;
    let strange: BTreeSet<&String> = units.iter().flat_map(HashMap::values).flat_map(Unit::strange).collect();
    for name in strange {
        say!("note: '{name}' is no unit that is known here; it is taken for a unit of its own");
    }
    let listening = Listening::new();
    let mut answers = Vec::new();
    for target in explained {
        let names = sample.table.names().iter().filter(|name| !targets.contains(name));
        let own: Vec<String> = if inputs.is_empty() { names.cloned().collect() } else { inputs.clone() };
        let mut problem = Problem::new(&sample.table, target)?.inputs(own.clone());
        problem = problem.holdout(holdout.clone()).printed(sample.printed(target)?).lines(lines(
            &sample,
            &holdout,
            &arguments.holdout,
        ));
        problem = problem.physical_constants(arguments.physical_constants).forms(match arguments.forms {
            Forms::Arithmetic => nalm_fit::Forms::Arithmetic,
            Forms::All => nalm_fit::Forms::All,
        });
        if let Some(units) = &units {
            let unit = |name: &String| units.get(name).cloned().unwrap_or_default();
            problem = problem.units(own.iter().map(unit).collect(), unit(target));
        }
        let start = Instant::now();
        let (rows, columns) = (counted(sample.table.rows(), "row"), counted(own.len(), "column"));
        let what = format!("looking for the formula of '{target}' in {rows} and {columns}");
        let report = match fit(&problem, &mut Watch::telling(&listening, what)) {
            Err(error) if targets.len() > 1 => {
                failed.push(format!("{target}: {error}"));
                continue;
            }
            report => report?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let outside = problem.held_back()?;
        answers
            .push(Answer::new(target, own, sample.headers.clone(), report, seconds).outside(outside).decimal(decimal));
        if listening.is_asked_to_stop() {
            break;
        }
    }
    // Whatever becomes of the one, the other is done: files are written if nobody reads what is printed, and answers are printed if a file cannot be written.
    let printed = match language {
        Some(language) => write(&answers, language),
        None if arguments.json => match answers.as_slice() {
            [one] => super::print_json(&one.json()),
            all => super::print_json(&all.iter().map(Answer::json).collect::<Vec<_>>()),
        },
        None => print(&answers),
    };
    let kept = keep(registry, arguments, &answers, &sample);
    // Without a formula because somebody stopped it is no wrong request.
    let is_cut = listening.is_asked_to_stop() && answers.iter().any(|answer| answer.best().is_none());
    ensure!(!is_cut, Stopped::keeps_nothing("fit", "no search"));
    kept?;
    printed?;
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    ensure!(!listening.is_asked_to_stop(), Stopped::keeps_nothing("fit", "no search"));
    Ok(())
}

/// Writes the files that were asked for.
fn keep(registry: &Registry, arguments: &Fit, answers: &[Answer], sample: &Sample) -> Result<()> {
    if let Some(path) = &arguments.html {
        files::replace(&*registry.files, path, page(answers, &sample.table)?.as_bytes())?;
        say!("{} is written", path.display());
    }
    let Some(path) = &arguments.save else { return Ok(()) };
    if is_network(path) {
        save_network(registry, answers, path)?;
        say!("{} is written", path.display());
        return Ok(());
    }
    let (found, without): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.best().is_some());
    if !found.is_empty() {
        let models = found.iter().map(|answer| Model::new(answer, &sample.table));
        Models::new(models.collect::<Result<_, Error>>()?).save(&*registry.files, path)?;
        say!("{} is written; nalm predict and nalm check read it", path.display());
    }
    let names =
        |answers: &[&Answer]| answers.iter().map(|answer| answer.target.as_str()).collect::<Vec<_>>().join(", ");
    match (without.as_slice(), found.as_slice()) {
        ([], _) => Ok(()),
        ([first, ..], []) => bail!(no_formula(first)),
        (without, found) => {
            let have = if without.len() == 1 { "has" } else { "have" };
            bail!("{} holds {}; {} {have} no formula", path.display(), names(found), names(without))
        }
    }
}

fn no_formula(answer: &Answer) -> Error {
    Request(format!("there is no formula for '{}': {}", answer.target, answer.report.sentence))
}

/// Whether a file is to hold a network instead of a formula.
fn is_network(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "safetensors")
}

/// Saves a formula as the stack of units that computes it.
fn save_network(registry: &Registry, answers: &[Answer], path: &Path) -> Result<()> {
    let [answer] = answers else { return Ok(()) };
    let Some(best) = answer.best() else { bail!(no_formula(answer)) };
    let Some((network, params)) = stack(&best.expression, &answer.columns(&best.expression))? else {
        bail!(Request(format!(
            "the formula of '{}' is no product of sums of columns, and so no stack of units; save it as .json",
            answer.target
        )));
    };
    Ok(files::replace(&*registry.files, path, &nalm::save::to_bytes(&network, &params)?)?)
}

/// Lets a signal stop the search; what was found until then is printed.
pub(super) struct Watch<'a> {
    listening: &'a Listening,
    /// What is searched, if somebody is to be told, and when.
    told: Option<(String, Pace)>,
    start: Instant,
    /// What is tried just now.
    step: String,
}

impl<'a> Watch<'a> {
    /// Says nothing.
    pub(super) fn silent(listening: &'a Listening) -> Self {
        Self { listening, told: None, start: Instant::now(), step: String::new() }
    }

    /// Says now and then what takes so long.
    fn telling(listening: &'a Listening, what: String) -> Self {
        Self { told: Some((what, Pace::of_lines())), ..Self::silent(listening) }
    }
}

impl Observer for Watch<'_> {
    fn engine(&mut self, engine: &'static str, done: usize, steps: usize) -> ControlFlow<()> {
        self.step = format!("{engine}, step {} of {steps}", done + 1);
        self.working()
    }

    fn working(&mut self) -> ControlFlow<()> {
        if let Some((what, pace)) = &mut self.told
            && pace.is_due()
        {
            let passed = duration(self.start.elapsed().as_secs_f64());
            let step = &self.step;
            say!("{what}: {step}, after {passed}; Ctrl-C stops it and prints what was found until then");
        }
        if self.listening.is_asked_to_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// An error of a table with the options that tell the reader what it lacks.
pub(crate) fn with_options(mut error: anyhow::Error) -> anyhow::Error {
    if let Some(nalm::Error::Lacking { lack, cause }) = error.downcast_mut()
        && let nalm::Error::File { instead, .. } = &mut **cause
    {
        instead.push_str(match lack {
            Lack::Decimal => ": --decimal point or --decimal comma",
            Lack::Separator => ": --separator ' '",
            Lack::Units => ": --units row",
            _ => "",
        });
    }
    error
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Opens a file to be read from its beginning to its end, as often as is wanted; `-` is the standard input.
pub(super) fn open(registry: &Registry, path: &Path) -> Result<File> {
    let wrong = || Error::file("cannot read", path);
    if path.as_os_str() == "-" {
        return spooled(path, || Ok(std::io::stdin().lock()));
    }
    match std::fs::metadata(path).map(|about| about.file_type()) {
        Ok(kind) if kind.is_dir() => Err(wrong()(std::io::ErrorKind::IsADirectory.into()))?,
        Ok(kind) if is_device(kind) => {
            let path = path.display();
            bail!(Request(format!("{path} is a device and no file; give a CSV file, or - for the standard input")))
        }
        Ok(kind) if !kind.is_file() => spooled(path, || registry.files.open(path).map_err(wrong())),
        // Whatever is wrong with it, opening says so.
        _ => Ok(registry.files.open(path).map_err(wrong())?),
    }
}

#[cfg(unix)]
fn is_device(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: FileType) -> bool {
    false
}

/// The standard input or a pipe as a file, because it is read twice and can be read but once.
fn spooled<R: Read>(path: &Path, source: impl FnOnce() -> Result<R, Error>) -> Result<File> {
    static KEPT: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if !kept.contains_key(path) {
        let mut file = tempfile::tempfile()?;
        std::io::copy(&mut source()?, &mut file)?;
        kept.insert(path.into(), file);
    }
    let mut again = kept[path].try_clone()?;
    again.rewind()?;
    Ok(again)
}

/// The same with the place of a column that nobody knows, where several files are read.
fn in_file<T>(place: &str, result: Result<T, nalm::Error>) -> Result<T> {
    result.map_err(|error| match error {
        nalm::Error::Unknown { .. } => Error::At { place: place.into(), cause: Box::new(error.into()) }.into(),
        other => other.into(),
    })
}

/// Names of columns from what was typed: a name as it stands, or several with commas between them.
fn columns(typed: &[String], headers: &[String]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for text in typed {
        let parts = if headers.contains(text) { vec![text.as_str()] } else { text.split(',').map(str::trim).collect() };
        for part in parts {
            if !headers.iter().any(|header| header == part) {
                let valid: Vec<&str> = headers.iter().map(String::as_str).collect();
                bail!(nalm::Error::unknown("column", part, &valid));
            }
            if !names.iter().any(|name| name == part) {
                names.push(part.into());
            }
        }
    }
    Ok(names)
}

fn language(name: &str) -> Result<Language, nalm::Error> {
    let names: Vec<&str> = LANGUAGES.iter().map(|(name, _)| *name).collect();
    let found = LANGUAGES.iter().find(|(known, _)| *known == name);
    found.map(|(_, language)| *language).ok_or_else(|| nalm::Error::unknown("language", name, &names))
}

/// Says what was read in a way that may not have been meant.
pub(super) fn of_reading(notes: &[Note]) {
    for note in notes {
        let option = if *note == Note::Points { ": --decimal comma" } else { "" };
        say!("note: {note}{option}");
    }
}

/// Says what of the file is not used.
fn notes(sample: &Sample) {
    of_reading(&sample.notes);
    for left_out in &sample.left_out {
        let hint = left_out.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        say!("note: {left_out}; it is left out{hint}");
    }
    let rows = sample.table.rows();
    if rows + sample.missing < usize::try_from(sample.rows).unwrap_or(usize::MAX) {
        say!("note: of {} rows, {} were drawn at random, the same ones every time", sample.rows, rows + sample.missing);
    }
    match sample.missing {
        0 => {}
        1 => say!("note: 1 row with a missing cell is left out"),
        many => say!("note: {many} rows with missing cells are left out"),
    }
    match sample.repeated {
        0 => {}
        1 => say!("note: 1 row is a repetition of another in the columns that are used"),
        many => say!("note: {many} rows are repetitions of others in the columns that are used"),
    }
}

/// Which rows are held back; those of a file are put behind the others.
fn holdout(registry: &Registry, arguments: &Fit, dialect: &Dialect, sample: &mut Sample) -> Result<Holdout> {
    let file = match arguments.holdout.as_str() {
        "extreme" => return Ok(Holdout::Extreme),
        "random" => return Ok(Holdout::Random),
        file => Path::new(file),
    };
    // A share is no file, though it has a point in it.
    let is_word = !arguments.holdout.contains(['.', '/']) || arguments.holdout.parse::<f64>().is_ok();
    if !file.exists() && is_word {
        bail!(nalm::Error::unknown("holdout", &arguments.holdout, &["extreme", "random", "a CSV file"]));
    }
    if file == arguments.file || files::is_same(file, &arguments.file) {
        let file = file.display();
        bail!(Request(format!("--holdout {file} is the file that is fitted; hold back other rows, or leave it out")));
    }
    let wanted = Wanted::default().columns(sample.table.names().to_vec()).most_rows(arguments.most_rows as usize);
    let wanted = wanted.units(arguments.units.as_deref() == Some("row"));
    let more = in_file(&name(file), Table::sample(open(registry, file)?, &name(file), dialect, &wanted))?;
    notes(&more);
    let first = sample.table.rows();
    let both = |column: &String| -> Result<(String, Vec<f64>)> {
        Ok((column.clone(), [sample.table.column(column)?, more.table.column(column)?].concat()))
    };
    let table = Table::new(sample.table.names().iter().map(both).collect::<Result<Vec<_>>>()?)?;
    for (digits, more) in sample.last_digits.iter_mut().zip(more.last_digits) {
        digits.extend(more);
    }
    sample.lines.extend(more.lines);
    sample.table = table;
    Ok(Holdout::Rows((first..sample.table.rows()).collect()))
}

/// The line of every row, with the file's name for rows that come from another one.
fn lines(sample: &Sample, holdout: &Holdout, other: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = sample.lines.iter().map(|line| Line::from(*line)).collect();
    if let Holdout::Rows(rows) = holdout {
        let file: Arc<str> = other.into();
        rows.iter().for_each(|&row| lines[row].file = Some(Arc::clone(&file)));
    }
    lines
}

/// Refuses a line of numbers where units should stand. A pure number has the unit 1; no other number is a unit.
pub(super) fn ensure_units<'a>(mut line: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let number = |unit: &&str| *unit != "1" && unit.parse::<f64>().is_ok();
    match line.find(number) {
        Some(unit) => {
            Err(Request(format!("the line below the names holds '{unit}' and no units; leave out --units row")))
        }
        None => Ok(()),
    }
}

/// Units by column.
fn units(registry: &Registry, arguments: &Fit, sample: &Sample) -> Result<Option<HashMap<String, Unit>>> {
    let parsed = |column: &str, unit: &str| -> Result<(String, Unit)> {
        Ok((column.to_string(), if unit.is_empty() { Unit::default() } else { unit.parse()? }))
    };
    let Some(given) = arguments.units.as_deref() else { return Ok(None) };
    if given == "row" {
        ensure_units(sample.units.iter().map(String::as_str))?;
        let named = sample.table.names().iter().zip(&sample.units);
        return Ok(Some(named.map(|(column, unit)| parsed(column, unit)).collect::<Result<_>>()?));
    }
    let file = Path::new(given);
    let mut records = Records::new(open(registry, file)?, given)?;
    let (column, unit) = (in_file(given, records.position("column"))?, in_file(given, records.position("unit"))?);
    let mut units = HashMap::new();
    while let Some(record) = records.next_record()? {
        let (column, unit) = (record.get(column).unwrap_or_default(), record.get(unit).unwrap_or_default());
        if !sample.headers.iter().any(|header| header == column) {
            let valid: Vec<&str> = sample.headers.iter().map(String::as_str).collect();
            let place = format!("{given}, line {}", record.line());
            in_file(&place, Err(nalm::Error::unknown("column", column, &valid)))?;
        }
        let (column, unit) = parsed(column, unit)?;
        units.insert(column, unit);
    }
    Ok(Some(units))
}

/// The formulas alone.
fn write(answers: &[Answer], language: Language) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for answer in answers {
        let Some(best) = answer.best() else { continue };
        let columns = answer.columns(&best.expression);
        match language {
            Language::Rust | Language::C | Language::Python => {
                let own = language.names(&[&answer.target]).remove(0);
                // A function may not have the name of its argument.
                let name = if columns.contains(&own.as_str()) { format!("{own}_of") } else { own };
                let name = if source_of(&best.expression, &name, &columns, language).is_ok() {
                    name
                } else {
                    "formula".into()
                };
                write!(out, "{}", source_of(&best.expression, &name, &columns, language)?)?;
            }
            _ => writeln!(out, "{}", crate::shown(&answer.write(&best.expression, language)))?,
        }
    }
    answers.iter().find(|answer| answer.best().is_none()).map_or(Ok(()), |answer| Err(no_formula(answer).into()))
}

fn print(answers: &[Answer]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let several = answers.len() > 1;
    for (k, answer) in answers.iter().enumerate() {
        if k > 0 {
            writeln!(out)?;
        }
        let report = &answer.report;
        if let Some(best) = answer.best() {
            let formula = answer.write(&best.expression, Language::Plain);
            let target = Expression::variable(&answer.target).write_for(Language::Plain, &answer.headers);
            writeln!(out, "{}", crate::shown(&format!("{target} = {formula}")))?;
        }
        let of =
            if answer.best().is_none() && several { format!("{}: no formula. ", answer.target) } else { String::new() };
        write!(out, "{}", paragraph("", "", &crate::shown(&(of + &report.sentence))))?;
        for flag in &report.flags {
            write!(out, "{}", paragraph("note: ", "  ", &crate::shown(&flag.to_string())))?;
        }
        if let Some(best) = answer.best()
            && best.coefficients.iter().any(|c| c.low < c.high)
        {
            for c in &best.coefficients {
                let [low, high] = interval(c.low, c.value, c.high);
                writeln!(out, "constant {} [{low}, {high}]", plain(c.value))?;
            }
        }
        let (inside, outside, seconds) = (report.rows_inside, report.rows_outside, answer.seconds);
        writeln!(out, "{inside} rows fitted to, {outside} held back; {seconds:.3} s")?;
        if !report.candidates.is_empty() {
            write!(out, "\n{}", terminal::fit("complexity  error inside  outside   engine            formula\n"))?;
        }
        for candidate in report.candidates.iter().take(MOST_LISTED) {
            let formula = answer.write(&candidate.expression, Language::Plain);
            let formula = crate::shown(&formula);
            let [inside, outside] =
                [candidate.error_inside, candidate.error_outside].map(|error| significant(error, 3));
            let line = format!(
                "{:>10}  {inside:>12}  {outside:>8}  {:16}  {formula}\n",
                candidate.complexity, candidate.engine
            );
            match terminal::columns().is_some_and(|room| line.trim_end().chars().count() > room) {
                // What does not fit stands below, where there is room for all of it.
                true => {
                    let about = line.strip_suffix(&format!("{formula}\n")).unwrap_or(&line).trim_end();
                    write!(out, "{about}\n{}", paragraph("            ", "            ", &formula))?;
                }
                false => write!(out, "{line}")?,
            }
        }
        let more = report.candidates.len().saturating_sub(MOST_LISTED);
        if more > 0 {
            writeln!(out, "and {more} more (--json has all)")?;
        }
    }
    Ok(())
}
