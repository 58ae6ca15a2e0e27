//! Every statement of the paper once, with what speaks for and against it.

use super::page::{self, Block, Link};
use super::table;
use crate::error::Result;
use crate::experiment::statements::{self, Statement};
use crate::files::{self, Files};
use crate::summary::verdict::{FROM_THE_END, MARGIN, PAIRS, WIDE, counts, reduced_together, together};
use crate::summary::{Comparison, Results, Verdict};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Rows that speak about statements: those of one experiment.
pub struct Evidence<'a> {
    /// The rows.
    pub results: Results<'a>,
    /// What is done with them, such as `own-seeds` or `single-module, published streams`.
    pub name: String,
    /// Its page, without an extension, from where the claims are; if it has one.
    pub page: Option<String>,
}

/// One piece of evidence about one part of a statement.
struct Piece {
    of: usize,
    ours: String,
    difference: String,
    known: Option<String>,
    n: usize,
    sample: BTreeSet<(String, u64)>,
    verdict: Verdict,
}

/// A part of a statement: one model at one place. Several experiments may speak about it, the best one first.
struct Part {
    model: String,
    place: String,
    published: String,
    pieces: Vec<Piece>,
    verdict: Verdict,
}

/// A statement and what became of it.
pub struct Claim {
    /// What the paper says.
    pub statement: &'static Statement,
    parts: Vec<Part>,
    /// What it amounts to.
    pub verdict: Verdict,
}

/// Goes through all statements.
pub fn claims(evidence: &[Evidence<'_>]) -> Vec<Claim> {
    let compared: Vec<(usize, Vec<Comparison<'_>>)> =
        evidence.iter().enumerate().map(|(k, e)| (k, e.results.comparisons())).collect();
    let claim = |statement: &'static Statement| {
        let parts = parts(statement, evidence, &compared);
        let verdict = match statement.not_comparable {
            Some(_) => Verdict::NotComparable,
            None => together(parts.iter().map(|part| part.verdict)),
        };
        Claim { statement, parts, verdict }
    };
    statements::all().iter().map(claim).collect()
}

fn parts(statement: &Statement, evidence: &[Evidence<'_>], compared: &[(usize, Vec<Comparison<'_>>)]) -> Vec<Part> {
    let mut order: Vec<String> = Vec::new();
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    for (of, comparisons) in compared {
        let experiment = evidence[*of].results.experiment;
        for c in comparisons.iter().filter(|c| c.expectation.claim.as_deref() == Some(statement.key.as_str())) {
            let e = c.expectation;
            let model = e.model.map_or(String::new(), |model| experiment.models[model].clone());
            let place = if e.pooled { "all ranges together".into() } else { e.at.clone() };
            let key = format!("{model}|{place}|{}|{:?}", c.published, e.length);
            if !parts.contains_key(&key) {
                order.push(key.clone());
            }
            let part = parts.entry(key).or_insert_with(|| Part {
                model,
                place,
                published: c.published.clone(),
                pieces: Vec::new(),
                verdict: Verdict::NotRun,
            });
            let (ours, difference, known) = (c.ours.clone(), c.difference.clone(), e.known.clone());
            let (sample, verdict) = (c.sample.clone(), c.verdict);
            part.pieces.push(Piece { of: *of, ours, difference, known, n: c.n, sample, verdict });
        }
    }
    let mut parts: Vec<Part> = order.iter().filter_map(|key| parts.remove(key)).collect();
    // The published streams where they give the published digits; otherwise whatever has most runs, of equally many the published streams.
    let rank = |piece: &Piece| {
        let other_streams = piece.sample.first().is_none_or(|(stream, _)| stream != "reference");
        let not_run = piece.verdict == Verdict::NotRun;
        (piece.verdict != Verdict::Identical, not_run, Reverse(piece.n), other_streams, piece.of)
    };
    for part in &mut parts {
        part.pieces.sort_by_key(rank);
        // Experiments that lack the runs say nothing where another has them.
        let run = part.pieces.iter().filter(|piece| piece.verdict != Verdict::NotRun).count();
        part.pieces.truncate(run.max(1));
        part.verdict = part.pieces[0].verdict;
        // At a reduced scale no experiment is nearer to the paper than all others: where they go different ways, there is no direction.
        if part.pieces.iter().all(|piece| (Verdict::ReducedFor..=Verdict::NotComparable).contains(&piece.verdict)) {
            let all = part.pieces.iter().map(|piece| piece.verdict);
            part.verdict = reduced_together(all).unwrap_or(part.verdict);
        }
    }
    parts
}

