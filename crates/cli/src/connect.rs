//! From settings to a client: the agent that a command talks to.

use std::{sync::Arc, time::Instant};

use chancery_client::{Builder, Client, Secrets, TroubleKind};
use chancery_core::{Binding, Caller, Card, Error, ErrorKind, Grant, Operation, SecurityScheme, Version, extension};
use chancery_net::Tls;
use chancery_wire::pick::{self, Speaks};

use crate::{
    card::{self, Found},
    context::{Context, read},
    settings::Wanted,
    trouble::Trouble,
    trust,
    wallet::{self, Wallet},
    wire::Watcher,
};

/// Extensions that do not change what a client has to do.
const SUPPORTED: [&str; 3] = [extension::SEQUENCE, extension::HANDOFF, "urn:chancery:demo/ext/v1"];

/// The agent, and how it is called.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) client: Client,
    /// The card; with `--endpoint` there is none.
    pub(crate) card: Option<Card>,
    /// Where it was fetched from; a file has no address.
    pub(crate) card_url: Option<String>,
    /// What every call carries: tenant, extensions.
    caller: Caller,
    has_credentials: bool,
}

/// What a card must offer before a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    Streaming,
    PushNotifications,
    ExtendedCard,
}

impl Agent {
    /// The circumstances of one call that ends in time.
    pub(crate) fn caller(&self, context: &Context) -> Caller {
        self.caller_until(Instant::now().checked_add(context.call_limit()))
    }

    /// The circumstances of a call that lasts until then.
    pub(crate) fn caller_until(&self, deadline: Option<Instant>) -> Caller {
        match deadline {
            Some(deadline) => self.caller.clone().deadline(deadline),
            None => self.caller.clone(),
        }
    }

    /// The agent that a task of this one was handed over to.
    pub(crate) fn moved(&self, client: &Client, grant: Option<&Grant>) -> Self {
        let mut caller = self.caller.clone();
        caller.identity_mut().tenant = String::new();
        caller.call_mut().grant = grant.map(|grant| grant.token.clone());
        let card = client.card().map(|card| Card::clone(&card));
        Self { client: client.clone(), card, card_url: None, caller, has_credentials: false }
    }

    /// Whether the card offers something; without a card nothing is known, and everything is tried.
    pub(crate) fn offers(&self, capability: Capability) -> bool {
        let Some(Card { capabilities, .. }) = &self.card else { return true };
        let offered = match capability {
            Capability::Streaming => capabilities.streaming,
            Capability::PushNotifications => capabilities.push_notifications,
            Capability::ExtendedCard => capabilities.extended_agent_card,
        };
        offered.unwrap_or(false)
    }

    /// Fails as the agent would, without a call, if the card does not offer something; `instead` is a command that works without it.
    pub(crate) fn require(&self, capability: Capability, instead: impl FnOnce() -> String) -> Result<(), Trouble> {
        if self.offers(capability) {
            return Ok(());
        }
        let (kind, what) = match capability {
            Capability::Streaming => (ErrorKind::UnsupportedOperation, "streams"),
            Capability::PushNotifications => (ErrorKind::PushNotificationNotSupported, "push notifications"),
            Capability::ExtendedCard => (ErrorKind::UnsupportedOperation, "extended card"),
        };
        Err(Trouble::protocol(kind, format!("the card declares no {what}")).hint(instead()))
    }

    /// What an error of a call means here.
    pub(crate) fn trouble(&self, context: &Context, error: Error) -> Trouble {
        let missing = error.kind() == ErrorKind::Unauthenticated && !self.has_credentials;
        let trouble = Trouble::from(error);
        let trouble = match missing && trouble.exit == crate::trouble::UNAUTHORIZED {
            true => Trouble { code: "A2ACLI_ERR_CREDENTIALS_MISSING".into(), ..trouble },
            false => trouble,
        };
        let same = crate::resume::same(&context.settings);
        let listed = chancery_wire::methods::rpc_name(self.client.version(), Operation::ListTasks).is_some();
        trouble.clone().or_hint(|| match &*trouble.code {
            "A2ACLI_ERR_CREDENTIALS_MISSING" => ways_in(self.card.as_ref(), &same),
            "A2ACLI_ERR_AUTH_FAILED" => format!("give another credential: {}", ways_in(self.card.as_ref(), &same)),
            "A2ACLI_ERR_UNREACHABLE" => format!("a2a doctor{same}"),
            "TaskNotFoundError" if listed => format!("a2a task list{same}; add --debug for the wire"),
            _ => "add --debug for the wire".to_owned(),
        })
    }
}

