//! The MNIST digits (LeCun, Cortes and Burges): four gzipped IDX files, checked to the last byte.

use crate::error::Error;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Rows and columns of an image.
pub const SIDE: usize = 28;
/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;
/// Mean and standard deviation by which pixels between 0 and 1 are normalised.
const MEAN: f32 = 0.1307;
const DEVIATION: f32 = 0.3081;

/// Images and labels of one part.
#[derive(Clone, Debug)]
pub struct Digits {
    /// Image after image, row after row.
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

/// Both parts.
#[derive(Clone, Debug)]
pub struct Mnist {
    /// 60,000 digits.
    pub train: Digits,
    /// 10,000 digits.
    pub test: Digits,
}

/// One of the files.
struct File {
    name: &'static str,
    what: &'static str,
    magic: u32,
    count: usize,
    /// Bytes of one image or label.
    size: usize,
    sha256: &'static str,
}

const FILES: [File; 4] = [
    File {
        name: "train-images-idx3-ubyte.gz",
        what: "training images",
        magic: 0x803,
        count: 60_000,
        size: PIXELS,
        sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    },
    File {
        name: "train-labels-idx1-ubyte.gz",
        what: "training labels",
        magic: 0x801,
        count: 60_000,
        size: 1,
        sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    },
    File {
        name: "t10k-images-idx3-ubyte.gz",
        what: "test images",
        magic: 0x803,
        count: 10_000,
        size: PIXELS,
        sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    },
    File {
        name: "t10k-labels-idx1-ubyte.gz",
        what: "test labels",
        magic: 0x801,
        count: 10_000,
        size: 1,
        sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
];

impl Mnist {
    /// Reads the four files of the folder that is given, of the one that NALM_MNIST names, or of data/mnist in the project around the
    /// working folder or around the binary.
    pub fn find(given: Option<&Path>) -> Result<Self, Error> {
        let named = given.map(Path::to_path_buf).or_else(|| std::env::var_os("NALM_MNIST").map(PathBuf::from));
        if let Some(folder) = named {
            return Self::load(&folder).map_err(|cause| match cause {
                missing @ Error::NotThere { .. } => missing,
                cause => Error::Folder(Box::new(cause)),
            });
        }
        let binary = std::env::current_exe().ok().and_then(|file| Some(file.parent()?.to_path_buf()));
        let looked: Vec<PathBuf> = std::env::current_dir().ok().into_iter().chain(binary).collect();
        let mut folders = looked.iter().flat_map(|start| start.ancestors()).map(|at| at.join("data/mnist"));
        let folder = folders.find(|folder| folder.is_dir());
        Self::load(&folder.ok_or(Error::Missing { looked })?)
    }

    /// Reads the four files of a folder.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let [train_images, train_labels, test_images, test_labels] = &FILES;
        Ok(Self {
            train: Digits { pixels: read(folder, train_images)?, labels: read(folder, train_labels)? },
            test: Digits { pixels: read(folder, test_images)?, labels: read(folder, test_labels)? },
        })
    }
}

/// The contents of a file without its header.
fn read(folder: &Path, file: &File) -> Result<Vec<u8>, Error> {
    let path = folder.join(file.name);
    let packed = fs::read(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => Error::NotThere { folder: folder.into(), file: file.name },
        _ => Error::Read { file: path.clone(), source },
    })?;
    let content = |got: String, want: String| Error::Content { file: path.clone(), what: file.what, got, want };
    let header = if file.size == 1 { 8 } else { 16 };
    let whole = header + file.count * file.size;
    let mut bytes = Vec::new();
    // One byte more than there should be is enough to know; a file that was made to may unpack to any size.
    let unpacked = GzDecoder::new(packed.as_slice()).take(whole as u64 + 1).read_to_end(&mut bytes);
    if let Err(error) = unpacked {
        let want = "the whole gzipped file".to_string();
        return Err(content(format!("it ends or breaks after {} unpacked bytes ({error})", bytes.len()), want));
    }
    let word = |k: usize| bytes.get(4 * k..4 * k + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    if word(0) != Some(file.magic) {
        let got = word(0).map_or("it is empty".into(), |magic| format!("it begins with {magic:#x}"));
        return Err(content(got, format!("{:#x}", file.magic)));
    }
    if word(1) != Some(file.count as u32) {
        return Err(content(format!("it holds {} items", word(1).unwrap_or(0)), file.count.to_string()));
    }
    if bytes.len() != whole {
        let got = if bytes.len() > whole { "more".to_string() } else { bytes.len().to_string() };
        return Err(content(format!("it has {got} bytes"), whole.to_string()));
    }
    let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if sum != file.sha256 {
        return Err(content(format!("its SHA-256 is {sum}"), file.sha256.into()));
    }
    bytes.drain(..header);
    Ok(bytes)
}

impl Digits {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The digits.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// The pixels of one image, row after row.
    pub fn image(&self, index: usize) -> &[u8] {
        &self.pixels[index * PIXELS..(index + 1) * PIXELS]
    }