impl Claim {
    /// What we found, as short as it can be said: the parts that decide.
    pub fn ours(&self) -> String {
        if let Some(reason) = &self.statement.not_comparable {
            return reason.clone();
        }
        let run: Vec<&Part> = self.parts.iter().filter(|part| part.verdict != Verdict::NotRun).collect();
        if run.is_empty() {
            return "–".into();
        }
        let worst = run.iter().map(|part| part.verdict).max();
        let deciding: Vec<&Part> = run.iter().copied().filter(|part| Some(part.verdict) == worst).collect();
        let all = self.parts.len();
        let shown = deciding.iter().take(if all <= 4 { 4 } else { 2 }).map(|part| part.in_words());
        let mut text = shown.collect::<Vec<_>>().join("; ");
        if all > deciding.len().min(if all <= 4 { 4 } else { 2 }) {
            text = format!("{all} parts, {}; {}{text}", counts(self.parts.iter().map(|p| p.verdict)), {
                if deciding.len() < all || all > 4 { "such as " } else { "" }
            });
        }
        text
    }

    /// Why ours differs, and what else a reader should know.
    pub fn reason(&self) -> String {
        let known = self.parts.iter().filter(|part| part.verdict == Verdict::Differs);
        let mut reasons: Vec<&str> = known.filter_map(|part| part.pieces[0].known.as_deref()).collect();
        reasons.dedup();
        reasons.push(&self.statement.note);
        reasons.into_iter().filter(|reason| !reason.is_empty()).collect::<Vec<_>>().join(". ")
    }
}

impl Part {
    fn in_words(&self) -> String {
        let best = &self.pieces[0];
        let on = if self.place.is_empty() { String::new() } else { format!(" on {}", self.place) };
        let difference = if best.difference.is_empty() || best.ours.contains(" of ") && !best.ours.contains("against") {
            String::new()
        } else {
            format!(" ({})", best.difference)
        };
        // The other half of the truth: what runs of other seeds say, and those of another network or another size. The same seeds once more
        // are none of these.
        let is_reduced = (Verdict::ReducedFor..=Verdict::NotComparable).contains(&self.verdict);
        let mut others: Vec<&Piece> = Vec::new();
        for piece in self.pieces[1..].iter().filter(|piece| piece.n > 0) {
            let known = |other: &&Piece| piece.sample.is_subset(&other.sample);
            if is_reduced || !std::iter::once(best).chain(others.iter().copied()).any(|other| known(&other)) {
                others.push(piece);
            }
        }
        let shown = others.iter().map(|piece| piece.ours.as_str()).collect::<Vec<_>>().join("; ");
        let others = match (best.verdict == Verdict::Identical, is_reduced) {
            _ if shown.is_empty() => String::new(),
            (true, _) => format!(" (other seeds: {shown})"),
            (_, true) => format!(" (another experiment: {shown})"),
            _ => String::new(),
        };
        format!("{}{on}: {}{difference}{others}", self.model, best.ours)
    }
}

/// The five numbers, and what is not among them.
pub fn headline(claims: &[Claim]) -> String {
    let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let five = Verdict::ALL[..5].iter().map(|verdict| verdict.times(count(*verdict)));
    let others: Vec<String> =
        Verdict::ALL[5..].iter().filter(|v| count(**v) > 0).map(|verdict| verdict.times(count(*verdict))).collect();
    let five = five.collect::<Vec<_>>().join(", ");
    let all = format!("Of {} statements of the paper: {five}.", claims.len());
    let rest = Verdict::ALL[5..].iter().map(|verdict| count(*verdict)).sum::<usize>();
    if others.is_empty() { all } else { format!("{all} The other {rest}: {}.", others.join(", ")) }
}

