//! `a2a serve`: the agents of a file, or the demo agents, on one port.

mod announce;
mod demo;
mod plan;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use chancery::Running;
use chancery_config::{BINDINGS, Config, VERSIONS, Watch, default_file, duration};
use chancery_core::Binding;
use clap::Args;

pub(crate) use self::plan::TASKS;
use self::plan::{Plan, Rules};
use crate::{
    agents::{self, Children, Made, settings},
    context::Context,
    log,
    print::Printer,
    trouble::Trouble,
};

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
        return Ok(printer.write(&default_file())?);
    }
    let children = Children::default();
    let plan = arguments.plan(&children)?;
    if arguments.check {
        return Ok(printer.write(&format!("Config: {} is good: {}\n", plan.source, names(&plan.agents)))?);
    }
    let said = plan.config.as_ref().map(|config| config.log);
    let json = arguments.log.as_ref().map_or_else(|| said.is_some_and(|log| log.json), |form| form == "json");
    let level = arguments.log_level.as_deref().unwrap_or(said.map(|log| log.level).unwrap_or_default().as_str());
    let level = level.parse().context("the level of the log")?;
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
    let mut stop = std::pin::pin!(chancery::stop_signal());
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
        match running.sign(changed.signing.as_ref().and_then(settings::signing)) {
            Ok(()) => tracing::info!("the cards are signed as the file says now"),
            Err(error) => tracing::error!(%error, "the cards could not be signed"),
        }
    }
    if same != *current {
        tracing::warn!(
            "only agents and the keys of their cards are changed while the server runs; start it again for the rest of the file"
        );
    }
    let made = agents::build(changed, children, &plan.here);
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

fn names(agents: &[Made]) -> String {
    agents.iter().map(|agent| format!("{} at {}", agent.name, agent.path)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod guide;

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
