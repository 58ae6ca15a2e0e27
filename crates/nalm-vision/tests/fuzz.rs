//! Files that were damaged on their way: checkpoints, trained networks and the digits are read or refused, and never take anybody along.

#[path = "../../nalm/tests/mutate/mod.rs"]
mod mutate;

use flate2::Compression;
use flate2::write::GzEncoder;
use mutate::fuzz;
use nalm_vision::training::Progress;
use nalm_vision::{Checkpoint, Error, History, Mnist, Tensor, checkpoint};
use std::io::Write;

fn flat(name: &str, data: Vec<f32>) -> Tensor {
    Tensor { name: name.into(), shape: vec![data.len()], data }
}

fn state(numbers: usize) -> Checkpoint {
    let progress = Progress { epoch: 3, powers: [0.5, 0.25], off_one: 0.125, history: History::Product(Vec::new()) };
    let data = (0..numbers).map(|k| k as f32 / 7.0).collect();
    Checkpoint { progress, tensors: vec![flat("params", data), flat("means", vec![0.25])] }
}

/// Bits, so that a NaN is what it was.
fn bits(tensors: &[Tensor]) -> Vec<(String, Vec<usize>, Vec<u32>)> {
    let of = |tensor: &Tensor| {
        let numbers = tensor.data.iter().map(|x| x.to_bits()).collect();
        (tensor.name.clone(), tensor.shape.clone(), numbers)
    };
    tensors.iter().map(of).collect()
}

/// Headers of safetensors that lie about what follows them.
fn lies() -> Vec<Vec<u8>> {
    let header = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &[0; 8]].concat();
    vec![
        header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#),
        header(
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#,
        ),
        header(r#"{"__metadata__":{"nalm":"text"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}"#),
    ]
}

#[test]
fn networks_as_safetensors() {
    let mut files = lies();
    files.push(checkpoint::to_bytes(&state(5).tensors, "a text").unwrap());
    files.push(checkpoint::to_bytes(&[], "").unwrap());
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    fuzz("safetensors", 20_000, &files, |bytes| {
        let Ok((tensors, text)) = checkpoint::from_bytes(bytes) else { return false };
        let held: usize = tensors.iter().map(|tensor| 4 * tensor.data.len()).sum();
        assert!(held <= bytes.len());
        assert!(tensors.iter().all(|tensor| tensor.shape.iter().product::<usize>() == tensor.data.len()));
        let again = checkpoint::from_bytes(&checkpoint::to_bytes(&tensors, &text).unwrap()).unwrap();
        assert_eq!((bits(&again.0), again.1), (bits(&tensors), text));
        true
    });
}

/// A changed checkpoint is refused, or nothing that matters was changed.
#[test]
fn checkpoints() {
    let whole = [state(1), state(40)].map(|state| state.to_bytes("run").unwrap());
    let known = whole.clone().map(|bytes| Checkpoint::from_bytes(&bytes, "run").unwrap());
    fuzz("checkpoints", 10_000, &[&whole[0], &whole[1]], |bytes| match Checkpoint::from_bytes(bytes, "run") {
        Ok(state) => {
            assert!(known.contains(&state), "{state:?}");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    });
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// A header, and a few bytes where 47 million should follow.
fn idx(magic: u32, count: u32) -> Vec<u8> {
    let words = [magic, count, 28, 28].map(u32::to_be_bytes).concat();
    [words, (0..100).collect()].concat()
}

/// None of these are the digits, so each must be refused with the name of the file.
#[test]
fn files_of_digits() {
    let folder = tempfile::tempdir().unwrap();
    let name = "train-images-idx3-ubyte.gz";
    let refused = |bytes: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let error = Mnist::load(folder.path()).unwrap_err();
        // Some disks wait when a file that is there is overwritten.
        std::fs::remove_file(file).unwrap();
        assert!(matches!(&error, Error::Content { .. }) && error.to_string().contains(name), "{error}");
        // Every input is taken: to be refused in order is all that can be asked.
        true
    };
    let texts = [idx(0x803, 60_000), idx(0x803, 10_000), idx(0x801, 60_000), idx(0x803, 0), Vec::new()];
    let plain: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    fuzz("idx", 2_000, &plain, |bytes| refused(&packed(bytes)));
    let files = texts.clone().map(|text| packed(&text));
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    fuzz("gzipped idx", 2_000, &files, refused);
}

/// A kilobyte in the file for every megabyte in memory, and no end of them.
#[test]
fn a_file_that_unpacks_to_far_more_than_it_should_is_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let name = "train-images-idx3-ubyte.gz";
    let mut bomb = GzEncoder::new(std::fs::File::create(folder.path().join(name)).unwrap(), Compression::fast());
    bomb.write_all(&idx(0x803, 60_000)).unwrap();
    (0..160).for_each(|_| bomb.write_all(&vec![0; 1 << 20]).unwrap());
    bomb.finish().unwrap();
    let message = Mnist::load(folder.path()).unwrap_err().to_string();
    assert!(message.contains("47040016") && message.contains(name), "{message}");
    let largest = mutate::largest();
    assert!(largest <= mutate::MOST_AT_ONCE, "{largest} bytes at once");
}