    /// The places of every digit's images.
    pub fn by_label(&self) -> [Vec<u32>; 10] {
        let mut places: [Vec<u32>; 10] = Default::default();
        for (k, &label) in self.labels.iter().enumerate() {
            places[usize::from(label)].push(k as u32);
        }
        places
    }
}

/// A pixel as networks see it.
pub fn normalise(byte: u8) -> f32 {
    NORMALISED[usize::from(byte)]
}

static NORMALISED: [f32; 256] = {
    let mut all = [0.0; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = (byte as f32 / 255.0 - MEAN) / DEVIATION;
        byte += 1;
    }
    all
};

#[cfg(test)]
impl Mnist {
    /// The digits of the project. A package is without them, and tests that need them then test nothing.
    pub(crate) fn of_project() -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist");
        folder.is_dir().then(|| Self::load(&folder).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist")
    }

    #[test]
    fn classes_are_as_many_as_known() {
        let Some(mnist) = Mnist::of_project() else { return };
        let counts = |digits: &[u8]| {
            let mut counts = [0; 10];
            digits.iter().for_each(|&label| counts[usize::from(label)] += 1);
            counts
        };
        let train = mnist.train.labels();
        assert_eq!(counts(train), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
        assert_eq!(counts(&train[..55_000]), [5434, 6212, 5465, 5622, 5343, 4963, 5436, 5702, 5357, 5466]);
        assert_eq!(counts(mnist.test.labels()), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
        assert_eq!(mnist.train.by_label().map(|places| places.len())[9], 5949);
        assert!((normalise(0) + 0.424_213).abs() < 1e-6 && (normalise(255) - 2.821_487).abs() < 1e-6);
    }

    #[test]
    fn wrong_files_are_named_with_what_was_expected() {
        if !folder().is_dir() {
            return;
        }
        let temporary = tempfile::tempdir().unwrap();
        let here = temporary.path();
        let message = || Mnist::load(here).unwrap_err().to_string();
        assert!(message().contains("train-images-idx3-ubyte.gz"));
        let put = |name: &str, bytes: &[u8]| fs::write(here.join(name), bytes).unwrap();
        let get = |name: &str| fs::read(folder().join(name)).unwrap();
        put(FILES[0].name, b"");
        assert!(message().contains("training images"), "{}", message());
        let whole = get(FILES[0].name);
        put(FILES[0].name, &whole[..whole.len() / 2]);
        assert!(message().contains("unpacked bytes") && message().contains("the whole gzipped file"), "{}", message());
        // Swapped: labels where images belong, then the test images where training images belong.
        put(FILES[0].name, &get(FILES[1].name));
        assert!(message().contains("0x801") && message().contains("0x803"), "{}", message());
        put(FILES[0].name, &get(FILES[2].name));
        assert!(message().contains("10000 items") && message().contains("60000"), "{}", message());
        put(FILES[0].name, &whole);
        assert!(message().contains("train-labels-idx1-ubyte.gz"), "{}", message());
        // One bit of one label.
        let mut labels = Vec::new();
        GzDecoder::new(get(FILES[1].name).as_slice()).read_to_end(&mut labels).unwrap();
        labels[4_711] ^= 1;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&labels).unwrap();
        put(FILES[1].name, &packed.finish().unwrap());
        assert!(message().contains("SHA-256") && message().contains(FILES[1].sha256), "{}", message());
    }
}
