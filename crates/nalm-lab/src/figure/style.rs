//! One colour and one mark per model, whichever figure it is in.

/// What a model looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style(usize);

/// Colours on white and on black paper, and marks. All are readable on their paper. Two that colour-blind readers may take for each
/// other have different marks; a test holds them against that.
const STYLES: [(&str, &str, Mark); 24] = [
    ("#0072b2", "#56b4e9", Mark::Circle),
    ("#d55e00", "#ff8c42", Mark::Square),
    ("#009e73", "#2fc79a", Mark::Triangle),
    ("#4d4d4d", "#d0d0d0", Mark::Diamond),
    ("#b5528f", "#e39ac4", Mark::Drop),
    ("#8c6d00", "#e0b93a", Mark::Plus),
    ("#5b3fa8", "#a894f0", Mark::Cross),
    ("#8c2f39", "#f08a94", Mark::Hexagon),
    ("#3a7d2c", "#7cc96c", Mark::Circle),
    ("#00838f", "#4dd0e1", Mark::Square),
    ("#7a4a1f", "#cf9b6a", Mark::Triangle),
    ("#c2185b", "#ff6fa8", Mark::Plus),
    ("#3949ab", "#8fa0ff", Mark::Diamond),
    ("#6b7280", "#9aa5b5", Mark::Cross),
    ("#7b1f00", "#e6775a", Mark::Drop),
    ("#6a8f00", "#b6d23c", Mark::Hexagon),
    ("#00574b", "#6fb5a6", Mark::Circle),
    ("#8e44ff", "#c59bff", Mark::Square),
    ("#1f2f6b", "#7f90d8", Mark::Triangle),
    ("#b87900", "#ffc85a", Mark::Diamond),
    ("#6d2a6b", "#cf86cc", Mark::Drop),
    ("#2b4b2b", "#98c298", Mark::Cross),
    ("#9c6b7a", "#d4aab6", Mark::Diamond),
    ("#cc3333", "#ff6b6b", Mark::Square),
];

/// Which of them a model has, by the names that it goes by. Models that are never drawn together may share one.
const MODELS: &[(usize, &[&str])] = &[
    (0, &["NMU"]),
    (1, &["sNMU", "sNMU U[1,5]", "U[1,5]", "Adam, published"]),
    (2, &["snmu-batch", "batch sNMU", "sNMU batch", "batch", "batch noise"]),
    (3, &["MUL", "reference"]),
    (4, &["FC", "Linear"]),
    (5, &["snmu-exp", "sNMU (exponent)"]),
    (6, &["stg-nmu", "stgNMU", "lambda 0.01"]),
    (7, &["nmu-grad-noise", "NMU + gradient noise", "eta 0.01"]),
    (8, &["NAU"]),
    (9, &["nac-add", "NAC+"]),
    (10, &["nac-mul", "NAC•"]),
    (11, &["NALU"]),
    (12, &["G-NALU"]),
    (13, &["iNALU"]),
    (14, &["NPU"]),
    (15, &["real-npu", "RealNPU"]),
    (16, &["mlp-1", "MLP (1)"]),
    (17, &["mlp-100", "MLP (100)", "MLP"]),
    // Ranges of the noise.
    (13, &["U[0.01,0.05]"]),
    (4, &["U[0.1,0.5]"]),
    (8, &["U[1,2]"]),
    (6, &["U[5,10]"]),
    (23, &["U[10,20]"]),
    // Controls.
    (19, &["constant n = 3"]),
    (18, &["NMU, shifted start"]),
    (5, &["noise not divided out"]),
    (6, &["divided by the noise"]),
    (7, &["augmented data"]),
    (8, &["sNMU, no clamp, no penalty", "sNMU as released"]),
    (9, &["NMU, normalised inputs"]),
    (12, &["NMU, ramp earlier"]),
    (13, &["NMU, ramp later"]),
    (10, &["two-point noise"]),
    (11, &["log-uniform noise"]),
    (17, &["gamma noise"]),
    (15, &["learned bound"]),
    (16, &["batch noise by input"]),
    (9, &["NMU as released"]),
    // Second-order training.
    (17, &["second-order", "the recipe"]),
    (15, &["small damping"]),
    (2, &["Adam, equal samples"]),
    (7, &["Adam, equal time"]),
    (8, &["Pearson then MSE"]),
];

/// The outline of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    /// A triangle on its head.
    Drop,
    Plus,
    Cross,
    Hexagon,
}

impl Style {
    /// What is no model: the so-manieth of several lines. They begin far from the models that are in most figures.
    pub fn series(k: usize) -> Self {
        Self(STYLES.len() - 1 - k % STYLES.len())
    }

