//! Links the benchmarks as the binary `a2a` is linked.

#[path = "../crates/cli/layout.rs"]
mod layout;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    layout::link("benches", "../crates/cli/hot.ld");
}