/// The headline of a page of claims.
pub(super) fn headline_of(page: &str) -> Option<&str> {
    page.lines().find(|line| line.starts_with("Of ") && line.contains(" statements of the paper: "))
}

/// The numbers that texts may quote: the headline, and how many there are of each verdict.
pub fn numbers(claims: &[Claim]) -> BTreeMap<String, String> {
    let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count().to_string();
    let mut numbers: BTreeMap<String, String> =
        Verdict::ALL.iter().map(|verdict| (verdict.name().to_string(), count(*verdict))).collect();
    numbers.insert("headline".into(), headline(claims));
    numbers.insert("statements".into(), claims.len().to_string());
    numbers
        .extend(claims.iter().map(|claim| (format!("verdict; {}", claim.statement.key), claim.verdict.name().into())));
    numbers
}

/// The rules, in words, with the experiments whose runs are shorter than the published ones and count all the same.
fn rules(evidence: &[Evidence<'_>]) -> Vec<String> {
    let mut exceptions: Vec<String> = Vec::new();
    for Evidence { results, name, .. } in evidence {
        let reason = results.experiment.expectations.iter().find_map(|e| e.enough.as_deref());
        exceptions.extend(reason.map(|reason| format!("{name}, because {reason}")));
    }
    let exceptions = match exceptions.is_empty() {
        true => String::new(),
        false => format!(" Shorter, and counted all the same: {}.", exceptions.join("; ")),
    };
    let percent = 100.0 * WIDE;
    vec![
        format!(
            "A rate differs where Newcombe's 95 % interval of the difference from the published one, with the runs that was of, excludes 0; it is \
             consistent where the interval contains 0 and its half-width is at most {MARGIN}, and inconclusive where it is wider. A published 0 or 1 \
             is met only if our interval leaves a distance of at most {FROM_THE_END} open. Below 1: consistent with at least one failure; without \
             any it differs only if the interval of the difference from one failure in the published runs excludes 0, and is inconclusive otherwise."
        ),
        format!(
            "Means: both half-widths in quadrature, and half a unit of the second digit of the published mean and of its half-width on top, since \
             no more digits are printed; a mean whose interval contains 0 is consistent where its half-width, which stands behind it, is at most \
             {percent} % of the published mean, and inconclusive where it is wider."
        ),
        "Orders: exact McNemar or sign tests over common seeds at 5 %, adjusted by Holm over ranges. How fast: a run that is never solved counts with \
         all of its steps; sparsity errors are compared over the seeds that both solve. A significant order is consistent, or differs if \
         it goes the other way; one that goes as published without being significant is a direction only, and one that is a tie, or goes the other \
         way without being significant, is inconclusive."
            .into(),
        format!(
            "Equality: two one-sided tests at 5 %, which is to say that the 90 % interval of the difference lies within ± {MARGIN}; rates of which \
             that is not so differ if the 95 % interval excludes 0. Identical: the published random streams, length (or enough of it, see below) and seeds give the published \
             count of a rate, or the published digits of a mean."
        ),
        format!(
            "Runs that are shorter than the published ones, and images at a reduced scale or in fewer than five folds, count in none of the first five \
             numbers; an order of theirs says which way it goes, if it is of at least {PAIRS} pairs and all experiments that have one agree.{}",
            exceptions
        ),
        "Pairs and thresholds are of one version of the numerics. A rate over all ranges together is not run while one of them lacks seeds that \
         others have; an order over all ranges is over the seeds that all of them have, and counts a seed once, for whoever does better at more of \
         its ranges, because with the published streams it starts from the same weights on all of them."
            .into(),
        "A statement is what its worst part is; where several experiments speak about a part, the one that is identical counts, or else the one with \
         most runs, of equally many the one with the published streams, and all are listed."
            .into(),
    ]
}

/// Writes `claims.html` and `claims.md`.
pub fn write(claims: &[Claim], evidence: &[Evidence<'_>], files: &dyn Files, folder: &Path) -> Result<()> {
    let title = "What the paper claims";
    let mut blocks = vec![Block::Title(title.into()), Block::Text(headline(claims)), Block::Contents];
    let row = |(k, claim): (usize, &Claim)| {
        vec![
            ("#", (k + 1).to_string()),
            ("statement", claim.statement.says.clone()),
            ("source", claim.statement.source.clone()),
            ("ours [95 %]", claim.ours()),
            ("verdict", claim.verdict.name().into()),
            ("to know", claim.reason()),
        ]
    };
    blocks
        .extend(table("All statements", claims.iter().enumerate().map(row).collect()).into_iter().map(page::numbered));
    // Below what most people come for.
    blocks.extend([Block::Heading("How a statement is judged".into()), Block::List(rules(evidence))]);
    for (k, claim) in claims.iter().enumerate().filter(|(_, claim)| !claim.parts.is_empty()) {
        let rows = claim.parts.iter().flat_map(|part| {
            part.pieces.iter().enumerate().map(|(rank, piece)| {
                vec![
                    ("model", part.model.clone()),
                    ("range", part.place.clone()),
                    ("published", part.published.clone()),
                    ("ours [95 %]", piece.ours.clone()),
                    ("difference", if piece.difference.is_empty() { "–".into() } else { piece.difference.clone() }),
                    ("verdict", piece.verdict.name().into()),
                    ("counts", if rank == 0 { "yes" } else { "" }.into()),
                    ("experiment", evidence[piece.of].name.clone()),
                ]
            })
        });
        blocks.extend(table(&format!("{}. {}: {}", k + 1, claim.statement.says, claim.verdict.name()), rows.collect()));
        let mut pages: Vec<usize> = claim.parts.iter().flat_map(|part| part.pieces.iter().map(|p| p.of)).collect();
        pages.sort_unstable();
        pages.dedup();
        let link = |of: usize| {
            let Evidence { results, name, page } = &evidence[of];
            Some(Link { text: name.clone(), page: page.clone()?, note: results.experiment.title.clone() })
        };
        blocks.push(Block::Links(pages.into_iter().filter_map(link).collect()));
    }
    files::replace(files, &folder.join("claims.html"), page::html(title, &blocks).as_bytes())?;
    files::replace(files, &folder.join("claims.md"), page::markdown(&blocks).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every statement is spoken about by an experiment or says why not, and no two are the same.
    #[test]
    #[cfg(feature = "images")]
    fn no_statement_is_left_alone() {
        use crate::Registry;
        use crate::experiment::{Overrides, built_in};
        use std::collections::BTreeSet;
        let registry = Registry::default();
        let mut spoken = BTreeSet::new();
        for name in built_in::names(&registry.catalogue) {
            let experiment = registry.load(name, &Overrides::preset("paper")).unwrap();
            spoken.extend(experiment.expectations.into_iter().filter_map(|e| e.claim));
        }
        let mut keys = BTreeSet::new();
        for Statement { key, not_comparable, .. } in statements::all() {
            assert!(keys.insert(key), "{key} is there twice");
            assert_ne!(spoken.contains(key), not_comparable.is_some(), "{key}");
        }
    }

    #[test]
    fn without_rows_nothing_is_decided() {
        let claims = claims(&[]);
        assert!(claims.iter().all(|claim| [Verdict::NotRun, Verdict::NotComparable].contains(&claim.verdict)));
        let page = page::markdown(&[Block::Title("Claims".into()), Block::Text(headline(&claims))]);
        assert_eq!(headline_of(&page), Some(headline(&claims).as_str()));
        assert_eq!(headline_of("# Claims\n\nOf nothing.\n"), None);
        assert!(headline(&claims).contains(": 0 identical, 0 consistent, 0 inconclusive, 0 differ, "));
    }
}
