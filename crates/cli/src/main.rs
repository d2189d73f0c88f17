//! The binary `a2a`.

#[allow(dead_code, unused_imports, reason = "what `serve` is made of")]
mod agents;
#[allow(dead_code, unused_imports, reason = "what `serve` is made of")]
mod config;
#[cfg(test)]
mod folder;

fn main() {}
