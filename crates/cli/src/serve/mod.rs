//! `a2a serve`: the agents of a file, or the demo agents, on one port.

mod announce;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use chancery_agents::{Served, Site, demo};
use chancery_config::{Agent, BINDINGS, Backend, Config, Tls, VERSIONS, Watch, default_file, duration};
use chancery_core::Binding;
use clap::Args;

use self::announce::announcement;

use crate::{context::Context, log, print::Printer, settings, trouble::Trouble};

/// The file that is looked for when none is named.
const FILE: &str = "a2a.toml";

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
    #[arg(long, hide_short_help = true, value_name = "URL")]
    public_url: Option<String>,
    /// The folder for tasks and keys
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep tasks in memory only
    #[arg(long)]
    ephemeral: bool,
    /// The versions to serve, such as 1.0,0.3
    #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
    versions: Vec<String>,
    /// The bindings to serve, best first: jsonrpc, rest (or http+json) and grpc
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = read_binding)]
    bindings: Vec<Binding>,
    /// Take a call of 1.0 for what it is although it does not name its version
    #[arg(long, hide_short_help = true)]
    lenient_version: bool,
    /// A certificate chain, for TLS
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Who issues certificates for clients; unless something else is asked for, every call needs one
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// One agent without a file: it gives back what it gets
    #[arg(long, conflicts_with_all = ["file", "demo", "exec"])]
    echo: bool,
    /// One agent without a file: a shell command
    #[arg(long, value_name = "CMD", conflicts_with_all = ["file", "demo"])]
    exec: Option<String>,
    /// What ends a chunk of the command's output, instead of the end of a line
    #[arg(long, hide_short_help = true, value_name = "DELIM", requires = "exec")]
    chunk: Option<String>,
    /// The name of the agent without a file
    #[arg(long)]
    name: Option<String>,
    /// The description of the agent without a file
    #[arg(long, hide_short_help = true)]
    description: Option<String>,
    /// A JSON file that is laid over the card of the agent without a file
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Check the file and what it names, and serve nothing
    #[arg(long)]
    check: bool,
    /// Print a file with every key and its meaning, and serve nothing
    #[arg(long, hide_short_help = true)]
    print_config: bool,
    /// Do not look for changes of the file
    #[arg(long, hide_short_help = true)]
    no_reload: bool,
    /// How long running tasks may go on at the end [default: 30s]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = read_duration)]
    drain: Option<Duration>,
    /// How the log is written
    #[arg(long, hide_short_help = true, value_name = "FORM", value_parser = ["text", "json"])]
    log: Option<String>,
    /// The least important level that is logged
    #[arg(long, hide_short_help = true, value_name = "LEVEL", value_parser = ["error", "warn", "info", "debug", "trace"])]
    log_level: Option<String>,
    /// The bindings of the agent without a file: `--transport`, as an older program had it.
    #[arg(skip)]
    transports: Vec<Binding>,
}

fn read_duration(text: &str) -> Result<Duration, String> {
    duration(text).ok_or_else(|| "a time is written 500ms, 2s, 5m or 1h30m".to_owned())
}

fn read_binding(text: &str) -> Result<Binding, String> {
    settings::binding(text).map_err(|trouble| trouble.message)
}

/// Serves until it is asked to stop.
pub(crate) fn run(context: &Context, mut arguments: Serve) -> Result<(), Trouble> {
    arguments.transports.clone_from(&context.settings.transports);
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
        return Ok(printer.write(&default_file())?);
    }
    let Source { name, file, config } = arguments.source()?;
    if arguments.check {
        return Ok(printer.write(&format!("Config: {name} is good: {}\n", names(&config)))?);
    }
    let json = arguments.log.as_ref().map_or(config.log.json, |form| form == "json");
    let level = arguments.log_level.as_deref().unwrap_or(config.log.level.as_str()).parse().context("the level of the log")?;
    log::start(json, level);
    let bound = Site::new(config).bind().await;
    let mut served = bound.map_err(|error| match error {
        chancery_agents::Error::Bind { .. } => Trouble::own("PORT", error.to_string()).hint("--port 0 takes a free port").into(),
        other => anyhow::Error::from(other),
    })?;
    printer.write(&announcement(&name, &served, printer.is_json()))?;
    stay(arguments, file.as_deref(), &mut served).await?;
    served.shutdown().await;
    Ok(())
}

/// Waits until the process is asked to stop, and applies changes of the file meanwhile.
async fn stay(arguments: &Serve, file: Option<&Path>, served: &mut Served) -> Result<()> {
    let mut stop = std::pin::pin!(chancery::stop_signal());
    let Some(file) = file.filter(|_| served.site().config().server.reload) else { return Ok(stop.await?) };
    loop {
        let mut watch = Watch::new(served.site().config().sources()).await;
        // After the watch has begun: what changed before it would not be noticed.
        match arguments.load(file) {
            Ok(changed) if changed != *served.site().config() => {
                served.reload(changed);
                continue;
            }
            Ok(_) => {}
            Err(error) => tracing::error!("the file was changed, and is not applied:\n{error}"),
        }
        tokio::select! {
            stopped = &mut stop => return Ok(stopped?),
            _ = watch.changed() => {}
        }
    }
}

