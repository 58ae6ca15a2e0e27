//! The units, one file each, and the list of them.
//!
//! A [`Module`] is data plus pure functions over a flat parameter vector. It cannot be random in evaluation, because no
//! generator is in reach there; it cannot fail, because its constructor checked everything; it does not allocate.

mod dispatch;
mod fc;
mod g_nalu;
mod gated;
mod inalu;
mod linear;
mod mlp;
mod mul;
pub(crate) mod nac;
mod nac_add;
mod nac_mul;
mod nalu;
mod nau;
mod nmu;
mod npu;
mod pass;
mod real_npu;
mod shape;
mod snmu;
mod snmu_exp;
mod spec;
pub mod start;
mod stg_nmu;
mod unit;

pub use dispatch::{Backward, Dispatch, Forward};
pub use fc::Fc;
pub use gated::Gated;
pub use inalu::Inalu;
pub use linear::Linear;
pub use mlp::Mlp;
pub use mul::Product;
pub use nac_add::NacAdd;
pub use nac_mul::NacMul;
pub use nalu::Nalu;
pub use nau::Nau;
pub use nmu::Nmu;
pub use npu::Npu;
pub use pass::Pass;
pub use shape::Shape;
pub use snmu::Snmu;
pub use spec::{Build, Spec};
pub use stg_nmu::StgNmu;
pub use unit::Module;

pub use crate::setting::Options;

use crate::{Error, Real};

/// All modules.
pub fn list<R: Listed>() -> Vec<Spec<R>> {
    R::modules()
}

/// A number type for which this crate holds the compiled code of all modules; part of [`crate::Compiled`].
pub trait Listed: Real {
    /// All modules over this type; see [`list`].
    #[doc(hidden)]
    fn modules() -> Vec<Spec<Self>>;
}

// A blanket implementation would be generic again, so each type has its own.
impl Listed for f32 {
    fn modules() -> Vec<Spec<Self>> {
        every()
    }
}

impl Listed for f64 {
    fn modules() -> Vec<Spec<Self>> {
        every()
    }
}

/// The list. A new module is a file, its `mod` line above and its `spec` here; everything else reads this.
///
/// Called through [`Listed`] for each of the two number types, so that their code is made once, in this crate, and not again in
/// every program that asks for the list.
pub(crate) fn every<R: Real>() -> Vec<Spec<R>> {
    vec![
        nau::spec(),
        nmu::spec(),
        snmu::spec(),
        snmu_exp::spec(),
        stg_nmu::spec(),
        nac_add::spec(),
        nac_mul::spec(),
        nalu::spec(),
        g_nalu::spec(),
        inalu::spec(),
        npu::spec(),
        real_npu::spec(),
        gated::spec(),
        gated::stochastic_spec(),
        linear::spec(),
        mlp::spec(),
        fc::spec(),
        mul::spec(),
    ]
}

/// The module with this name.
pub fn find<R: Listed>(name: &str) -> Result<Spec<R>, Error> {
    let names: Vec<&str> = list::<R>().iter().map(|spec| spec.name).collect();
    list().into_iter().find(|spec| spec.name == name).ok_or_else(|| Error::unknown("module", name, &names))
}
