//! What the laboratory runs on, as far as it is told.

use std::fs;

/// Processor, number of cores and operating system.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.into());
    format!("{processor}, {cores} cores, {}", std::env::consts::OS)
}

/// The name of the machine; a scheduler may have a name of its own for it.
pub fn host() -> String {
    let named = std::env::var("SLURMD_NODENAME").ok().filter(|name| !name.is_empty());
    named.or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok()).unwrap_or_else(|| "host".into())
}

/// Processor time of this process, all threads together, where the system tells it.
pub fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may hold spaces; what follows its bracket does not.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    // The kernel reports in hundredths of a second whatever its own clock.
    Some(ticks as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// While one thread works, the clock gains no more than all cores together can, and no less than nothing.
    #[test]
    fn processor_time_is_in_seconds() {
        let Some(before) = cpu_seconds() else { return };
        let start = Instant::now();
        let mut after = before;
        while after - before < 0.05 && start.elapsed() < Duration::from_secs(60) {
            after = cpu_seconds().unwrap();
        }
        let cores = std::thread::available_parallelism().map_or(1.0, |cores| usize::from(cores) as f64);
        let most = cores * start.elapsed().as_secs_f64() + 0.05;
        assert!((0.05..most).contains(&(after - before)), "from {before} to {after} s, of {most} s at most");
    }
}
