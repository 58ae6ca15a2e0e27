//! Diagrams of every module, every task that has a network, and stacks: XML, with all text inside and none over another.

use nalm_lab::figure::diagram::{of_network, of_task};
use nalm_lab::task::{Catalogue, network};

/// The texts of a drawing and the boxes that they take: left, top, right, bottom.
fn texts(svg: &str) -> (f64, f64, Vec<(String, [f64; 4])>) {
    let document = roxmltree::Document::parse(svg).unwrap();
    let root = document.root_element();
    let number = |node: &roxmltree::Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let boxes = document.descendants().filter(|node| node.has_tag_name("text")).map(|node| {
        let text = node.text().unwrap_or_default().to_string();
        let wide = text.chars().count() as f64 * if node.attribute("font-weight").is_some() { 7.0 } else { 6.7 };
        let (x, y) = (number(&node, "x"), number(&node, "y"));
        let left = match node.attribute("text-anchor").unwrap() {
            "start" => x,
            "middle" => x - 0.5 * wide,
            _ => x - wide,
        };
        (text, [left, y - 10.0, left + wide, y + 3.0])
    });
    (number(&root, "width"), number(&root, "height"), boxes.collect())
}

fn check(what: &str, svg: &str) -> Vec<String> {
    let (width, height, boxes) = texts(svg);
    assert!(boxes.len() > 3, "{what}: {svg}");
    for (k, (text, [left, top, right, bottom])) in boxes.iter().enumerate() {
        assert!(
            *left >= 0.0 && *top >= 0.0 && *right <= width && *bottom <= height,
            "{what}: {text} leaves the picture"
        );
        for (other, [l, t, r, b]) in &boxes[..k] {
            assert!(left >= r || l >= right || top >= b || t >= bottom, "{what}: {text} lies over {other}");
        }
    }
    boxes.into_iter().map(|(text, _)| text).collect()
}

fn stack(catalogue: &Catalogue, text: &str, inputs: usize) -> String {
    let layers: Vec<network::Layer> = text.split(", ").map(|layer| network::Layer(layer.parse().unwrap())).collect();
    let label = network::label(catalogue, &layers);
    of_network(catalogue, &label, &network::stack(catalogue, &layers, inputs).unwrap()).unwrap()
}

#[test]
fn every_module_can_be_drawn() {
    let catalogue = Catalogue::default();
    for entry in catalogue.modules() {
        let name = entry.single.name;
        for inputs in [2, 3, 10] {
            let layers = [network::Layer(name.parse().unwrap())];
            // Some have two inputs, and no others.
            let Ok(network) = network::stack(&catalogue, &layers, inputs) else { continue };
            let texts = check(name, &of_network(&catalogue, name, &network).unwrap());
            assert!(texts.iter().any(|text| text == "y") && texts.iter().any(|text| text == "x1"), "{name}: {texts:?}");
        }
    }
    for (text, inputs) in [("nau 100->2, nmu", 100), ("nau 100->3, nau 3->2, snmu", 100), ("nmu 2->1 steps=4", 4)] {
        check(text, &stack(&catalogue, text, inputs));
    }
}

#[test]
fn every_task_with_a_network_can_be_drawn() {
    let catalogue = Catalogue::default();
    let (drawn, without): (Vec<_>, Vec<_>) = catalogue
        .tasks()
        .iter()
        .map(|task| task.name().to_string())
        .partition(|name| of_task(&catalogue, name).is_ok());
    assert_eq!(without, ["table"], "a table has no network before somebody trains one on it");
    assert!(drawn.len() >= 2, "{drawn:?}");
    for name in &drawn {
        check(name, &of_task(&catalogue, name).unwrap());
    }
    let why = of_task(&catalogue, "table").unwrap_err().to_string();
    assert!(why.contains("describe the module or stack"), "{why}");
}

/// What is drawn is what is trained.
#[test]
fn numbers_are_those_of_the_networks() {
    let catalogue = Catalogue::default();
    let has = |svg: &str, wanted: &[&str]| {
        let texts = check("", svg).join("\n");
        wanted.iter().for_each(|text| assert!(texts.contains(text), "{text} is not in\n{texts}"));
    };
    let snmu = |text: &str| stack(&catalogue, text, 2);
    has(&snmu("snmu"), &["n ~ U[1,5]", "prod_i (n_i w_i + 1 - w_i)", "w [1 x 2]", "no noise: y = prod_i"]);
    has(&snmu("snmu noise=U[1,2] denoiser=exponent"), &["n ~ U[1,2]", "prod_i n_i^w_i"]);
    has(
        &stack(&catalogue, "nau 100->2, nmu", 100),
        &["x100", "NAU 100 → 2", "z2", "NMU 2 → 1", "202 parameters in all"],
    );
    #[cfg(feature = "images")]
    for (task, wanted) in [
        ("mnist-isolated", ["first digit, 28 x 28 x 1", "1,199,882 parameters", "dropout 0.25"]),
        ("mnist-colour", ["42 x 42 x 2", "589,546 parameters", "16 points"]),
        ("mnist-sequential", ["convolution 5 x 5, 50 channels", "426,571 parameters", "s_(t-1)"]),
    ] {
        let svg = of_task(&catalogue, task).unwrap();
        has(&svg, &wanted);
        // Lines are broken where they are full.
        let text = check(task, &svg).join(" ");
        let noisy = [text.contains("noisy in evaluation, too"), text.contains("the NMU in evaluation")];
        assert_eq!(noisy, [task == "mnist-sequential", task != "mnist-sequential"], "{text}");
    }
}
