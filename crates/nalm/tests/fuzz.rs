//! Texts that nobody meant to write: every reader gives an error or something that reads the same again.

mod mutate;

use mutate::fuzz;
use nalm::architecture::{Layer, stack};
use nalm::denoiser::DENOISERS;
use nalm::noise::NOISES;
use nalm::rng::Stream;
use nalm::task::{SingleModule, Task};
use nalm::{Batch, BatchLayout, Denoiser, Distribution, Error, Loss, Noise, Operation, module};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// What is read and prints to something that reads the same; nothing where it is refused.
fn reads_as_it_prints<T: FromStr<Err = Error> + Display + PartialEq + Debug>(bytes: &[u8]) -> Option<T> {
    let text = String::from_utf8_lossy(bytes);
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            assert_eq!(printed.parse::<T>().as_ref(), Ok(&value), "printed as {printed}");
            Some(value)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

#[test]
fn ranges_and_distributions() {
    let texts = [
        "U[-2,-1)",
        "U[-6,-2)∪U[2,6)",
        "[2,6) | [-6,-2)",
        "halves(U[1,2);U[5,6))",
        "N(0,1)[-2,2)",
        "Exp(0.5)",
        "Benford[10,100)",
        "U[1e-3,0.2)∪U[1000,1e6)∪U[-1e9,-1)",
    ];
    fuzz("distributions", 20_000, &texts.map(str::as_bytes), |bytes| {
        let Some(distribution) = reads_as_it_prints::<Distribution>(bytes) else { return false };
        distribution.check().unwrap();
        // What can be read can be drawn from, or is said to be too fine for the number type.
        let Ok(task) = SingleModule::new(Operation::Mul, 2, distribution.clone(), distribution.clone()) else {
            return true;
        };
        if let Ok(mut samples) = Task::<f32>::open(&task, Stream::Fast, 0) {
            let mut batch = Batch::zeros(2, 1, BatchLayout::new(16).unwrap());
            samples.train(&mut batch);
            if let Some(range) = distribution.as_range() {
                let inside = batch.x.iter().flat_map(|lane| lane.0).all(|x| range.contains(f64::from(x)));
                assert!(inside, "{distribution}: {:?}", batch.x);
            }
        }
        true
    });
}

#[test]
fn noises_denoisers_and_other_names() {
    let mut texts: Vec<String> = NOISES.iter().map(|spec| spec.example.to_string()).collect();
    texts.extend(["U[ 1 , 3 ]", "uniform(1,2)", "shifted-gamma(64,1e-9)"].map(String::from));
    let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    fuzz("noises", 20_000, &texts, |bytes| {
        reads_as_it_prints::<Noise>(bytes).inspect(|noise| noise.check().unwrap()).is_some()
    });
    let names: Vec<&[u8]> = DENOISERS.iter().map(|spec| spec.name.as_bytes()).collect();
    fuzz("denoisers", 5_000, &names, |bytes| reads_as_it_prints::<Denoiser>(bytes).is_some());
    let names: Vec<String> = Operation::ALL.iter().map(ToString::to_string).collect();
    let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    fuzz("operations", 5_000, &names, |bytes| reads_as_it_prints::<Operation>(bytes).is_some());
    let names: [&[u8]; 3] = [b"mse", b"pearson", b"mape"];
    fuzz("losses", 5_000, &names, |bytes| reads_as_it_prints::<Loss>(bytes).is_some());
}

#[test]
fn layers() {
    let texts: [&[u8]; 8] = [
        b"nmu",
        b"nau 100->3",
        b" snmu  2->1 noise=U[1,2] start=0.25,0.75",
        "nac 3→2".as_bytes(),
        b"npu 1000000->1000",
        b"mlp 7->1 hidden=3",
        b"nmu 2->1 steps=4 state=0.5 output=every",
        b"stg-nmu 2->1 sigma=0.5 lambda=1e-3",
    ];
    fuzz("layers", 10_000, &texts, |bytes| {
        let Ok(layer) = String::from_utf8_lossy(bytes).parse::<Layer>() else { return false };
        assert_eq!(layer.inputs.is_none(), layer.outputs.is_none());
        let written = layer.to_string();
        assert_eq!(written.parse::<Layer>().map(|again| again.to_string()).as_ref(), Ok(&written));
        // Whatever its sizes, a network is made of it or an error.
        let last = Layer { outputs: None, ..layer.clone() };
        let inputs = layer.inputs.unwrap_or(2);
        if let Ok(network) = stack::<f32>(&[last], inputs, &module::find) {
            assert_eq!((network.shape().inputs, network.shape().outputs), (inputs, 1));
        }
        drop(stack::<f64>(&[layer], inputs, &module::find));
        true
    });
}

#[cfg(feature = "csv")]
#[test]
fn tables() {
    use nalm::Table;
    use nalm::table::{Dialect, Records, Wanted};

    let texts: [&[u8]; 9] = [
        b"a,the b\n1,-2.5\n3,4e3\n",
        "\u{feff}\"a\";b\r\n1;2\r\n\r\n3;4".as_bytes(),
        b"a\tb\tc\r1\t2\t3\r",
        b"\"x, \"\"y\"\"\n(m)\",z\n1,2\n 3 , 4 \n",
        "größe,\u{1f980}\n0.1,1e-300\n".as_bytes(),
        b"n\n1\n2\n3\n",
        b"sep=;\r\na;b\r\n1.234,5;0,25\r\n2;3\r\n",
        b"\xff\xfea\x00\t\x00b\x00\n\x001\x00\t\x002\x00\n\x00",
        b"a|b||\n1 234|-2.5||\n1'000|3||\n",
    ];
    fuzz("tables", 4_000, &texts, |bytes| {
        if let Ok(mut records) = Records::new(bytes, "data.csv") {
            let columns = records.headers().len();
            let mut before = 0;
            while let Ok(Some(record)) = records.next_record() {
                assert!(record.line() > before && record.iter().count() == columns, "{record:?}");
                before = record.line();
            }
        }
        let dialects = [Dialect::default(), Dialect::default().decimal(','), Dialect::default().separator(';')];
        for (dialect, units) in dialects.iter().zip([false, true, false]) {
            let wanted = Wanted::default().most_rows(2).units(units);
            let Ok(sample) = Table::sample(bytes, "data.csv", dialect, &wanted) else { continue };
            let rows = sample.table.rows();
            assert!(rows <= 2 && rows as u64 <= sample.rows && rows == sample.lines.len());
            assert!(sample.table.names().iter().all(|name| sample.printed(name).unwrap().len() == rows));
        }
        let Ok(table) = Table::from_csv(bytes, "data.csv", None) else { return false };
        let names: Vec<&str> = table.names().iter().map(String::as_str).collect();
        assert!(table.rows() > 0 && names.iter().all(|name| table.column(name).unwrap().len() == table.rows()));
        // Written with quotes and read back.
        let mut text = String::new();
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
        text += &(quoted.join(",") + "\n");
        for row in (0..table.rows()).map(|row| table.row(row).unwrap()) {
            assert!(row.iter().all(|x| x.is_finite()));
            text += &(row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n");
        }
        assert_eq!(Table::from_csv(text.as_bytes(), "data.csv", None), Ok(table.clone()), "{text}");
        assert_eq!(Table::from_csv(bytes, "data.csv", Some(&names)), Ok(table.clone()));
        assert_eq!(Table::from_csv(bytes, "data.csv", Some(&names[..1])), table.select(&names[..1]));
        true
    });
}

/// A header of so many names that comparing each with each would take hours.
#[cfg(feature = "csv")]
#[test]
fn a_table_of_half_a_million_columns_is_read() {
    use nalm::Table;

    let columns = 500_000;
    let list = |item: &dyn Fn(usize) -> String| (0..columns).map(item).collect::<Vec<_>>().join(",");
    let text = format!("{}\n{}\n", list(&|k| format!("c{k}")), list(&|k| k.to_string()));
    let table = Table::from_csv(text.as_bytes(), "wide.csv", None).unwrap();
    assert_eq!((table.names().len(), table.column("c499999").unwrap()), (columns, &[499_999.0][..]));
    let twice = text.replacen("c499999", "c7", 1);
    let message = Table::from_csv(twice.as_bytes(), "wide.csv", None).unwrap_err().to_string();
    assert!(message.contains("the name 'c7' is also that of column 8"), "{message}");
}
