//! `a2a serve`: the agents of a file, or the demo agents, on one port.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use chancery::{
    Auth, Limits, Memory, Place, Running, Server, Sqlite, Tls,
    server::{Signing, guard::Guard},
    store::Store,
};
use chancery_client::seal::{Algorithm, KeyStore, SigningKey, StoreError};
use chancery_core::{Binding, Card, Version};
use chancery_engine::{
    push::Schedule,
    store::sqlite::{Durability, Options},
};
use clap::Args;
use serde_json::json;

use crate::{
    agents::{Children, Here, Made, demo},
    config::{self, BINDINGS, Config, DEFAULT, VERSIONS, Watch, duration},
    context::Context,
    log,
    print::Printer,
    trouble::Trouble,
};

/// The file that is looked for when none is named.
const FILE: &str = "a2a.toml";
/// The tasks in the data folder.
pub(crate) const TASKS: &str = "tasks.db";

/// Serve agents: those of a file, or the demo agents
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a serve --exec 'wc -w'")]
pub(crate) struct Serve {
    /// The file; ./a2a.toml if it is there, else the demo agents
    file: Option<PathBuf>,
    /// The demo agents, whatever files there are
    #[arg(long, conflicts_with = "file")]
    demo: bool,
    /// Where to listen
    #[arg(long, value_name = "ADDR", env = "A2A_SERVER_LISTEN", help = "Where to listen [default: 127.0.0.1:8080]")]
    listen: Option<String>,
    /// The host to listen on
    #[arg(long, conflicts_with = "listen")]
    host: Option<String>,
    /// The port to listen on; 0 takes a free one
    #[arg(long, conflicts_with = "listen")]
    port: Option<u16>,
    /// The base of every URL in the cards
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The folder for tasks and keys
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep tasks in memory only
    #[arg(long)]
    ephemeral: bool,
    /// The versions to serve, such as 1.0,0.3
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    versions: Vec<String>,
    /// Take a call of 1.0 for what it is although it does not name its version
    #[arg(long)]
    lenient_version: bool,
    /// A certificate chain, for TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Who issues certificates for clients; unless something else is asked for, every call needs one
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// One agent without a file: it gives back what it gets
    #[arg(long, conflicts_with_all = ["file", "demo", "exec"])]
    echo: bool,
    /// One agent without a file: a shell command
    #[arg(long, value_name = "CMD", conflicts_with_all = ["file", "demo"])]
    exec: Option<String>,
    /// What ends a chunk of the command's output, instead of the end of a line
    #[arg(long, value_name = "DELIM", requires = "exec")]
    chunk: Option<String>,
    /// The name of the agent without a file
    #[arg(long)]
    name: Option<String>,
    /// The description of the agent without a file
    #[arg(long)]
    description: Option<String>,
    /// A JSON file that is laid over the card of the agent without a file
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Check the file and what it names, and serve nothing
    #[arg(long)]
    check: bool,
    /// Print a file with every key and its meaning, and serve nothing
    #[arg(long)]
    print_config: bool,
    /// Do not look for changes of the file
    #[arg(long)]
    no_reload: bool,
    /// How long running tasks may go on at the end [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = read_duration)]
    drain: Option<Duration>,
    /// How the log is written
    #[arg(long, value_name = "FORM", value_parser = ["text", "json"])]
    log: Option<String>,
    /// The least important level that is logged
    #[arg(long, value_name = "LEVEL", value_parser = ["error", "warn", "info", "debug", "trace"])]
    log_level: Option<String>,
    /// The bindings of the agent without a file: `--transport`, as an older program had it.
    #[arg(skip)]
    bindings: Vec<Binding>,
}

fn read_duration(text: &str) -> Result<Duration, String> {
    duration(text).ok_or_else(|| "a time is written 500ms, 2s, 5m or 1h30m".to_owned())
}

/// What is to be served, from flags, environment and file together.
struct Plan {
    /// Where it comes from, in words.
    source: String,
    /// What the file says; the demo and the quick agents have none.
    config: Option<Config>,
    agents: Vec<Made>,
    /// Told where the server is when that is known.
    here: Here,
    /// Who may call; made once, so that all agents share the keys that were fetched.
    rules: Option<Auth>,
    demo: bool,
    listen: String,
    public_url: Option<String>,
    /// `None` for tasks that are kept in memory.
    data: Option<PathBuf>,
    durability: Durability,
    versions: Vec<Version>,
    lenient_version: bool,
    drain: Duration,
    reload: bool,
}