    /// The colour on white paper.
    pub fn colour(self) -> String {
        match STYLES.get(self.0) {
            Some((colour, ..)) => (*colour).to_string(),
            // More models than anybody can tell apart: still no two colours alike.
            None => {
                let k = self.0 - STYLES.len();
                format!("#{:02x}{:02x}{:02x}", 40 + 53 * k % 130, 40 + 89 * k % 110, 60 + 31 * k % 120)
            }
        }
    }

    /// The path of its mark around a point.
    pub(super) fn mark(self, x: f64, y: f64) -> String {
        match STYLES[self.0 % STYLES.len()].2 {
            Mark::Circle => super::svg::circle(x, y, 3.0),
            Mark::Square => format!("M{:.1} {:.1}h5.4v5.4h-5.4Z", x - 2.7, y - 2.7),
            Mark::Triangle => format!("M{x:.1} {:.1}l3.4 6h-6.8Z", y - 3.6),
            Mark::Drop => format!("M{x:.1} {:.1}l3.4 -6h-6.8Z", y + 3.6),
            Mark::Diamond => format!("M{x:.1} {:.1}l3.6 3.6l-3.6 3.6l-3.6 -3.6Z", y - 3.6),
            Mark::Plus => format!("M{:.1} {:.1}h2v2.4h2.4v2h-2.4v2.4h-2v-2.4h-2.4v-2h2.4Z", x - 1.0, y - 3.4),
            Mark::Cross => format!(
                "M{:.1} {:.1}l1.5 -1.5l1.7 1.7l1.7 -1.7l1.5 1.5l-1.7 1.7l1.7 1.7l-1.5 1.5l-1.7 -1.7l-1.7 1.7l-1.5 -1.5l1.7 -1.7Z",
                x - 3.2,
                y - 1.7
            ),
            Mark::Hexagon => format!("M{:.1} {y:.1}l1.7 -2.9h3.4l1.7 2.9l-1.7 2.9h-3.4Z", x - 3.4),
        }
    }
}

/// Every colour on white paper with its counterpart on black paper.
pub(super) fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    STYLES.iter().map(|(light, dark, _)| (*light, *dark))
}

/// The styles of models that are drawn together, all different. What is in the table has its own; another name has one that follows from
/// its letters, or the next one that is free.
pub fn of<T: AsRef<str>>(models: &[T]) -> Vec<Style> {
    let mut taken: Vec<Option<usize>> = vec![None; models.len()];
    for (k, model) in models.iter().enumerate() {
        taken[k] = known(model.as_ref()).filter(|style| !taken.contains(&Some(*style)));
    }
    for (k, model) in models.iter().enumerate().filter(|(k, _)| taken[*k].is_none()).collect::<Vec<_>>() {
        let hash = model.as_ref().bytes().fold(7usize, |hash, byte| (31 * hash + usize::from(byte)) % 100_003);
        let around = (0..STYLES.len()).map(|step| (hash + 5 * step) % STYLES.len());
        let free: Vec<usize> = around.filter(|style| !taken.contains(&Some(*style))).collect();
        let room = |style: &usize| {
            let others = taken.iter().flatten().filter(|other| **other < STYLES.len());
            others.map(|other| distance(STYLES[*style].0, STYLES[*other].0)).fold(f64::INFINITY, f64::min)
        };
        // The first that looks like no other; where all do, the one that does least.
        let clear = free.iter().copied().find(|style| room(style) >= CLEAR);
        let farthest = || free.iter().copied().max_by(|a, b| room(a).total_cmp(&room(b)));
        let more = || (STYLES.len()..).find(|style| !taken.contains(&Some(*style)));
        taken[k] = clear.or_else(farthest).or_else(more);
    }
    taken.into_iter().map(|style| Style(style.unwrap_or(0))).collect()
}

/// How far apart two colours must look at least, where there is a choice.
const CLEAR: f64 = 0.17;

/// How far apart two colours look.
fn distance(a: &str, b: &str) -> f64 {
    let (a, b) = (oklab(linear(a)), oklab(linear(b)));
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The light of a colour: red, green and blue.
fn linear(colour: &str) -> [f64; 3] {
    [1, 3, 5].map(|k| {
        let v = f64::from(u8::from_str_radix(&colour[k..k + 2], 16).unwrap_or(0)) / 255.0;
        if v <= 0.04045 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
    })
}

/// Oklab, in which distances are about as large as they look.
fn oklab(rgb: [f64; 3]) -> [f64; 3] {
    let times = |m: [[f64; 3]; 3], v: [f64; 3]| m.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>());
    let cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ];
    let lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ];
    times(lab, times(cones, rgb.map(|v| v.max(0.0))).map(libm::cbrt))
}

