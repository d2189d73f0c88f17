#![no_main]

#[path = "../../crates/wire/tests/it/feed.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::bytes(chancery_wire::Dialect::V1_0Strict, data));