/// Serves until it is asked to stop.
pub(crate) fn run(context: &Context, mut arguments: Serve) -> Result<(), Trouble> {
    arguments.bindings.clone_from(&context.settings.transports);
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = built.map_err(|error| Trouble::internal(format!("no runtime can be started: {error}")))?;
    let printer = &context.printer;
    runtime.block_on(serve(&arguments, printer)).map_err(|error| match error.downcast::<Trouble>() {
        Ok(trouble) => trouble,
        Err(error) => Trouble::chain("CONFIG", &error),
    })
}

/// As `serve --demo`.
pub(crate) fn run_demo(context: &Context, mut arguments: Serve) -> Result<(), Trouble> {
    arguments.demo = true;
    run(context, arguments)
}

async fn serve(arguments: &Serve, printer: &Printer) -> Result<()> {
    if arguments.print_config {
        return Ok(printer.write(DEFAULT)?);
    }
    let children = Children::default();
    let plan = arguments.plan(&children)?;
    if arguments.check {
        return Ok(printer.write(&format!("Config: {} is good: {}\n", plan.source, names(&plan.agents)))?);
    }
    let said = plan.config.as_ref().map(|config| config.log);
    let json = arguments.log.as_ref().map_or_else(|| said.is_some_and(|log| log.json), |form| form == "json");
    let level = match &arguments.log_level {
        Some(level) => level.parse().context("the level of the log")?,
        None => said.map_or(tracing::Level::INFO, |log| log.level),
    };
    log::start(json, level);
    let running = plan.bind(arguments).await?;
    let doors = if plan.demo { plan.secure_doors(&running).await? } else { Vec::new() };
    printer.write(&plan.announcement(&running, &doors, printer.is_json()))?;
    stay(&plan, &children, &running).await?;
    for door in doors {
        door.running.shutdown().await;
    }
    running.shutdown().await;
    children.stop().await;
    Ok(())
}

/// Waits until the process is asked to stop, and applies changes of the file meanwhile.
async fn stay(plan: &Plan, children: &Children, running: &Running) -> Result<()> {
    let mut stop = std::pin::pin!(chancery::server::stop_signal());
    let Some(config) = plan.config.as_ref().filter(|_| plan.reload) else { return Ok(stop.await?) };
    let mut current = config.clone();
    let mut watch = Watch::new(current.sources()).await;
    loop {
        tokio::select! {
            stopped = &mut stop => return Ok(stopped?),
            _ = watch.changed() => {}
        }
        match Config::load(&current.file).and_then(|config| config.check().map(|()| config)) {
            Ok(changed) => {
                apply(&current, &changed, plan, children, running);
                current = changed;
                watch = Watch::new(current.sources()).await;
            }
            Err(problem) => tracing::error!("the file was changed, and is not applied:\n{problem}"),
        }
    }
}

/// Applies what can be applied to agents at work, and says what cannot.
fn apply(current: &Config, changed: &Config, plan: &Plan, children: &Children, running: &Running) {
    let rules = Rules { all: plan.rules.as_ref(), config: Some(changed) };
    let mut same = changed.clone();
    same.agents.clone_from(&current.agents);
    same.signing.clone_from(&current.signing);
    if changed.signing != current.signing {
        match running.sign(changed.signing.as_ref().and_then(config::Signing::seals)) {
            Ok(()) => tracing::info!("the cards are signed as the file says now"),
            Err(error) => tracing::error!(%error, "the cards could not be signed"),
        }
    }
    if same != *current {
        tracing::warn!(
            "only agents and the keys of their cards are changed while the server runs; start it again for the rest of the file"
        );
    }
    let made = changed.agents(children, &plan.here);
    if made.len() == 1 && current.agents.len() != 1 || made.len() != 1 && current.agents.len() == 1 {
        tracing::warn!("an agent alone is at another path than one of several: start the server again");
        return;
    }
    let old = |name: &str| current.agents.iter().find(|agent| agent.name == name);
    for (agent, made) in changed.agents.iter().zip(&made).filter(|(agent, _)| old(&agent.name) != Some(agent)) {
        let moved = old(&agent.name).is_some_and(|old| old.path != agent.path);
        match running.replace(rules.over(&agent.name, made.place(None, changed.retention.tasks))) {
            Ok(()) if moved => tracing::info!(agent = agent.name, path = agent.path, "the agent moved"),
            Ok(()) => tracing::info!(agent = agent.name, "the agent is as the file says now"),
            Err(error) => tracing::error!(agent = agent.name, %error, "the agent could not be changed"),
        }
    }
    for gone in current.agents.iter().filter(|agent| !changed.agents.iter().any(|kept| kept.name == agent.name)) {
        running.remove(&gone.name);
        tracing::info!(agent = gone.name, "the agent is not served any more; its tasks are kept");
    }
}

