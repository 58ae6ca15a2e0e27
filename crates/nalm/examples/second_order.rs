//! Thin slice.
use nalm::batch::{Batch, Layout};
use nalm::second_order::{LevenbergMarquardt, Settings, Step, discretise};
use nalm::*;
fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    let which: usize = args[1].parse().unwrap();
    let seeds: u64 = args[2].parse().unwrap();
    let warm: u64 = args[3].parse().unwrap();
    let pull: f64 = args[4].parse().unwrap();
    let (train_range, test_range) = nalm::task::PAPER_RANGES[which];
    println!("{train_range}");
    let task = Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, train_range.parse::<Distribution>()?, test_range.parse::<Distribution>()?)?;
    let layers: Vec<Box<dyn Dispatch<f32>>> = vec![Box::new(Nau::new(100, 2)?), Box::new(Snmu::new(2, 1)?)];
    let network = Network::new(layers)?;
    let wide = network.widen()?;
    for seed in 0..seeds {
        let mut config = Config::published(&network).steps(warm);
        config.penalties.fill(Penalty::NONE);
        let clock = std::time::Instant::now();
        let outcome = train(&network, &task, seed, &config, &mut ())?;
        let warmed = clock.elapsed();
        let mut samples = Task::<f32>::open(&task, Stream::Fast, seed + 1000)?; let _ = &mut samples;
        let mut samples = Task::<f32>::open(&task, Stream::Fast, seed)?;
        let at = Layout::new(1024)?;
        let mut b = Batch::<f32>::zeros(100, 1, at);
        for _ in 0..5 { samples.train(&mut b); }
        let widen = |v: &[Lane<f32>]| v.iter().map(|l| { let mut o = Lane::<f64>::ZERO; for k in 0..16 { o[k] = f64::from(l[k]); } o }).collect::<Vec<_>>();
        let batch = Batch { x: widen(&b.x), t: widen(&b.t), at };
        samples.validation(&mut b);
        let held = Batch { x: widen(&b.x), t: widen(&b.t), at };
        let params: Vec<f64> = outcome.params.iter().map(|&p| f64::from(p)).collect();
        let clock = std::time::Instant::now();
        let start = [params[200], params[201]];
        let mut fit = LevenbergMarquardt::new(&wide, batch, params, Settings { pull, ..Settings::default() })?;
        let mut scratch = Vec::new();
        let mut work = wide.workspace(at);
        let mut found = None;
        let mut jac = 0;
        let mut p = fit.params().to_vec();
        for k in 0..600 {
            let step = fit.iterate();
            if step == Step::Accepted {
                jac += 1;
                p.copy_from_slice(fit.params());
                discretise(&wide, &mut p, &mut scratch);
                let y = wide.forward(&p, &held.x, &mut work, module::Pass::Eval);
                let mse: f64 = y.iter().zip(&held.t).map(|(y, t)| (0..16).map(|k| (y[k] - t[k]).powi(2)).sum::<f64>()).sum::<f64>() / 1024.0;
                if (mse / fit.scale()).sqrt() < 1e-7 { found = Some(k); break; }
            }
            if step == Step::Stuck { break; }
        }
        let f = fit.params();
        println!("seed {seed} warm {:?} {start:.3?} lm {:?} found {found:?} accepted {jac} loss {:.1e} w {:.3} {:.3}", warmed, clock.elapsed(), fit.relative_loss(), f[200], f[201]);
    }
    Ok(())
}
