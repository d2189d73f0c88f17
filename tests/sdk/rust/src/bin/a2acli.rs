//! The program of the crate `a2a-cli`, as it is there.

#[tokio::main]
async fn main() {
    if let Err(error) = a2acli::run_args(std::env::args_os()).await {
        error.report();
        std::process::exit(error.exit_code());
    }
}