impl Serve {
    fn plan(&self, children: &Children) -> Result<Plan> {
        let mut plan = if let Some(quick) = self.quick()? {
            // Programs are sought in PATH; what else is in the environment means nothing to flags.
            let path = std::env::var("PATH").ok().map(|path| ("PATH".to_owned(), path));
            let config = Config::parse(Path::new("flags"), &quick, &path.into_iter().collect())?;
            let mut plan = Plan::of(config, children);
            (plan.source, plan.reload) = ("none, an agent from flags".to_owned(), false);
            plan
        } else {
            match self.file()? {
                Some(file) => {
                    let config = Config::load(&file)?;
                    config.check()?;
                    Plan::of(config, children)
                }
                None => Plan::demo()?,
            }
        };
        self.lay_over(&mut plan)?;
        Ok(plan)
    }

    fn file(&self) -> Result<Option<PathBuf>> {
        match &self.file {
            Some(file) => Ok(Some(file.clone())),
            None if self.demo => Ok(None),
            None => Ok(Some(PathBuf::from(FILE)).filter(|file| file.exists())),
        }
    }

    /// The file that the flags of a quick agent stand for.
    fn quick(&self) -> Result<Option<String>> {
        let quick = self.echo || self.exec.is_some();
        if !quick && (self.name.is_some() || self.description.is_some() || self.card.is_some()) {
            bail!("--name, --description and --card describe an agent without a file\nhint: add --echo or --exec CMD");
        }
        if !quick {
            return Ok(None);
        }
        let name = self.name.as_deref().unwrap_or(if self.echo { "echo" } else { "exec" });
        let mut agent = toml::Table::new();
        agent.insert("name".to_owned(), name.into());
        agent.insert("description".to_owned(), self.description.as_deref().unwrap_or("An agent from the command line").into());
        if !self.bindings.is_empty() {
            let name = |binding: &Binding| BINDINGS.iter().find(|(_, known)| known == binding).map(|(name, _)| *name);
            agent.insert("bindings".to_owned(), self.bindings.iter().filter_map(name).collect::<Vec<_>>().into());
        }
        if let Some(card) = &self.card {
            agent.insert("card".to_owned(), std::path::absolute(card)?.display().to_string().into());
        }
        match &self.exec {
            Some(command) => {
                agent.insert("command".to_owned(), vec!["sh", "-c", command].into());
                agent.insert(
                    "env".to_owned(),
                    std::env::vars().map(|(name, _)| name).filter(|name| !name.starts_with("A2A")).collect::<Vec<_>>().into(),
                );
                agent.insert("cwd".to_owned(), std::env::current_dir()?.display().to_string().into());
                if let Some(chunk) = &self.chunk {
                    agent.insert("chunk".to_owned(), chunk.as_str().into());
                }
            }
            None => drop(agent.insert("echo".to_owned(), true.into())),
        }
        let mut file = toml::Table::new();
        file.insert("agent".to_owned(), vec![agent].into());
        Ok(Some(toml::to_string(&file)?))
    }

    /// Flags come before the file.
    fn lay_over(&self, plan: &mut Plan) -> Result<()> {
        if let Some(listen) = &self.listen {
            plan.listen.clone_from(listen);
        }
        let (host, port) = plan.listen.rsplit_once(':').unwrap_or((plan.listen.as_str(), "8080"));
        let host = self.host.clone().unwrap_or_else(|| host.to_owned());
        let port = self.port.map_or_else(|| port.to_owned(), |port| port.to_string());
        plan.listen = format!("{host}:{port}");
        plan.public_url = self.public_url.clone().or(plan.public_url.take());
        plan.data = match (&self.data, self.ephemeral) {
            (_, true) => None,
            (Some(data), false) => Some(data.clone()),
            (None, false) => plan.data.take(),
        };
        if !self.versions.is_empty() {
            let known = |name: &String| VERSIONS.iter().find(|(known, _)| known == name).map(|(_, version)| *version);
            let read = |name| known(name).with_context(|| format!("{name} is no version\nhint: 1.0, 0.3, 0.2 or 0.1"));
            plan.versions = self.versions.iter().map(read).collect::<Result<_>>()?;
            plan.agents.iter_mut().for_each(|agent| agent.versions.retain(|version| plan.versions.contains(version)));
        }
        plan.lenient_version |= self.lenient_version;
        plan.drain = self.drain.unwrap_or(plan.drain);
        plan.reload &= !self.no_reload;
        Ok(())
    }
}

