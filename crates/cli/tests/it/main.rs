//! The binary, as its users run it: real processes, which are really killed.

mod load;
mod overload;
mod process;
mod push;
mod receiver;
mod refused;
mod resume;
mod voice;
