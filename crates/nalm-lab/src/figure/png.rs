//! SVG into PNG, for where nothing else is taken.

use anyhow::{Context, Result, anyhow, ensure};
use resvg::{tiny_skia, usvg};
use std::path::Path;

/// Pixels per unit of a figure: sharp at column width in print.
const SCALE: f32 = 2.0;

/// Writes `<name>.png` beside `<name>.svg`.
pub(crate) fn write(folder: &Path, name: &str) -> Result<()> {
    let (from, to) = (folder.join(format!("{name}.svg")), folder.join(format!("{name}.png")));
    let text = std::fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    // Without a font, text would be left out in silence.
    let family = options.fontdb.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    let family =
        family.context("PNG needs a font on this machine, and none was found; install one, such as DejaVu Sans")?;
    let known = |name: &str| options.fontdb.faces().any(|face| face.families.iter().any(|(family, _)| family == name));
    if !["Helvetica", "Arial", "DejaVu Sans"].into_iter().any(known) {
        options.fontdb_mut().set_sans_serif_family(family);
    }
    let tree = usvg::Tree::from_data(&text, &options).map_err(|e| anyhow!("cannot draw {}: {e}", from.display()))?;
    let size = tree.size();
    let (width, height) = ((size.width() * SCALE).ceil() as u32, (size.height() * SCALE).ceil() as u32);
    let mut image = tiny_skia::Pixmap::new(width, height).context("the figure is too large for a PNG")?;
    ensure!(width > 0 && height > 0, "{} is empty", from.display());
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    let bytes = image.encode_png().map_err(|e| anyhow!("cannot encode {}: {e}", to.display()))?;
    std::fs::write(&to, bytes).with_context(|| format!("cannot write {}", to.display()))
}