impl Plan {
    fn of(config: Config, children: &Children) -> Self {
        let here = Here::default();
        Self {
            source: config.file.display().to_string(),
            agents: config.agents(children, &here),
            here,
            rules: config.auth.as_ref().map(|auth| auth.rules()),
            demo: false,
            listen: config.server.listen.clone(),
            public_url: config.server.public_url.clone(),
            data: (!config.store.ephemeral).then(|| config.server.data.clone()),
            durability: config.store.durability,
            versions: config.server.versions.clone(),
            lenient_version: config.server.lenient_version,
            drain: config.server.drain,
            reload: config.server.reload,
            config: Some(config),
        }
    }

    fn demo() -> Result<Self> {
        Ok(Self {
            source: "none, demo agents".to_owned(),
            config: None,
            agents: demo::agents(),
            here: Here::default(),
            rules: None,
            demo: true,
            listen: "127.0.0.1:8080".to_owned(),
            public_url: None,
            data: Some(state_folder()?.join("a2a").join("demo")),
            durability: Durability::Power,
            versions: VERSIONS.iter().map(|(_, version)| *version).collect(),
            lenient_version: false,
            drain: Duration::from_secs(30),
            reload: false,
        })
    }

    async fn bind(&self, arguments: &Serve) -> Result<Running> {
        let store: Arc<dyn Store> = match &self.data {
            None => Arc::new(Memory::new()),
            Some(data) => {
                std::fs::create_dir_all(data).with_context(|| format!("the folder {} cannot be made", data.display()))?;
                let mut options = Options::default();
                options.durability = self.durability;
                let file = data.join(TASKS);
                Arc::new(Sqlite::open_with(&file, options).await.with_context(|| format!("{} cannot be opened", file.display()))?)
            }
        };
        let mut server = Server::several().shared_store(store).versions(self.versions.iter().copied());
        server = server.lenient_version(self.lenient_version).grace(self.drain).limits(self.limits()).guard(self.guard()?);
        if let Some(pauses) = self.config.as_ref().and_then(|config| config.push.schedule.as_ref()) {
            server = server.schedule(Schedule::new(pauses.iter().copied()));
        }
        if let Some(data) = &self.data {
            server = server.data(data);
        }
        if let Some(url) = &self.public_url {
            server = server.public_url(url);
        }
        if let Some(tls) = self.tls(arguments)? {
            server = server.tls(tls);
        }
        if let Some(auth) = &self.rules {
            server = server.auth(auth.clone());
        }
        if let Some(tokens) = self.config.as_ref().and_then(|config| config.reach.tokens()) {
            server = server.scope_tokens(tokens);
        }
        let issuer = if self.demo { Some(demo::Issuer::new()?) } else { None };
        if let Some(issuer) = issuer.clone() {
            server = server.route(demo::ISSUER, move |request| std::future::ready(issuer.answer(&request)));
        }
        if let Some(signing) = self.config.as_ref().and_then(|config| config.signing.as_ref()?.seals()) {
            server = server.signing(signing);
        }
        let seals = if self.demo { Some(Seals::open(self.data.as_deref())?) } else { None };
        if self.demo {
            server = server.catalog(demo::LISTED.0);
        }
        let retention = self.config.as_ref().map_or(Some(Duration::from_secs(30 * 24 * 3_600)), |config| config.retention.tasks);
        for agent in &self.agents {
            let rules = Rules { all: self.rules.as_ref(), config: self.config.as_ref() };
            let place = rules.over(&agent.name, agent.place(self.demo.then_some(()), retention));
            server = server.place(match &seals {
                Some(seals) => seals.over(&agent.name, place),
                None => place,
            });
        }
        let bound = server.bind(self.listen.as_str()).await;
        let running = bound.map_err(|error| {
            Trouble::own("PORT", format!("cannot serve on {}: {}", self.listen, told(error))).hint("--port 0 takes a free port")
        })?;
        self.here.is(running.url());
        if let Some(issuer) = issuer {
            // What the issuer is called, and so what the card says of it, is known only now.
            issuer.settle(running.url());
            for agent in self.agents.iter().filter(|agent| agent.name == demo::SECURE) {
                let place = agent.place(Some(()), retention).auth(issuer.rules(demo::rules())?);
                let place = match &seals {
                    Some(seals) => seals.over(&agent.name, place),
                    None => place,
                };
                running.replace(place).map_err(told)?;
            }
        }
        Ok(running)
    }