/// How credentials of the kinds that a card declares are given. Only OAuth and OpenID Connect have somewhere to sign in.
pub(crate) fn ways_in(card: Option<&Card>, same: &str) -> String {
    let login = format!("a2a auth login{same}");
    let certificate = "add --client-cert FILE --client-key FILE";
    let schemes = card.map(|card| {
        let demanded = |name: &String| card.security_requirements.iter().any(|requirement| requirement.schemes.contains_key(name));
        let all = card.security_requirements.is_empty();
        card.security_schemes.iter().filter(move |(name, _)| all || demanded(name)).map(|(_, scheme)| scheme)
    });
    let mut ways: Vec<&str> = Vec::new();
    let mut add = |way| {
        if !ways.contains(&way) {
            ways.push(way);
        }
    };
    let schemes: Vec<_> = schemes.into_iter().flatten().collect();
    if schemes.iter().any(|scheme| matches!(scheme, SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_))) {
        add(&login);
        add("export A2ACLI_BEARER=TOKEN");
    }
    for scheme in schemes {
        match scheme {
            SecurityScheme::HttpAuth(scheme) if scheme.scheme.eq_ignore_ascii_case("basic") => add("export A2ACLI_BASIC=USER:PASSWORD"),
            SecurityScheme::HttpAuth(_) => add("export A2ACLI_BEARER=TOKEN"),
            SecurityScheme::ApiKey(_) => add("export A2ACLI_API_KEY=KEY"),
            SecurityScheme::MutualTls(_) => add(certificate),
            _ => {}
        }
    }
    match ways.is_empty() {
        true => "export A2ACLI_BEARER=TOKEN, or export A2ACLI_API_KEY=KEY".to_owned(),
        false => ways.join(", or "),
    }
}

/// Connects to the agent that the settings name.
pub(crate) async fn agent(context: &Context) -> Result<Agent, Trouble> {
    connected(context, builder(context)?).await
}

/// As [`agent`], with a builder that says more.
pub(crate) async fn connected(context: &Context, builder: Builder) -> Result<Agent, Trouble> {
    let settings = &context.settings;
    let mut has_credentials = settings.given.bearer.is_some() || settings.given.api_key.is_some() || settings.given.basic.is_some();
    if let (Some(url), [binding]) = (&settings.endpoint, settings.transports.as_slice()) {
        let version = match settings.version {
            Wanted::Only(version) => version,
            Wanted::Current | Wanted::Any => Version::LATEST,
        };
        if settings.require_signature {
            return Err(Trouble::own("SIGNATURE", "with --endpoint there is no card that could be verified").hint("name the card: -a REF"));
        }
        let client = builder.over(*binding, version, url)?;
        let caller = extended(settings.extensions.iter().cloned()).tenant(settings.tenant.clone().unwrap_or_default());
        return Ok(Agent { client, card: None, card_url: None, caller, has_credentials });
    }
    let found = card::find(context).await?;
    has_credentials = has_credentials || wallet::stored(settings)?.iter().any(|token| token.is_of(found.url.as_deref()));
    let builder = preferring(context, builder, &found.card);
    let client = if found.card.signatures.is_empty() && !settings.require_signature {
        builder.connect_card(&found.body, found.url.as_deref())
    } else {
        let builder = builder.signed_cards(trust::mode(context)).trust(trust::policy(context, found.url.as_deref())?);
        builder.connect_signed_card(&found.body, found.url.as_deref()).await
    };
    let client = client.map_err(|error| no_interface(context, &found, error))?;
    trust::warn(context, &client);
    // Of a signed card, only what is covered counts.
    let card = client.card().map_or(found.card, |card| Card::clone(&card));
    let extensions = extensions(context, &card)?;
    if let Some(tenant) = settings.tenant.as_ref().filter(|tenant| **tenant != client.tenant()) {
        let declared = client.tenant();
        return Err(Trouble::usage(format!("--tenant {tenant} is not what the card declares: {declared:?}")).hint("leave --tenant out"));
    }
    Ok(Agent { client, card: Some(card), card_url: found.url, caller: extended(extensions), has_credentials })
}

/// A client builder as the settings want it.
pub(crate) fn builder(context: &Context) -> Result<Builder, Trouble> {
    let settings = &context.settings;
    let mut builder = Client::builder()
        .connect_timeout(settings.connect_timeout)
        .timeout(context.call_limit())
        .retries(1)
        // A message goes out twice only if the user says so.
        .idempotent(false)
        .resubscribes(if settings.stream { 5 } else { 0 })
        .poll_interval(settings.poll_interval)
        .poll_failures(5)
        .dry_run(settings.dry_run)
        .observer(Arc::new(Watcher::new(context)))
        .follow_handoffs(crate::follow::policy(false))
        .tls(tls(context)?);
    for (name, value) in &settings.svc_params {
        builder =
            builder.header(name, value.expose()).map_err(|_| Trouble::usage(format!("--svc-param {name}: no header can be like that")))?;
    }
    // A card too is asked for in a version.
    builder = builder.card_header(chancery_wire::headers::VERSION, Version::LATEST.as_str())?;
    let wallet = Wallet::new(context, secrets(context), &builder);
    let builder = builder.credentials(wallet);
    Ok(match settings.version {
        Wanted::Current => builder.versions([Version::LATEST]),
        Wanted::Only(version) => builder.versions([version]),
        Wanted::Any => builder,
    })
}

