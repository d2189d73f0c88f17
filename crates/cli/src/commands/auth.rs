//! `a2a auth`: obtains tokens, shows what there is, and forgets it. Tokens themselves are never printed.

use std::{
    collections::BTreeSet,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use chancery_client::oauth::{Flow, OAuth, Prompt, SignIn, StoredToken, Tokens};
use chancery_core::{Error, ErrorKind};
use jiff::Timestamp;
use serde_json::{Value, json};
use url::Url;

use super::task::open_browser;
use crate::{
    args::{Auth, AuthLogin, AuthLogout},
    card, connect,
    context::Context,
    print::{Table, Text},
    reference::Reference,
    trouble::Trouble,
    wallet,
};

/// The client that people are, where the issuer has not given them a name.
const CLIENT: &str = "a2a-cli";

pub(crate) async fn run(context: &Context, auth: &Auth) -> Result<(), Trouble> {
    match auth {
        Auth::Login(login) => self::login(context, login).await,
        Auth::Status(_) => status(context, &wallet::stored(&context.settings)?),
        Auth::Logout(logout) => self::logout(context, logout).await,
    }
}

async fn login(context: &Context, args: &AuthLogin) -> Result<(), Trouble> {
    let (tokens, place) = match args.store.as_str() {
        "file" => {
            let file = file(context)?;
            wallet::stored(&context.settings)?;
            (Tokens::in_file(&file), Some(file))
        }
        "none" => (Tokens::in_memory(), None),
        _ => {
            return Err(
                Trouble::usage("tokens cannot be kept in a keyring by this build").hint("--store file keeps them in a file of mode 0600")
            );
        }
    };
    let found = card::find(context).await?;
    let builder = connect::builder(context)?;
    let mut oauth = OAuth::new(args.client_id.as_deref().unwrap_or(CLIENT)).tokens(tokens).connections(&builder);
    let how = how(context, args)?;
    if let Some(secret) = wallet::client_secret(&context.settings).filter(|_| args.client_id.is_some()) {
        oauth = oauth.secret(secret);
    }
    oauth = args.scope.iter().fold(oauth, |oauth, scope| oauth.scope(scope));
    for pair in &args.parameter {
        let (name, value) = pair.split_once('=').ok_or_else(|| Trouble::usage("--parameter is written NAME=VALUE"))?;
        oauth = oauth.parameter(name, value);
    }
    let show = |prompt: &Prompt<'_>| show(context, args, prompt);
    let signing_in = oauth.sign_in(&found.card, found.url.as_deref(), &how, &show);
    let token = in_time(context, signing_in).await?.map_err(|error| trouble(context, error))?;
    if let Some(folder) = place.as_deref().and_then(Path::parent) {
        close(context, folder);
    }
    let shown = place.map_or_else(|| "none".to_owned(), |file| context.settings.layers.around.shown(&file));
    let scopes: Vec<_> = token.scopes.iter().collect();
    let expires = token.expires_at.map(time);
    let document = json!({"scheme": token.scheme, "scopes": scopes, "expiresAt": expires, "store": shown});
    context.printer.result(&document, |text| {
        text.field("Scheme", &token.scheme);
        text.field("Flow", &token.flow.to_string());
        text.known("Scopes", &words(&token.scopes));
        text.field("Expires", expires.as_deref().unwrap_or("not told"));
        text.field("Store", &shown);
    })
}

/// By which scheme and in which way. Nobody is asked anything where nobody sees it.
fn how(context: &Context, args: &AuthLogin) -> Result<SignIn, Trouble> {
    // Whoever names the agent is told who issues its tokens.
    let mut how = SignIn::new().issuer_of_card();
    if let Some(scheme) = &args.scheme {
        how = how.scheme(scheme);
    }
    let named = args.flow.as_deref().and_then(|name| Flow::ALL.iter().find(|(known, _)| *known == name)).map(|(_, flow)| *flow);
    let alone = !std::io::stderr().is_terminal();
    let has_secret = args.client_id.is_some() && wallet::client_secret(&context.settings).is_some();
    let flow = match named {
        None if alone && has_secret => Some(Flow::ClientCredentials),
        None if alone => Some(Flow::DeviceCode),
        named => named,
    };
    if flow == Some(Flow::ClientCredentials) && !has_secret {
        let words = "client credentials need --client-id, and the secret in A2ACLI_CLIENT_SECRET";
        return Err(Trouble::usage(words).hint("export A2ACLI_CLIENT_SECRET, and add --client-id ID"));
    }
    Ok(match flow {
        Some(flow) => how.flow(flow),
        None => how,
    })
}

/// Tells a person what to do, and opens the page where somebody sees it.
fn show(context: &Context, args: &AuthLogin, prompt: &Prompt<'_>) {
    let notes = &context.notes;
    let page = match prompt {
        Prompt::Issuer { url } => return notes.say(&format!("Token endpoint: {url}")),
        Prompt::Open { url } => {
            notes.insist(&format!("Open: {url}"));
            *url
        }
        Prompt::Confirm { url, code, complete, .. } => {
            notes.insist(&format!("Open: {}", complete.unwrap_or(url)));
            notes.insist(&format!("Code: {code}"));
            complete.unwrap_or(url)
        }
        _ => return,
    };
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !args.no_browser {
        open_browser(context, page);
    }
}

/// Waits until `--timeout` is over or the user has enough.
async fn in_time<T>(context: &Context, work: impl Future<Output = T>) -> Result<T, Trouble> {
    let limit = async {
        match context.settings.timeout {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        done = work => Ok(done),
        () = limit => Err(Trouble::timeout("nobody signed in in time").hint("a2a auth login again, with a longer --timeout")),
        stopped = tokio::signal::ctrl_c() => match stopped {
            Ok(()) => Err(Trouble::stopped(130)),
            Err(error) => Err(Trouble::internal(format!("signals cannot be listened for: {error}"))),
        },
    }
}

fn trouble(context: &Context, error: Error) -> Trouble {
    match error.kind() {
        ErrorKind::InvalidParams => {
            let name = context.settings.agent.as_deref().map_or_else(String::new, |agent| format!(" -a {}", crate::resume::quoted(agent)));
            let hint = format!("a2a card get{name} shows the schemes; --flow code and client-credentials are the other ways");
            Trouble::usage(error.to_string()).hint(hint)
        }
        _ => Trouble::from(error).or_hint(|| "check --client-id, --scope and A2ACLI_CLIENT_SECRET".to_owned()),
    }
}

fn status(context: &Context, tokens: &[StoredToken]) -> Result<(), Trouble> {
    let now = Timestamp::now();
    let expired = |token: &StoredToken| token.expires_at.and_then(|end| Timestamp::try_from(end).ok()).is_some_and(|end| end <= now);
    let described = |token: &StoredToken| -> Value {
        json!({
            "agent": token.agent, "scheme": token.scheme, "client": token.client, "flow": token.flow, "scopes": token.scopes,
            "expiresAt": token.expires_at.map(time), "expired": expired(token), "renewable": token.is_renewable(), "origins": token.origins,
        })
    };
    let until = |token: &StoredToken| match token.expires_at.map(time) {
        Some(end) if expired(token) => format!("{end} (expired)"),
        Some(end) => end,
        None => "not told".to_owned(),
    };
    let store = wallet::file(&context.settings).map(|file| context.settings.layers.around.shown(&file));
    let document = json!({"tokens": tokens.iter().map(described).collect::<Vec<_>>(), "store": store});
    let text = |text: &mut Text| {
        for (at, token) in tokens.iter().enumerate() {
            text.field("Token", &format!("{} of {}", at + 1, tokens.len()));
            text.field("Agent", &token.agent);
            text.field("Scheme", &token.scheme);
            text.field("Client", &token.client);
            text.field("Flow", &token.flow.to_string());
            text.known("Scopes", &words(&token.scopes));
            text.field("Expires", &until(token));
            text.field("Renewable", if token.is_renewable() { "yes" } else { "no" });
            token.origins.iter().for_each(|origin| text.field("Goes to", origin));
        }
        text.field("Total", &tokens.len().to_string());
    };
    context.printer.list(&document, text, || {
        let mut table = Table::new(&["AGENT", "SCHEME", "CLIENT", "FLOW", "SCOPES", "EXPIRES"]);
        for token in tokens {
            let cells = [&token.agent, &token.scheme, &token.client, &token.flow.to_string(), &words(&token.scopes), &until(token)];
            table.row(cells);
        }
        table
    })
}

async fn logout(context: &Context, args: &AuthLogout) -> Result<(), Trouble> {
    let agents = match (args.all, &context.settings.agent) {
        (true, _) => None,
        (false, Some(_)) => Some(agents(context).await?),
        (false, None) => return Err(Trouble::usage("no agent is named").hint("a2a auth logout -a REF, or --all")),
    };
    let which = |token: &StoredToken| agents.as_ref().is_none_or(|agents| agents.contains(&token.agent));
    // A file that cannot be read is not overwritten.
    let count = match wallet::stored(&context.settings)?.iter().any(which) {
        true => Tokens::in_file(file(context)?).forget(which).map_err(|error| Trouble::own("CONFIG", error.to_string()))?,
        false => 0,
    };
    context.printer.result(&json!({"removed": count}), |text| text.field("Removed", &count.to_string()))
}

/// The origins under which tokens for the agent are kept.
async fn agents(context: &Context) -> Result<BTreeSet<String>, Trouble> {
    let home = context.settings.layers.around.home.as_deref();
    let reference = context.settings.agent.as_deref().map(|agent| Reference::read(agent, home)).transpose()?;
    if let Some(Reference::Host(url) | Reference::Card(url)) = reference {
        return Ok(BTreeSet::from([url.origin().ascii_serialization()]));
    }
    let found = card::find(context).await?;
    let urls = found.card.supported_interfaces.iter().filter_map(|interface| Url::parse(&interface.url).ok());
    Ok(urls.map(|url| url.origin().ascii_serialization()).collect())
}

/// Nobody else has any business in the folder of the tokens.
#[cfg(unix)]
fn close(context: &Context, folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let open = std::fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o077 != 0);
    if open && std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).is_err() {
        context.notes.warning(&format!("others can look into {}", context.settings.layers.around.shown(folder)));
    }
}

#[cfg(not(unix))]
fn close(_: &Context, _: &Path) {}

fn file(context: &Context) -> Result<PathBuf, Trouble> {
    wallet::file(&context.settings).ok_or_else(|| Trouble::own("CONFIG", "there is no home folder to keep tokens in").hint("set HOME"))
}

fn words(scopes: &BTreeSet<String>) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// A time as people and programs read it: to the second, in UTC.
fn time(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Timestamp::from_second(i64::try_from(seconds).unwrap_or(i64::MAX)).map_or_else(|_| "never".to_owned(), |time| time.to_string())
}