    fn tls(&self, arguments: &Serve) -> Result<Option<Tls>> {
        let said = self.config.as_ref().and_then(|config| config.tls.as_ref());
        let (cert, key, client_ca) = match (&arguments.tls_cert, &arguments.tls_key, said) {
            (Some(cert), Some(key), said) => {
                (cert, key, arguments.tls_client_ca.as_ref().or(said.and_then(|said| said.client_ca.as_ref())))
            }
            (_, _, Some(said)) => (&said.cert, &said.key, said.client_ca.as_ref()),
            _ => return Ok(None),
        };
        let tls = Tls::open(cert, key).map_err(told)?;
        Ok(Some(match client_ca {
            Some(file) => tls.client_ca(file).map_err(told)?,
            None => tls,
        }))
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if let Some(said) = self.config.as_ref().map(|config| config.limits) {
            limits.body = said.body.and_then(|body| usize::try_from(body).ok()).unwrap_or(limits.body);
            limits.message.parts = said.parts.unwrap_or(limits.message.parts);
            limits.message.json_depth = said.json_depth.unwrap_or(limits.message.json_depth);
            limits.requests = said.requests.unwrap_or(limits.requests);
            limits.streams_per_caller = said.streams.unwrap_or(limits.streams_per_caller);
        }
        limits
    }

    fn guard(&self) -> Result<Guard> {
        let Some(config) = &self.config else { return Ok(Guard::new()) };
        let allowed = config.guard.allow.iter().chain(&config.push.allow);
        allowed.into_iter().try_fold(Guard::new().loopback(config.guard.loopback), |guard, network| {
            Ok(guard.allow(network.parse().with_context(|| format!("allow: {network} is no network"))?))
        })
    }

    /// Says where everything is, and what to try.
    fn announcement(&self, running: &Running, doors: &[SecureDoor], json: bool) -> String {
        let url = running.url();
        let cards: Vec<_> = self.agents.iter().map(|agent| card_url(url, &agent.path)).collect();
        if json {
            let mut ready = json!({"ready": true, "listen": running.local_addr().to_string(), "url": url, "cards": cards});
            for door in doors {
                ready[door.name] = door.running.url().into();
            }
            if let Some(authority) = doors.first().map(|door| door.certificates.authority()) {
                ready["certificates"] = authority.parent().unwrap_or(&authority).display().to_string().into();
            }
            return format!("{ready}\n");
        }
        let versions: Vec<_> = self.versions.iter().map(|version| version.as_str()).collect();
        let bindings: Vec<_> = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc].iter().map(|binding| binding.as_str()).collect();
        let mut text = String::new();
        let mut line = |line: String| text.extend([line.as_str(), "\n"]);
        line(format!("Config: {}", self.source));
        line(format!("Listening: {url} ({}; {})", bindings.join(", "), versions.join(" ")));
        let shown = if self.demo { 1 } else { cards.len() };
        for card in &cards[..shown] {
            line(format!("Card: {card}"));
        }
        if self.demo {
            let others: Vec<_> = self.agents.iter().skip(1).map(|agent| agent.path.as_str()).collect();
            line(format!("Variants: {}", others.join(" ")));
        }
        for door in doors {
            let (client, key) = door.certificates.client();
            let shown = match door.mutual {
                true => format!(" --client-cert {} --client-key {}", at_home(&client), at_home(&key)),
                false => String::new(),
            };
            let about = if door.mutual { "Mutual TLS" } else { "TLS" };
            line(format!("{about}: {} (--ca-cert {}{shown})", door.running.url(), at_home(&door.certificates.authority())));
        }
        match &self.data {
            Some(data) => line(format!("Data: {} (kept across restarts)", at_home(data))),
            None => line("Data: in memory, gone at the end".to_owned()),
        }
        let first = self.agents.first().map(|agent| agent.path.trim_end_matches('/').to_owned()).unwrap_or_default();
        let words = if self.demo { "stream 5" } else { "hello" };
        line("Try:".to_owned());
        line(format!("  curl {url}{first}/.well-known/agent-card.json"));
        for (path, options) in [("message:send", ""), ("message:stream", "-N ")] {
            line(format!(
                "  curl {options}{url}{first}/{path} -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json' -d \
                 '{{\"message\":{{\"messageId\":\"1\",\"role\":\"ROLE_USER\",\"parts\":[{{\"text\":\"{words}\"}}]}}}}'"
            ));
        }
        line(format!("  curl {url}{first}/tasks -H 'A2A-Version: 1.0'"));
        line(String::new());
        text
    }
}