fn known(name: &str) -> Option<usize> {
    let is = |other: &&str| other.eq_ignore_ascii_case(name.trim());
    MODELS.iter().find(|(_, names)| names.iter().any(is)).map(|(style, _)| *style)
}

#[cfg(test)]
mod tests {
    use super::super::svg::PAPERS;
    use super::*;

    /// The contrast of the guidelines for accessible pages, which want 3 for graphics.
    fn contrast(a: &str, b: &str) -> f64 {
        let light = |c: &str| linear(c).iter().zip([0.2126, 0.7152, 0.0722]).map(|(v, w)| v * w).sum::<f64>() + 0.05;
        let (a, b) = (light(a), light(b));
        a.max(b) / a.min(b)
    }

    /// How far apart two colours look, to most people and to those without one kind of cone (Machado, Oliveira and Fernandes 2009).
    fn apart(a: &str, b: &str) -> [f64; 3] {
        let seen = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        ];
        seen.map(|m| {
            let see = |c: &str| oklab(m.map(|row| row.iter().zip(linear(c)).map(|(a, b)| a * b).sum::<f64>()));
            see(a).iter().zip(see(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        })
    }

    #[test]
    fn colours_are_readable_and_can_be_told_apart() {
        for (k, a) in STYLES.iter().enumerate() {
            for (colour, paper) in [(a.0, PAPERS.0), (a.1, PAPERS.1)] {
                assert!(contrast(colour, paper) >= 3.0, "{colour} on {paper}: {}", contrast(colour, paper));
            }
            for b in &STYLES[k + 1..] {
                for (one, other) in [(a.0, b.0), (a.1, b.1)] {
                    let [all, green, red] = apart(one, other);
                    assert!(all > 0.04, "{one} and {other} are {all} apart");
                    assert!(a.2 != b.2 || green.min(red) > 0.06, "{one} and {other}, both {:?}: {green}, {red}", a.2);
                }
            }
        }
    }

    #[test]
    fn a_model_looks_the_same_in_every_company() {
        let alone = of(&["NMU"])[0];
        assert_eq!(alone.colour(), "#0072b2");
        assert_eq!([of(&["sNMU U[1,5]", "nmu"])[1], of(&["x", "y", "NMU"])[2]], [alone; 2]);
        assert_eq!(of(&["sNMU"]), of(&["U[1,5]"]));
        // Unknown ones look the same whenever they are alone, and never like another.
        assert_eq!(of(&["mine"]), of(&["mine"]));
        let many: Vec<String> = (0..60).map(|k| format!("model {k}")).chain(["NMU".into(), "NMU ".into()]).collect();
        let styles = of(&many);
        assert_eq!(styles[60], alone);
        let colours: std::collections::BTreeSet<String> = styles.iter().map(|style| style.colour()).collect();
        assert_eq!(colours.len(), many.len());
    }

    /// Units with options of their own stand beside those that they are compared with.
    #[test]
    fn what_is_in_no_table_looks_unlike_its_company() {
        for noise in ["U[1,2]", "U[1,3]", "U[2,4]", "batch", "constant(3)"] {
            let models = ["NMU".into(), "sNMU".into(), "stgNMU".into(), format!("sNMU noise={noise}")];
            let styles = of(&models);
            for other in &styles[..3] {
                let apart = distance(&styles[3].colour(), &other.colour());
                assert!(apart >= CLEAR, "{noise}: {} and {}: {apart}", styles[3].colour(), other.colour());
            }
        }
    }

    /// Also that names which are the same in two experiments look the same there; where this fails, the table wants a line.
    #[test]
    fn no_two_models_of_an_experiment_look_alike() {
        let registry = crate::Registry::default();
        let mut seen = std::collections::BTreeMap::new();
        for name in crate::experiment::built_in::names(&registry.catalogue) {
            let experiment = registry.load(name, &Default::default()).unwrap();
            let styles = of(&experiment.models);
            for (k, (model, style)) in experiment.models.iter().zip(&styles).enumerate() {
                assert!(!styles[..k].contains(style), "{name}: {model} looks like another");
                assert!(known(model).is_none_or(|own| Style(own) == *style), "{name}: {model}");
                assert_eq!(seen.entry(model.clone()).or_insert(*style), style, "{name}: {model} looks different here");
            }
        }
    }
}
