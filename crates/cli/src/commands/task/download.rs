//! `a2a task download`: what a task produced, as files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery_core::{Artifact, Bytes, Content, GetTask, Part};
use chancery_net::{Client, FetchError, Guard, Options, Reach};
use serde_json::json;

use crate::{
    args::Download,
    connect::{self, Agent},
    context::Context,
    media,
    print::task::name,
    trouble::{Trouble, with_cause},
    wait::Wait,
};

/// Bytes of a file that is fetched.
const FETCHED: usize = 1_024 * 1_024 * 1_024;
/// How long fetching a file may take, whatever was said.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// A file that was written.
struct Saved {
    path: PathBuf,
    artifact: String,
    media_type: String,
    size: usize,
}

pub(crate) async fn run(context: &Context, args: &Download) -> Result<(), Trouble> {
    let agent = connect::agent(context).await?;
    let mut wait = Wait::new(context, &agent)?;
    let caller = agent.caller(context);
    let mut get = GetTask::new(args.id.as_str());
    get.history_length = Some(0);
    let asked = wait.call(agent.client.get_task(&caller, get)).await;
    let task = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| agent.trouble(context, error))?;
    let wanted = |artifact: &&Artifact| args.artifact.is_empty() || args.artifact.iter().any(|id| *id == artifact.artifact_id.as_str());
    let artifacts: Vec<_> = task.artifacts.iter().filter(wanted).collect();
    if artifacts.is_empty() {
        context.notes.warning(if task.artifacts.is_empty() { "the task has no artifacts" } else { "the task has no such artifact" });
    }
    let mut folder = Folder::new(args)?;
    let mut saved = Vec::new();
    for artifact in artifacts {
        for (at, part) in artifact.parts.iter().enumerate() {
            let (content, ending) = content(context, &agent, args, part).await?;
            let path = folder.save(&title(artifact, part, at), ending, &content)?;
            let media_type = media_type(part, &content);
            saved.push(Saved { path, artifact: artifact.artifact_id.to_string(), media_type, size: content.len() });
        }
    }
    print(context, &saved)
}

fn print(context: &Context, saved: &[Saved]) -> Result<(), Trouble> {
    let one = |file: &Saved| json!({"path": file.path, "artifactId": file.artifact, "mediaType": file.media_type, "size": file.size});
    let files: Vec<_> = saved.iter().map(one).collect();
    context.printer.result(&json!({"files": files}), |text| {
        for file in saved {
            text.field("File", &format!("{} ({}, {} bytes)", file.path.display(), file.media_type, file.size));
        }
        text.field("Total", &saved.len().to_string());
    })
}

/// The bytes of a part, and the ending for a file that has none.
async fn content(context: &Context, agent: &Agent, args: &Download, part: &Part) -> Result<(Bytes, String), Trouble> {
    let or = |ending: &str| media::ending(&part.media_type).unwrap_or(ending).to_owned();
    Ok(match &part.content {
        Content::Text(text) => (Bytes::from(text.clone()), "txt".to_owned()),
        Content::Data(value) => (Bytes::from(serde_json::to_vec_pretty(value).unwrap_or_default()), "json".to_owned()),
        Content::Raw(bytes) => (bytes.clone(), or("bin")),
        Content::Url(url) if args.fetch => (fetch(context, agent, url).await?, or("bin")),
        Content::Url(url) => (Bytes::from(format!("{url}\n")), "url".to_owned()),
    })
}

fn media_type(part: &Part, content: &[u8]) -> String {
    match &part.content {
        _ if !part.media_type.is_empty() => part.media_type.clone(),
        Content::Data(_) => "application/json".to_owned(),
        _ => media::by_content(content).to_owned(),
    }
}

/// Fetches a file without credentials. The agent names it, so it must not lead into our own network, unless
/// the agent itself is there.
async fn fetch(context: &Context, agent: &Agent, url: &str) -> Result<Bytes, Trouble> {
    let refused = |why: String| Trouble::usage(format!("{url} is not fetched: {why}")).hint("leave --fetch out to save the URL itself");
    let near = addresses(&agent.client.url()).await;
    let mut guard = Guard::new().loopback(near.iter().any(std::net::IpAddr::is_loopback));
    for address in near {
        if let Ok(network) = format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 }).parse() {
            guard = guard.allow(network);
        }
    }
    let options = Options::new().connect_timeout(context.settings.connect_timeout).timeout(context.call_limit().min(LONGEST));
    let client = Client::new(Reach::Guarded(guard), &options).map_err(|error| Trouble::internal(with_cause(&error)))?;
    client.fetch(url, FETCHED).await.map(Bytes::from).map_err(|error| match error {
        FetchError::Blocked(why) => refused(why.to_string()),
        FetchError::Unreachable(cause) => Trouble::unreachable(format!("a file cannot be fetched: {}", with_cause(&cause)))
            .hint("leave --fetch out to save the URL itself"),
        FetchError::Status(status) => {
            Trouble::internal(format!("{url} was answered with status {}", status.as_u16())).status(status.as_u16())
        }
        FetchError::Body(error) => Trouble::unreachable(format!("{url} broke off: {}", with_cause(&error))),
        error => Trouble::unreachable(with_cause(&error)),
    })
}

