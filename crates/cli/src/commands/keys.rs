//! `a2a keys`: the keys that sign cards. Private parts are never printed.

use std::path::Path;

use chancery_client::seal::{Algorithm, KeyStore, StoreError, StoredKey};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    args::{Keys, KeysCommand},
    context::{Context, read},
    print::{Table, Text},
    trouble::{Trouble, with_cause},
};

pub(crate) fn run(context: &Context, keys: &Keys) -> Result<(), Trouble> {
    let store = store(context, keys.dir.as_deref())?;
    match &keys.command {
        KeysCommand::Generate(generate) => {
            let kid = generate.kid.clone().unwrap_or_else(this_month);
            store.generate(algorithm(&generate.alg)?, &kid, Timestamp::now()).map_err(trouble)?;
            made(context, &store, &kid, &[])
        }
        KeysCommand::List(_) => list(context, &store.list().map_err(trouble)?),
        KeysCommand::Show(one) => {
            let public = store.key(&one.kid).map_err(trouble)?.public();
            context.printer.document(&public.to_value())
        }
        KeysCommand::Jwks(jwks) => {
            let set = store.jwks().map_err(trouble)?.to_value();
            match &jwks.out {
                Some(file) => write(file, &set),
                None => context.printer.document(&set),
            }
        }
        KeysCommand::Rotate(rotate) => {
            let kid = rotate.kid.clone().unwrap_or_else(this_month);
            let (_, gone) = store.rotate(algorithm(&rotate.alg)?, &kid, rotate.keep, Timestamp::now()).map_err(trouble)?;
            made(context, &store, &kid, &gone)
        }
        KeysCommand::Import(import) => {
            let key = store.import(&read(&import.file, "FILE")?, import.kid.as_deref(), Timestamp::now()).map_err(trouble)?;
            made(context, &store, key.kid(), &[])
        }
        KeysCommand::Remove(one) => {
            store.remove(&one.kid).map_err(trouble)?;
            context.printer.result(&json!({"removed": one.kid}), |text| text.field("Removed", &one.kid))
        }
    }
}

/// The folder of keys: the one that was named, else that of the user.
pub(crate) fn store(context: &Context, folder: Option<&Path>) -> Result<KeyStore, Trouble> {
    match folder {
        Some(folder) => Ok(KeyStore::new(folder)),
        None => Ok(KeyStore::new(context.settings.layers.around.settings.as_ref().ok_or_else(no_home)?.join("keys"))),
    }
}

fn no_home() -> Trouble {
    Trouble::own("KEY", "there is no home folder to keep keys in").hint("name one with --dir")
}

pub(crate) fn trouble(error: StoreError) -> Trouble {
    let hint = match &error {
        StoreError::Exists(_) => Some("take another --kid, or remove that key first"),
        StoreError::Missing(_) => Some("a2a keys list"),
        _ => Some("a2a keys list, or name another folder with --dir"),
    };
    let trouble = Trouble::own("KEY", with_cause(&error));
    match hint {
        Some(hint) => trouble.hint(hint),
        None => trouble,
    }
}

fn algorithm(name: &str) -> Result<Algorithm, Trouble> {
    Algorithm::parse(name).ok_or_else(|| Trouble::usage(format!("{name} is no algorithm")))
}

/// Keys are named by the month they were made in, unless somebody knows better.
fn this_month() -> String {
    Timestamp::now().to_string().chars().take(7).collect()
}

fn made(context: &Context, store: &KeyStore, kid: &str, gone: &[String]) -> Result<(), Trouble> {
    let all = store.list().map_err(trouble)?;
    let Some(key) = all.iter().find(|key| key.kid == kid) else { return Err(no_home()) };
    let mut document = described(key);
    document["removed"] = json!(gone);
    context.printer.result(&document, |text| {
        text.field("Key", &format!("{} ({})", key.kid, key.algorithm.as_str()));
        text.field("Stored", &key.path.display().to_string());
        gone.iter().for_each(|kid| text.field("Removed", kid));
        text.field("Next", &format!("a2a card sign card.json --key {} --in-place", key.kid));
    })
}

fn described(key: &StoredKey) -> Value {
    json!({
        "kid": key.kid, "alg": key.algorithm.as_str(), "thumbprint": key.thumbprint,
        "created": key.created.to_string(), "path": key.path.display().to_string(),
    })
}

fn list(context: &Context, keys: &[StoredKey]) -> Result<(), Trouble> {
    let document: Vec<_> = keys.iter().map(described).collect();
    let text = |text: &mut Text| {
        for key in keys {
            text.field("Key", &format!("{} ({}), made {}", key.kid, key.algorithm.as_str(), key.created));
            text.field("Thumbprint", &key.thumbprint);
        }
        text.field("Total", &keys.len().to_string());
    };
    context.printer.list(&json!({"keys": document}), text, || {
        let mut table = Table::new(&["KID", "ALG", "CREATED", "THUMBPRINT"]);
        for key in keys {
            table.row([key.kid.clone(), key.algorithm.as_str().to_owned(), key.created.to_string(), key.thumbprint.clone()]);
        }
        table
    })
}

fn write(file: &Path, document: &Value) -> Result<(), Trouble> {
    crate::files::write(file, "", format!("{document:#}\n"))
}