/// Where a configuration comes from, and what it says with the flags laid over it.
struct Source {
    /// In words.
    name: String,
    /// The file that is watched for changes; the demo and agents from flags have none.
    file: Option<PathBuf>,
    config: Config,
}

impl Serve {
    fn source(&self) -> Result<Source> {
        if let Some(quick) = self.quick()? {
            // Programs are sought in PATH; what else is in the environment means nothing to flags.
            let path = std::env::var("PATH").ok().map(|path| ("PATH".to_owned(), path));
            let mut config = Config::parse(Path::new("flags"), &quick, &path.into_iter().collect())?;
            self.overlay(&mut config)?;
            return Ok(Source { name: "none, an agent from flags".to_owned(), file: None, config });
        }
        if let Some(file) = self.file()? {
            return Ok(Source { name: file.display().to_string(), config: self.load(&file)?, file: Some(file) });
        }
        let data = match &self.data {
            Some(data) => data.clone(),
            None => state_folder()?.join("a2a").join("demo"),
        };
        let mut config = demo::config(data)?;
        self.overlay(&mut config)?;
        Ok(Source { name: "none, demo agents".to_owned(), file: None, config })
    }

    /// The file, with the flags laid over it.
    fn load(&self, file: &Path) -> Result<Config> {
        let mut config = Config::load(file)?;
        config.check()?;
        self.overlay(&mut config)?;
        Ok(config)
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
        if !self.transports.is_empty() {
            let name = |binding: &Binding| BINDINGS.iter().find(|(_, known)| known == binding).map(|(name, _)| *name);
            agent.insert("bindings".to_owned(), self.transports.iter().filter_map(name).collect::<Vec<_>>().into());
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
    fn overlay(&self, config: &mut Config) -> Result<()> {
        let server = &mut config.server;
        if let Some(listen) = &self.listen {
            server.listen.clone_from(listen);
        }
        let (host, port) = server.listen.rsplit_once(':').unwrap_or((server.listen.as_str(), "8080"));
        let host = self.host.clone().unwrap_or_else(|| host.to_owned());
        let port = self.port.map_or_else(|| port.to_owned(), |port| port.to_string());
        server.listen = format!("{host}:{port}");
        server.public_url = self.public_url.clone().or(server.public_url.take());
        if let Some(data) = &self.data {
            server.data.clone_from(data);
        }
        config.store.ephemeral = self.ephemeral || (config.store.ephemeral && self.data.is_none());
        if !self.versions.is_empty() {
            let known = |name: &String| VERSIONS.iter().find(|(known, _)| known == name).map(|(_, version)| *version);
            let read = |name| known(name).with_context(|| format!("{name} is no version\nhint: 1.0, 0.3, 0.2 or 0.1"));
            server.versions = self.versions.iter().map(read).collect::<Result<_>>()?;
            for versions in config.agents.iter_mut().filter_map(|agent| agent.versions.as_mut()) {
                versions.retain(|version| server.versions.contains(version));
            }
        }
        if !self.bindings.is_empty() {
            server.bindings.clone_from(&self.bindings);
            for bindings in config.agents.iter_mut().filter_map(|agent| agent.bindings.as_mut()) {
                bindings.retain(|binding| server.bindings.contains(binding));
            }
        }
        server.lenient_version |= self.lenient_version;
        server.drain = self.drain.unwrap_or(server.drain);
        server.reload &= !self.no_reload;
        if let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) {
            let client_ca = self.tls_client_ca.clone().or_else(|| config.tls.as_ref().and_then(|said| said.client_ca.clone()));
            config.tls = Some(Tls { cert: cert.clone(), key: key.clone(), client_ca });
        }
        without_the_unserved(config)
    }
}

/// Takes out the agents of the demo that the flags leave nothing of; of a file, such an agent is a mistake.
fn without_the_unserved(config: &mut Config) -> Result<()> {
    let unserved = |agent: &Agent| agent.versions.as_ref().is_some_and(Vec::is_empty) || agent.bindings.as_ref().is_some_and(Vec::is_empty);
    config.agents.retain(|agent| agent.backend != Backend::Demo || !unserved(agent));
    match config.agents.iter().find(|agent| unserved(agent)) {
        Some(agent) => {
            let name = &agent.name;
            bail!("--versions and --bindings leave nothing of the agent {name:?}\nhint: name one of its own, or change them in the file")
        }
        None => Ok(()),
    }
}

fn names(config: &Config) -> String {
    config.agents.iter().map(|agent| format!("{} at {}", agent.name, agent.path)).collect::<Vec<_>>().join(", ")
}

/// Where programs keep what should survive: `$XDG_STATE_HOME`, or `~/.local/state`.
fn state_folder() -> Result<PathBuf> {
    let said = std::env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local").join("state"));
    said.or_else(home).context("neither HOME nor XDG_STATE_HOME is set\nhint: --data DIR says where tasks are kept")
}
