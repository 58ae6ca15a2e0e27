//! The example's unit is held against the laws like the listed ones.

#[path = "../src/main.rs"]
#[allow(dead_code, reason = "its main is not called here")]
mod unit;

#[test]
fn the_unit_keeps_the_laws() {
    nalm::laws::check(&unit::spec(), &unit::spec()).unwrap();
}
