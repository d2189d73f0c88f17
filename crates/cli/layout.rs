//! Tells the linker to lay the functions that requests pass side by side (docs/decisions/0012-hot-code-lies-together.md).

use std::{env, path::Path};

/// Links this kind of target with this linker script, if the linker is one that is known to understand it.
pub(crate) fn link(targets: &str, script: &str) {
    println!("cargo::rerun-if-changed={script}");
    let set = |name: &str| env::var(name).unwrap_or_default();
    let optimized = set("OPT_LEVEL") != "0";
    // On Linux that is the linker that Rust brings along, or the one of binutils. Others are asked for by name.
    let usual = set("CARGO_CFG_TARGET_OS") == "linux" && set("RUSTC_LINKER").is_empty() && !set("CARGO_ENCODED_RUSTFLAGS").contains("link");
    if optimized && usual {
        let script = Path::new(&set("CARGO_MANIFEST_DIR")).join(script);
        println!("cargo::rustc-link-arg-{targets}=-T{}", script.display());
    }
}