/// The demo once more, behind TLS.
struct SecureDoor {
    /// In the announcement.
    name: &'static str,
    /// Whether clients have to show a certificate.
    mutual: bool,
    running: Running,
    certificates: demo::Certificates,
}

impl Plan {
    /// Serves the agents of the demo over TLS too: the same tasks, at ports of their own. What is kept nowhere has no place for certificates.
    async fn secure_doors(&self, running: &Running) -> Result<Vec<SecureDoor>> {
        let Some(data) = &self.data else { return Ok(Vec::new()) };
        let certificates = demo::Certificates::open(data)?;
        let mut doors = Vec::new();
        for (name, mutual, port) in [("tls", false, 8443), ("mtls", true, 8444)] {
            let address = running.local_addr();
            // Who is not where everybody looks for it has these ports elsewhere too.
            let ports = if address.port() == 8080 { vec![port, 0] } else { vec![0] };
            let (cert, key) = certificates.server();
            let tls = Tls::open(cert, key).map_err(told)?;
            let tls = if mutual { tls.client_ca(certificates.authority()).map_err(told)? } else { tls };
            let mut bound = Err(anyhow::anyhow!("no port was tried"));
            for port in ports {
                bound = self.secure_door(running, tls.clone(), mutual).bind((address.ip(), port)).await.map_err(told);
                if bound.is_ok() {
                    break;
                }
                tracing::warn!(port, "another program has the port of the demo over TLS; a free one is taken");
            }
            doors.push(SecureDoor { name, mutual, running: bound?, certificates: certificates.clone() });
        }
        Ok(doors)
    }

    /// The same agents as those at work.
    fn secure_door(&self, running: &Running, tls: Tls, mutual: bool) -> Server {
        let mut server = Server::several().store(Memory::new()).versions(self.versions.iter().copied()).grace(self.drain).tls(tls);
        for (agent, engine) in self.agents.iter().zip(running.engines()) {
            let place = Place::operations(&agent.path, agent.card.clone(), Arc::new(demo::Stage::new(engine))).key(&agent.name);
            let place = place.tenant(&agent.tenant).versions(agent.versions.iter().copied()).bindings(agent.bindings.iter().copied());
            let rules = Rules { all: None, config: None };
            // A certificate is enough where one is needed.
            server = server.place(if mutual { place } else { rules.over(&agent.name, place) });
        }
        server
    }
}

/// What the cards of the demo are signed with.
struct Seals {
    key: Arc<SigningKey>,
    /// Another key of the same name.
    other: Arc<SigningKey>,
}

impl Seals {
    /// The key in the data folder, made if there is none; or one that is kept nowhere.
    fn open(data: Option<&Path>) -> Result<Self> {
        const NAME: &str = "demo";
        let key = match data.map(|data| KeyStore::new(data.join("keys"))) {
            None => SigningKey::generate(Algorithm::Es256, NAME)?,
            Some(store) => match store.key(NAME) {
                Err(StoreError::Missing(_)) => store.generate(Algorithm::Es256, NAME, jiff::Timestamp::now())?,
                key => key?,
            },
        };
        Ok(Self { key: Arc::new(key), other: Arc::new(SigningKey::generate(Algorithm::Es256, NAME)?) })
    }

    /// The place with the signature and the name in the catalog that its agent has.
    fn over(&self, agent: &str, place: Place) -> Place {
        match agent {
            demo::SIGNED => place.signing(Signing::new(self.key.clone())),
            demo::SIGNED_BAD => place.signing(Signing::new(self.other.clone())),
            _ if agent == demo::PLAIN.name => place.listed(demo::LISTED.1),
            _ => place,
        }
    }
}

