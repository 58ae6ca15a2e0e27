//! Which seeds: so many, or these.

use crate::error::{Error, Result, ensure};
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::str::FromStr;

/// The most seeds there can be.
pub(super) const MOST: u64 = 1_000_000;

/// Seeds as they are typed: `10` for the first ten, `5,6` for these, `100..120` for those from 100 on and below 120.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// The first ones.
    Count(u64),
    /// These.
    These(Vec<u64>),
}

impl Seeds {
    /// How many.
    pub fn count(&self) -> u64 {
        match self {
            Seeds::Count(n) => *n,
            Seeds::These(list) => list.len() as u64,
        }
    }
}

impl FromStr for Seeds {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(n) = text.parse() {
            return Ok(Seeds::Count(n));
        }
        let wrong = || {
            let forms =
                "a number of seeds, such as 10, a list, such as 5,6, or a span without its end, such as 100..120";
            Error::Request(format!("it must be {forms}"))
        };
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, end) = match part.split_once("..") {
                Some((first, end)) => (first.parse().map_err(|_| wrong())?, end.parse().map_err(|_| wrong())?),
                None => {
                    part.parse::<u64>().ok().and_then(|seed| Some((seed, seed.checked_add(1)?))).ok_or_else(wrong)?
                }
            };
            ensure!(first < end, "it must be a span with seeds in it, such as 100..120; {part} has none");
            // Before they are made: several spans may be more than fit into memory.
            ensure!((all.len() as u64).saturating_add(end - first) <= MOST, "it must be a million seeds at most");
            all.extend(first..end);
        }
        let mut seen = BTreeSet::new();
        let twice = all.iter().find(|seed| !seen.insert(**seed));
        ensure!(twice.is_none(), "it must be different seeds; {} is there twice", twice.unwrap_or(&0));
        Ok(Seeds::These(all))
    }
}

impl Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seeds::Count(n) => write!(f, "{n}"),
            Seeds::These(list) => match list.as_slice() {
                [first, .., last] if is_span(list) => write!(f, "{first}..{}", last + 1),
                [one] => write!(f, "{one}..{}", one + 1),
                list => f.write_str(&list.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
            },
        }
    }
}

fn is_span(seeds: &[u64]) -> bool {
    seeds.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

/// Seeds for people, such as `0 to 24` or `5, 6`; of many that are no span, the first ones.
pub(crate) fn shown(seeds: &BTreeSet<u64>) -> String {
    let all: Vec<u64> = seeds.iter().copied().collect();
    match all.as_slice() {
        [first, _, .., last] if is_span(&all) => format!("{first} to {last}"),
        all => {
            let more = if all.len() > 8 { ", …" } else { "" };
            all.iter().take(8).map(u64::to_string).collect::<Vec<_>>().join(", ") + more
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read_as_they_are_written() {
        for (text, want) in [
            ("10", Seeds::Count(10)),
            ("5,6", Seeds::These(vec![5, 6])),
            ("7..8", Seeds::These(vec![7])),
            ("100..103", Seeds::These(vec![100, 101, 102])),
            ("1, 5..7", Seeds::These(vec![1, 5, 6])),
        ] {
            let read: Seeds = text.parse().unwrap();
            assert_eq!(read, want);
            assert_eq!(read.to_string().parse::<Seeds>().unwrap(), want, "{read}");
        }
        for text in ["", "x", "5,", "5,5", "3..3", "4..2", "..3", "1..2..3", "-1", "0..18446744073709551615"] {
            assert!(text.parse::<Seeds>().is_err(), "{text}");
        }
        assert_eq!("0..999999,1000000".parse::<Seeds>().unwrap().count(), MOST);
        for text in ["0..1000001", "0..1000000,1000000..2000000", "5,10..1000010", "0..1000000,18446744073709551614"] {
            let error = text.parse::<Seeds>().unwrap_err().to_string();
            assert_eq!(error, "it must be a million seeds at most", "{text}");
        }
        assert_eq!(shown(&(0..25).collect()), "0 to 24");
        assert_eq!([shown(&[5, 7].into()), shown(&[3].into())], ["5, 7", "3"]);
        assert_eq!(shown(&(0..10).map(|k| 2 * k).collect()), "0, 2, 4, 6, 8, 10, 12, 14, …");
    }
}