/// Where the agent itself lives.
async fn addresses(url: &str) -> Vec<std::net::IpAddr> {
    let text = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let Some((host, port)) = url::Url::parse(&text).ok().and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)))
    else {
        return Vec::new();
    };
    let host = host.trim_matches(['[', ']']).to_owned();
    tokio::net::lookup_host((host, port)).await.map(|found| found.map(|address| address.ip()).collect()).unwrap_or_default()
}

/// What a file is to be called.
fn title(artifact: &Artifact, part: &Part, at: usize) -> String {
    let named = safe(&part.filename);
    if !named.is_empty() {
        return named;
    }
    let artifact = safe(name(artifact));
    let artifact = if artifact.is_empty() { "artifact".to_owned() } else { artifact };
    if at == 0 { artifact } else { format!("{artifact}-{}", at + 1) }
}

/// The last component of a name, without what no name of a file should have.
fn safe(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|c| !c.is_control()).collect();
    let clean = clean.trim().trim_start_matches('.').to_owned();
    if clean.chars().all(|c| c == '.') { String::new() } else { clean }
}

/// Where files go.
struct Folder<'a> {
    root: &'a Path,
    force: bool,
    /// Names of this run, so that no file replaces another one of it.
    taken: BTreeSet<String>,
}

impl<'a> Folder<'a> {
    fn new(args: &'a Download) -> Result<Self, Trouble> {
        let made = std::fs::create_dir_all(&args.output_dir);
        made.map_err(|error| Trouble::usage(format!("--output-dir: {} cannot be made: {error}", args.output_dir.display())))?;
        Ok(Self { root: &args.output_dir, force: args.force, taken: BTreeSet::new() })
    }

    /// Writes a file, under another name if another one of this run has its name.
    fn save(&mut self, title: &str, ending: String, content: &[u8]) -> Result<PathBuf, Trouble> {
        let (stem, ending) = match title.rsplit_once('.') {
            // A reference to a file is not the file.
            Some((stem, own)) if !stem.is_empty() && ending != "url" => (stem.to_owned(), own.to_owned()),
            _ => (title.to_owned(), ending),
        };
        let numbered = |number: usize| if number == 1 { format!("{stem}.{ending}") } else { format!("{stem}-{number}.{ending}") };
        let name = (1..).map(numbered).find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        let path = self.root.join(name);
        self.write(&path, content).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Trouble::usage(format!("{} is there already", path.display()))
                .hint("add --force to replace it, or choose another --output-dir"),
            _ => crate::files::unwritable(&path, "", &error),
        })?;
        Ok(path)
    }

    fn write(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        options.write(true);
        // Without leave to replace, not even a file that appears this very moment is touched.
        let mut file = if self.force { options.create(true).truncate(true).open(path)? } else { options.create_new(true).open(path)? };
        file.write_all(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_the_folder() {
        for (name, expected) in
            [("../../etc/passwd", "passwd"), ("a\u{1b}[2Jb.txt", "a[2Jb.txt"), ("..", ""), (".env", "env"), ("C:\\x\\y.doc", "y.doc")]
        {
            assert_eq!(safe(name), expected, "{name}");
        }
    }

    #[test]
    fn names_that_clash_are_numbered_and_files_are_kept() {
        let folder = crate::folder::Folder::new();
        let root = folder.path("out");
        std::fs::create_dir_all(&root).unwrap();
        let mut files = Folder { root: &root, force: false, taken: BTreeSet::new() };
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(name(files.save("a", "txt".to_owned(), b"1").unwrap()), "a.txt");
        assert_eq!(name(files.save("a", "txt".to_owned(), b"2").unwrap()), "a-2.txt");
        assert_eq!(name(files.save("b.csv", "bin".to_owned(), b"3").unwrap()), "b.csv");
        assert_eq!(name(files.save("c.png", "url".to_owned(), b"4").unwrap()), "c.png.url");
        let mut again = Folder { root: &root, force: false, taken: BTreeSet::new() };
        assert_eq!(again.save("a", "txt".to_owned(), b"5").unwrap_err().exit, 2);
        again = Folder { root: &root, force: true, taken: BTreeSet::new() };
        assert!(again.save("a", "txt".to_owned(), b"5").is_ok());
    }
}