/// Who may call which agent.
struct Rules<'a> {
    all: Option<&'a Auth>,
    config: Option<&'a Config>,
}

impl Rules<'_> {
    /// The place with the rules of its agent, if it has rules of its own.
    fn over(&self, agent: &str, place: Place) -> Place {
        if self.config.is_none() && agent == demo::SECURE {
            return place.auth(demo::rules());
        }
        let said = self.config.and_then(|config| config.agents.iter().find(|known| known.name == agent));
        if said.is_some_and(|agent| agent.auth.as_ref().is_some_and(Vec::is_empty)) {
            return place.open();
        }
        let (Some(agent), Some(all), Some(auth)) = (said, self.all, self.config.and_then(|config| config.auth.as_ref())) else {
            return place;
        };
        let rules = match &agent.auth {
            Some(alternatives) => all.clone().requiring(auth.requirements(alternatives)),
            None if agent.skill_scopes.is_empty() => return place,
            None => all.clone(),
        };
        place.auth(agent.skill_scopes.iter().fold(rules, |rules, (skill, scopes)| rules.scopes_for_skill(skill, scopes)))
    }
}

impl Made {
    /// The agent at its place; on the stage of the demo if it is one of its agents.
    fn place(&self, stage: Option<()>, retention: Option<Duration>) -> Place {
        let card: Card = self.card.clone();
        let place = Place::agent(&self.path, self.builder(card).retention(retention)).key(&self.name).tenant(&self.tenant);
        let place = place.versions(self.versions.iter().copied()).bindings(self.bindings.iter().copied());
        match stage {
            Some(()) => place.through(|engine| Arc::new(demo::Stage::new(engine))),
            None => place,
        }
    }
}

/// What went wrong, with its cause: the user is the operator here.
fn told(error: chancery::Error) -> anyhow::Error {
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    anyhow::anyhow!(cause.unwrap_or_else(|| error.to_string()))
}

fn names(agents: &[Made]) -> String {
    agents.iter().map(|agent| format!("{} at {}", agent.name, agent.path)).collect::<Vec<_>>().join(", ")
}

fn card_url(url: &str, path: &str) -> String {
    format!("{url}{}/.well-known/agent-card.json", path.trim_end_matches('/'))
}

/// Where programs keep what should survive: `$XDG_STATE_HOME`, or `~/.local/state`.
fn state_folder() -> Result<PathBuf> {
    let said = std::env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local").join("state"));
    said.or_else(home).context("neither HOME nor XDG_STATE_HOME is set\nhint: --data DIR says where tasks are kept")
}

/// A path as people write it.
fn at_home(path: &Path) -> String {
    let below = std::env::var_os("HOME").and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: Serve,
    }

    /// Serves what a file says, in memory and at a free port, as `a2a serve` does.
    pub(crate) async fn bind(config: Config) -> Running {
        let arguments = Line::parse_from(["serve", "--ephemeral", "--port", "0"]).serve;
        let mut plan = Plan::of(config, &Children::default());
        arguments.lay_over(&mut plan).unwrap();
        plan.bind(&arguments).await.unwrap()
    }

    /// `/secure` of the demo takes its token and its key, says where it found them, and sends others away; the rest of the demo
    /// is open.
    #[tokio::test]
    async fn the_demo_has_a_place_that_demands_credentials() {
        let arguments = Line::parse_from(["serve", "--demo", "--ephemeral", "--port", "0"]).serve;
        let running = arguments.plan(&Children::default()).unwrap().bind(&arguments).await.unwrap();
        let body = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"request"}]}}"#;
        for (path, header, expected) in [
            ("/secure", ("authorization", "Bearer demo-token"), "Credential: bearer, header Authorization"),
            ("/secure", ("x-api-key", "demo-key"), "Credential: key, header X-API-Key"),
            ("/secure", ("x-api-key", "else"), "UNAUTHENTICATED"),
            ("/secure", ("x", "y"), "UNAUTHENTICATED"),
            ("", ("x", "y"), "Credential: none"),
        ] {
            let request = reqwest::Client::new().post(format!("{}{path}/message:send", running.url())).header("a2a-version", "1.0");
            let request = request.header("content-type", "application/json").header(header.0, header.1).body(body);
            let answer = request.send().await.unwrap().text().await.unwrap();
            assert!(answer.contains(expected), "{path} {header:?} {answer}");
        }
        running.shutdown().await;
    }
}
