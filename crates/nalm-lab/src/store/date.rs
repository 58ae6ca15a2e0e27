//! The calendar.

/// The day of a time in seconds since 1970, in Greenwich.
pub fn day(seconds: u64) -> String {
    // Days since 1 March of year 0, in eras of 400 years (Hinnant's algorithm).
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (d, m) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{m:02}-{d:02}", 400 * era + year + u64::from(m <= 2))
}

#[cfg(test)]
mod tests {
    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!([0, 951_782_400, 1_794_788_123].map(super::day), ["1970-01-01", "2000-02-29", "2026-11-16"]);
    }
}