/// Whom the user trusts, and the certificate that is shown.
pub(crate) fn tls(context: &Context) -> Result<Tls, Trouble> {
    let given = &context.settings.given;
    let unusable = |option: &str, error: &Error| Trouble::usage(format!("{option}: {}", crate::trouble::with_cause(error)));
    let mut tls = Tls::default();
    tls.accept_anyone(context.settings.insecure);
    if let Some(path) = &given.ca_cert {
        tls.trust(&read(path, "--ca-cert")?).map_err(|error| unusable("--ca-cert", &error))?;
    }
    match (&given.client_cert, &given.client_key) {
        (Some(cert), Some(key)) => {
            let identity = tls.identify(&read(cert, "--client-cert")?, &read(key, "--client-key")?);
            identity.map_err(|error| unusable("--client-cert", &error))?;
        }
        (None, None) => {}
        _ => return Err(Trouble::usage("--client-cert and --client-key belong together")),
    }
    Ok(tls)
}

fn secrets(context: &Context) -> Secrets {
    let given = &context.settings.given;
    let mut secrets = Secrets::new();
    if let Some(token) = &given.bearer {
        secrets = secrets.bearer(token.clone());
    }
    if let Some(key) = &given.api_key {
        secrets = secrets.api_key(key.clone());
    }
    if let Some((user, password)) = &given.basic {
        secrets = secrets.basic(user, password.clone());
    }
    secrets
}

/// Prefers the transports that were asked for, if the card has any of them.
fn preferring(context: &Context, builder: Builder, card: &Card) -> Builder {
    let wanted = &context.settings.transports;
    if wanted.is_empty() {
        return builder;
    }
    let offered =
        |binding: &Binding| card.supported_interfaces.iter().any(|one| Binding::from_name(&one.protocol_binding) == Some(*binding));
    let usable: Vec<_> = wanted.iter().copied().filter(offered).collect();
    if usable.is_empty() {
        let names: Vec<_> = wanted.iter().map(|binding| binding.as_str()).collect();
        context.notes.note(&format!("the card offers no {}; its own order is used", names.join(", ")));
        return builder;
    }
    builder.bindings(usable)
}

/// The extensions to activate: those that were asked for, those that the card requires and we know, and handovers, which every
/// command about a task can show.
fn extensions(context: &Context, card: &Card) -> Result<Vec<String>, Trouble> {
    let mut all = context.settings.extensions.clone();
    let handoff = extension::HANDOFF.to_owned();
    if card.capabilities.extensions.iter().any(|known| known.uri == handoff) && !all.contains(&handoff) {
        all.push(handoff);
    }
    for required in card.capabilities.extensions.iter().filter(|extension| extension.required) {
        if all.contains(&required.uri) {
            continue;
        }
        if !SUPPORTED.contains(&required.uri.as_str()) {
            let message = format!("the agent requires the extension {}, which is not known here", required.uri);
            let hint = format!("if you know what it asks for: --extension {}", crate::resume::quoted(&required.uri));
            return Err(Trouble::protocol(ErrorKind::ExtensionSupportRequired, message).hint(hint));
        }
        all.push(required.uri.clone());
    }
    Ok(all)
}

fn extended(extensions: impl IntoIterator<Item = String>) -> Caller {
    extensions.into_iter().fold(Caller::anonymous(), Caller::extension)
}

/// Says what to try when the card has nothing that may be spoken.
fn no_interface(context: &Context, found: &Found, error: Error) -> Trouble {
    let is_it = chancery_client::Trouble::of(&error).is_some_and(|trouble| trouble.kind() == TroubleKind::NoInterface);
    let trouble = Trouble::from(error);
    if &*trouble.code == "A2AX_ERR_SIGNATURE" {
        return trouble.hint(format!("a2a card verify{}", crate::resume::same(&context.settings)));
    }
    if !is_it {
        return trouble;
    }
    let speaks = Speaks::new([Binding::JsonRpc, Binding::HttpJson, Binding::Grpc]);
    let with = |speaks: &Speaks| pick::candidates_of(&found.card, speaks).into_iter().next();
    let version = match context.settings.version {
        Wanted::Current => Some(Version::LATEST),
        Wanted::Only(version) => Some(version),
        Wanted::Any => None,
    };
    if version.and_then(|version| with(&speaks.clone().only(version))).is_some() {
        return trouble.hint("leave --transport out");
    }
    match with(&speaks) {
        // One that is not chosen by its own name is chosen by none.
        Some(choice) if with(&speaks.clone().only(choice.version)).is_some() => {
            trouble.hint(format!("add --a2a-version {}", choice.version))
        }
        Some(_) => trouble.hint("add --a2a-version any"),
        None => trouble.hint("look for a newer a2a, or ask whoever runs the agent for an interface that this one speaks"),
    }
}
