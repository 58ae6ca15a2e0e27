//! SVG into PNG, for where nothing else is taken; with the cargo feature `png`.

use crate::error::{Result, ensure};
use crate::files::Files;
use std::path::Path;

/// Refuses where PNG is not built in, and says how to get it.
pub fn available() -> Result<()> {
    let how = "build with the feature png: cargo install --path crates/nalm-cli --features png";
    ensure!(cfg!(feature = "png"), "PNG is not built in; {how}");
    Ok(())
}

/// Without the feature, nothing can be drawn.
#[cfg(not(feature = "png"))]
pub fn write(_files: &dyn Files, _folder: &Path, _name: &str) -> Result<()> {
    available()
}

/// Pixels per unit of a figure: sharp at column width in print.
#[cfg(feature = "png")]
const SCALE: f32 = 2.0;

/// Writes `<name>.png` beside `<name>.svg`.
#[cfg(feature = "png")]
pub fn write(files: &dyn Files, folder: &Path, name: &str) -> Result<()> {
    use crate::error::{Error, bail};
    use crate::files;
    use resvg::{tiny_skia, usvg};
    let wrong = |why: &str| Error::Request(format!("cannot draw {name}.png: {why}"));
    let (from, to) = (folder.join(format!("{name}.svg")), folder.join(format!("{name}.png")));
    let text = files::read(files, &from)?;
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    // Without a font, text would be left out in silence.
    let family = options.fontdb.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    let Some(family) = family else {
        bail!("PNG needs a font on this machine, and none was found; install one, such as DejaVu Sans");
    };
    let known = |name: &str| options.fontdb.faces().any(|face| face.families.iter().any(|(family, _)| family == name));
    if !["Helvetica", "Arial", "DejaVu Sans"].into_iter().any(known) {
        options.fontdb_mut().set_sans_serif_family(family);
    }
    let tree = usvg::Tree::from_data(&text, &options).map_err(|error| wrong(&error.to_string()))?;
    let size = tree.size();
    let (width, height) = ((size.width() * SCALE).ceil() as u32, (size.height() * SCALE).ceil() as u32);
    let mut image = tiny_skia::Pixmap::new(width, height).ok_or_else(|| wrong("the figure is empty or too large"))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    let bytes = image.encode_png().map_err(|error| wrong(&error.to_string()))?;
    files::replace(files, &to, &bytes)
}
