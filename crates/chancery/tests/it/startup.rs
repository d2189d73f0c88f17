//! What keeps a server from starting is said in words that help.

use std::path::PathBuf;

use chancery::{Card, Failure, Memory, Outcome, Server, Tls, Turn};

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

fn server() -> Server {
    Server::new(Card::new("Echo", "Repeats what it hears"), echo)
}

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("chancery-startup-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// What an error says begins and ends so, and it has a cause.
#[track_caller]
fn check<T>(outcome: chancery::Result<T>, begins: &str, ends: &str) {
    let error = outcome.err().expect("it works");
    let words = error.to_string();
    assert!(words.starts_with(begins) && words.ends_with(ends), "{words}");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert_eq!(format!("{error:?}").lines().collect::<Vec<_>>()[..4], [&words, "", "Caused by:", &format!("    {cause}")]);
}

#[tokio::test]
async fn a_port_in_use_is_named_with_a_way_out() {
    let running = server().store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let address = running.local_addr();
    let words = format!("cannot listen on {address}: the port is in use by another program");
    check(server().store(Memory::new()).bind(address).await, &words, "serve on another port (0 is one that is free)");
    running.shutdown().await;
}

#[tokio::test]
async fn an_address_that_is_none_is_quoted_with_one_that_is() {
    for bad in ["nonsense", "127.0.0.1", "127.0.0.1:99999"] {
        let words = format!("cannot listen on {bad:?}: it is not an address");
        check(server().store(Memory::new()).bind(bad).await, &words, "such as 127.0.0.1:7420");
    }
    let words = "cannot listen on \"no-such-host.invalid:80\": its host has no address";
    check(server().store(Memory::new()).bind("no-such-host.invalid:80").await, words, "such as 127.0.0.1:7420");
}

#[tokio::test]
async fn an_address_of_another_machine_is_named() {
    // TEST-NET-1 belongs to nobody.
    check(
        server().store(Memory::new()).bind("192.0.2.1:0").await,
        "cannot listen on 192.0.2.1:0: this machine has no such address",
        "everywhere",
    );
}

/// The lock is that of another process which opens the folder and never gets done.
#[tokio::test]
async fn a_data_folder_in_use_is_named_with_a_way_out() {
    let folder = Folder::new("in-use");
    let lock = std::fs::File::create(folder.0.join("tasks.db-lock")).unwrap();
    lock.lock().unwrap();
    let words = format!("cannot use the data folder {}: another program has locked its tasks", folder.0.display());
    check(server().data(&folder.0).bind("127.0.0.1:0").await, &words, "choose another one with Server::data");
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_used_is_named_with_the_reason() {
    let folder = Folder::new("unusable");
    let file = folder.put("file", "");
    let words = format!("cannot use the data folder {}: a file has its name", file.display());
    check(server().data(&file).bind("127.0.0.1:0").await, &words, "choose another one with Server::data");

    folder.put("tasks.db", "not a database, but long enough to be taken for one".repeat(100));
    let words = format!("cannot use the data folder {}: its tasks are damaged", folder.0.display());
    check(server().data(&folder.0).bind("127.0.0.1:0").await, &words, "choose another one with Server::data");
}

#[test]
fn a_certificate_that_cannot_be_used_is_named_with_the_reason() {
    let folder = Folder::new("tls");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.put("cert.pem", made.cert.pem()), folder.put("key.pem", made.signing_key.serialize_pem()));
    let wrong = folder.put("other.pem", other.signing_key.serialize_pem());
    let none = folder.put("none.pem", "hello");
    let missing = folder.0.join("missing.pem");
    let (show, named) = (|path: &PathBuf| path.display().to_string(), "look for a mistake in the path");
    check(Tls::open(&missing, &key), &format!("cannot use the certificate {}: there is no such file", show(&missing)), named);
    check(Tls::open(&cert, &missing), &format!("cannot use the key {}: there is no such file", show(&missing)), named);
    check(Tls::open(&none, &key), &format!("{} holds no certificate in PEM form", show(&none)), "name another file");
    check(Tls::open(&cert, &none), &format!("{} holds no private key in PEM form", show(&none)), "is not read");
    check(
        Tls::open(&cert, &wrong),
        &format!("the key {} does not belong to the certificate {}", show(&wrong), show(&cert)),
        "was made for",
    );
    let ours = Tls::open(&cert, &key).unwrap();
    check(ours.client_ca(&none), &format!("{} holds no certificate in PEM form", show(&none)), "name another file");
}
