//! The binary `a2a`.

fn main() {}
