//! The code in the project's README compiles and does what it says: `cargo test -p readme`. It is tested here, because no crate that is
//! published may read files outside of its folder.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/second-order.md")]
struct SecondOrder;
