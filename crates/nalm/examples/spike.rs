use nalm::rng::Stream;
use nalm::task::*;
use nalm::train::*;
use nalm::*;
fn main() {
    for stream in [Stream::Fast] {
        for path in Path::available() {
            let t = SingleModule::mul(1., 2., 2., 6.).unwrap();
            for (n, net) in module::list::<f32>()
                .into_iter()
                .map(|s| (s.name, (s.build)(Shape { inputs: 2, outputs: 1 }, &Options::default()).unwrap()))
            {
                let net = Network::new(vec![net]).unwrap();
                let mut c = Config::published(&net).steps(50_000).stream(stream);
                c.path = path;
                let t0 = std::time::Instant::now();
                let o = train(&net, &t, 0, &c, &mut ()).unwrap();
                println!(
                    "{stream} {} {n:12} {:8.1} ns/step {:?} best {} val {:e} test {:e} {:?} {:?}",
                    path.name(),
                    t0.elapsed().as_nanos() as f64 / 50001.,
                    o.status,
                    o.best_step,
                    o.validation_error,
                    o.test_error,
                    o.solved(),
                    &o.params[..o.params.len().min(3)]
                );
            }
            let a = Arithmetic::new(
                Operation::Mul,
                100,
                0.25,
                0.5,
                "U[-2,2)".parse::<Range>().unwrap(),
                "U[-6,-2)∪U[2,6)".parse::<Range>().unwrap(),
            )
            .unwrap();
            for st in [false, true] {
                let net = Network::<f32>::new(vec![
                    Box::new(Nau::new(100, 2).unwrap()),
                    if st { Box::new(Snmu::new(2, 1).unwrap()) } else { Box::new(Nmu::new(2, 1).unwrap()) },
                ])
                .unwrap();
                let mut c = Config::published(&net).steps(60_000).ramp(1_000_000, 2_000_000).stream(stream);
                c.path = path;
                let t0 = std::time::Instant::now();
                let o = train(&net, &a, 0, &c, &mut ()).unwrap();
                println!(
                    "{stream} {} ADT {} {:8.1} ns/step {:?} best {} val {:e} test {:e} {:?} {:?}",
                    path.name(),
                    net.name(),
                    t0.elapsed().as_nanos() as f64 / 60001.,
                    o.status,
                    o.best_step,
                    o.validation_error,
                    o.test_error,
                    o.simulated,
                    &o.params[..o.params.len().min(3)]
                );
            }
        }
    }
}
