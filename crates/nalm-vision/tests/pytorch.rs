//! One training step of every task against PyTorch 2.15: the loss, and of every gradient its length and its product with cos(0.37 k).
//!
//! The numbers are PyTorch's, by autograd from the same parameters, images, dropout and noise (scripts/compare_with_pytorch.py, which also
//! compares every number of every tensor and Adam's update; worst relative error 2e-6).

use nalm_vision::product::{self, View};
use nalm_vision::{Mnist, Start, Tensor, sequential};
use std::path::Path;
use std::sync::Arc;

/// Name, length, and product with cos(0.37 k), k the place in the tensor.
type Gradient = (&'static str, f64, f64);

fn mnist() -> Arc<Mnist> {
    Arc::new(Mnist::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist")).unwrap())
}

fn check(task: &str, trace: &[Tensor], loss: f64, gradients: &[Gradient]) {
    let find = |name: &str| &trace.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("{task} has {name}")).data;
    let ours = f64::from(find("loss")[0]);
    assert!((ours / loss - 1.0).abs() < 1e-4, "{task}: loss {ours}, PyTorch {loss}");
    for (name, length, product) in gradients {
        let gradient = find(&format!("gradient.{name}"));
        let own_length = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        let own_product: f64 = gradient.iter().enumerate().map(|(k, g)| f64::from(*g) * (0.37 * k as f64).cos()).sum();
        assert!((own_length / length - 1.0).abs() < 1e-4, "{task}, {name}: length {own_length}, PyTorch {length}");
        assert!((own_product - product).abs() < 1e-4 * length, "{task}, {name}: {own_product}, PyTorch {product}");
    }
    assert_eq!(trace.iter().filter(|t| t.name.starts_with("gradient.")).count(), gradients.len());
}

fn product(view: View) -> Vec<Tensor> {
    let config = product::Config { samples: 1, ..product::Config::published(view, "snmu", 2) };
    product::Run::new(config, mnist()).unwrap().trace(16).unwrap()
}

#[test]
fn isolated() {
    let trace = product(View::Isolated { halved: false });
    check(
        "isolated",
        &trace,
        2.4356293e+02,
        &[
            ("classifier.conv1.bias", 2.343357e+00, 1.843067e+00),
            ("classifier.conv1.weight", 1.115341e+01, -1.639175e+00),
            ("classifier.conv2.bias", 6.533763e+00, -1.188259e+01),
            ("classifier.conv2.weight", 6.335629e+01, 6.087406e+01),
            ("classifier.dense1.bias", 1.182675e+01, -3.249278e+00),
            ("classifier.dense1.weight", 4.322841e+02, 9.331458e+01),
            ("classifier.dense2.bias", 1.180669e+01, 2.710958e+01),
            ("classifier.dense2.weight", 5.636051e+01, -5.747680e+00),
            ("head.weight", 4.448126e+01, -4.762262e+01),
        ],
    );
}

#[test]
fn colour() {
    let trace = product(View::Colour { start: Start::Reset });
    check(
        "colour",
        &trace,
        1.2183625e+02,
        &[
            ("classifier.conv1.bias", 1.770938e+00, -8.396273e-01),
            ("classifier.conv1.weight", 1.097632e+01, 1.615535e+01),
            ("classifier.conv2.bias", 4.491222e+00, -4.988816e-03),
            ("classifier.conv2.weight", 3.311135e+01, -9.626565e+01),
            ("classifier.dense1.bias", 1.026061e+01, -1.189249e+00),
            ("classifier.dense1.weight", 1.300517e+02, 6.679814e+00),
            ("classifier.dense2.bias", 2.418786e+01, -5.677448e+01),
            ("classifier.dense2.weight", 2.468568e+01, -8.009339e-01),
            ("first.conv1.bias", 1.509922e+00, 1.395837e+00),
            ("first.conv1.weight", 8.906359e+00, -5.654816e+00),
            ("first.conv2.bias", 3.300140e+00, -8.093074e-01),
            ("first.conv2.weight", 3.820149e+01, -5.060278e+00),
            ("first.dense1.bias", 6.376463e+00, -4.082768e+00),
            ("first.dense1.weight", 3.238548e+01, -6.760438e+00),
            ("first.dense2.bias", 1.300725e+01, 3.712708e+00),
            ("first.dense2.weight", 1.051829e+01, 2.858948e+00),
            ("head.weight", 1.068082e+02, 1.359237e+02),
            ("second.conv1.bias", 1.229850e+00, 1.044791e+00),
            ("second.conv1.weight", 5.693948e+00, 4.921178e+00),
            ("second.conv2.bias", 2.175157e+00, 1.028748e+00),
            ("second.conv2.weight", 2.762383e+01, -2.539503e+00),
            ("second.dense1.bias", 4.777699e+00, -2.209538e+00),
            ("second.dense1.weight", 1.833686e+01, 6.611047e+00),
            ("second.dense2.bias", 9.918608e+00, 1.159568e+01),
            ("second.dense2.weight", 5.645893e+00, -6.304787e+00),
        ],
    );
}

#[test]
fn sequential() {
    let trace = sequential::Run::new(sequential::Config::published("snmu", 0), mnist()).unwrap().trace(16).unwrap();
    check(
        "sequential",
        &trace,
        4.7588837e+02,
        &[
            ("head.weight", 1.244673e+01, 1.416009e+01),
            ("regressor.conv1.bias", 1.063551e+00, -4.523092e-01),
            ("regressor.conv1.weight", 5.424849e+00, 2.332278e+00),
            ("regressor.conv2.bias", 2.859325e+00, -1.996892e+00),
            ("regressor.conv2.weight", 3.456533e+01, 2.853077e+01),
            ("regressor.dense1.bias", 6.136529e+00, 1.685923e+00),
            ("regressor.dense1.weight", 5.957516e+01, -2.468064e+01),
            ("regressor.dense2.bias", 1.605380e+01, -1.605380e+01),
            ("regressor.dense2.weight", 4.914001e+01, 2.255749e+01),
        ],
    );
}
