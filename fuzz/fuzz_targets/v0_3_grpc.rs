#![no_main]

#[path = "../../crates/wire/tests/it/feed.rs"]
mod feed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| feed::grpc_bytes(chancery_wire::Dialect::V0_3Grpc, data));
