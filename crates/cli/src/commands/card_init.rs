//! `a2a card init`: a valid card to begin with.

use chancery_config::BINDINGS;
use chancery_core::{
    Binding, Card, Interface, Skill, Version,
    security::{
        ApiKeyLocation, ApiKeyScheme, ClientCredentialsFlow, HttpAuthScheme, MutualTlsScheme, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme,
        SecurityRequirement, SecurityScheme,
    },
};
use serde_json::Value;

use crate::{
    args::{CardFor, CardInit, CardWith},
    card,
    context::Context,
    trouble::Trouble,
};

/// What stands where something is to be filled in.
const MARK: &str = "TODO";

/// Writes a card; what was not said is marked in it, and named on stderr.
pub(crate) async fn run(context: &Context, args: &CardInit) -> Result<(), Trouble> {
    let base = match &args.from {
        Some(reference) => Some(card::find(&context.with_agent(reference)?).await?.card),
        None => None,
    };
    let mut made = Made { card: base.unwrap_or_else(|| Card::new("", "")), missing: Vec::new() };
    // They are of another card.
    made.card.signatures.clear();
    made.fill(args)?;
    for (member, flag) in &made.missing {
        context.notes.say(&format!("Placeholder: {member} ({flag})"));
    }
    let document = match args.version {
        CardFor::Current => serde_json::to_value(&made.card),
        CardFor::Older => serde_json::to_value(chancery_wire::card::v0_3(&made.card)),
        CardFor::Both => serde_json::to_value(chancery_wire::card::merged(&made.card)),
    };
    let document: Value = document.map_err(|error| Trouble::internal(format!("the card is no JSON: {error}")))?;
    match &args.out {
        None => context.printer.document(&document),
        Some(file) => {
            let mut options = std::fs::OpenOptions::new();
            let opened = options.write(true).create_new(true).open(file);
            let written = opened.and_then(|mut file| std::io::Write::write_all(&mut file, format!("{document:#}\n").as_bytes()));
            written.map_err(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    Trouble::usage(format!("{} is there already", file.display())).hint("remove it, or choose another name with -O")
                }
                _ => crate::files::unwritable(file, "", &error),
            })?;
            context.notes.say(&format!("Written: {}", file.display()));
            Ok(())
        }
    }
}

/// A card under construction.
struct Made {
    card: Card,
    /// What is a placeholder, and the flag that says it.
    missing: Vec<(String, &'static str)>,
}

impl Made {
    fn fill(&mut self, args: &CardInit) -> Result<(), Trouble> {
        let name = self.text(args.name.as_ref(), "name", "--name", |card| &mut card.name, "name of the agent");
        self.text(args.description.as_ref(), "description", "--description", |card| &mut card.description, "what the agent does");
        self.interfaces(args)?;
        for skill in &args.skill {
            let (id, title) = skill.split_once(':').unwrap_or((skill, skill));
            if id.is_empty() || title.is_empty() {
                return Err(Trouble::usage(format!("--skill {skill:?} is not ID:NAME")).hint("--skill summarize:\"Summarizes texts\""));
            }
            self.card.skills.retain(|known| known.id != id);
            self.card.skills.push(Skill::new(id, title).named(title));
        }
        if self.card.skills.is_empty() {
            self.card
                .skills
                .push(Skill::new(MARK.to_lowercase(), format!("{MARK}: what it does for {name}")).named(format!("{MARK}: a skill")));
            self.missing.push(("skills".to_owned(), "--skill ID:NAME"));
        }
        if let Some(with) = args.auth {
            self.card.security_schemes.clear();
            let (name, scheme) = self.scheme(with);
            self.card.security_schemes.insert(name.to_owned(), scheme);
            self.card.security_requirements = vec![SecurityRequirement::new().and(name, Vec::<String>::new())];
        }
        Ok(())
    }

    fn text(
        &mut self,
        said: Option<&String>,
        member: &str,
        flag: &'static str,
        of: impl Fn(&mut Card) -> &mut String,
        what: &str,
    ) -> String {
        let slot = of(&mut self.card);
        match said {
            Some(said) => slot.clone_from(said),
            None if slot.is_empty() => {
                *slot = format!("{MARK}: {what}");
                self.missing.push((member.to_owned(), flag));
            }
            None => {}
        }
        of(&mut self.card).clone()
    }

    fn interfaces(&mut self, args: &CardInit) -> Result<(), Trouble> {
        if args.url.is_none() && args.binding.is_empty() && !self.card.supported_interfaces.is_empty() {
            return Ok(());
        }
        let known = |name: &String| {
            let short = BINDINGS.iter().find(|(known, _)| known == name).map(|(_, binding)| *binding);
            short
                .or_else(|| Binding::from_name(name))
                .ok_or_else(|| Trouble::usage(format!("--binding {name} is none")).hint("jsonrpc, rest or grpc"))
        };
        let bindings: Vec<Binding> = args.binding.iter().map(known).collect::<Result<_, _>>()?;
        let bindings = if bindings.is_empty() { vec![Binding::JsonRpc] } else { bindings };
        let url = args.url.clone().unwrap_or_else(|| {
            self.missing.push(("supportedInterfaces".to_owned(), "--url"));
            // A name that nobody will ever have.
            format!("https://{}.invalid/", MARK.to_lowercase())
        });
        let versions: &[Version] = match args.version {
            CardFor::Current => &[Version::V1_0],
            CardFor::Older => &[Version::V0_3],
            CardFor::Both => &[Version::V1_0, Version::V0_3],
        };
        let place = |version: &Version, binding: &Binding| {
            let bare = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            let url = if *binding == Binding::Grpc { bare.split('/').next().unwrap_or(bare) } else { url.as_str() };
            Interface::new(url, binding.as_str(), version.as_str())
        };
        self.card.supported_interfaces =
            versions.iter().flat_map(|version| bindings.iter().map(|binding| place(version, binding)).collect::<Vec<_>>()).collect();
        Ok(())
    }

    fn scheme(&mut self, with: CardWith) -> (&'static str, SecurityScheme) {
        let mut marked = |member: &str, path: &str| {
            self.missing.push((format!("securitySchemes.{member}"), "edit the file"));
            format!("https://{}.invalid/{path}", MARK.to_lowercase())
        };
        match with {
            CardWith::Bearer => ("bearer", SecurityScheme::HttpAuth(HttpAuthScheme::new("Bearer", ""))),
            CardWith::ApiKey => ("key", SecurityScheme::ApiKey(ApiKeyScheme::new(ApiKeyLocation::Header, "X-API-Key"))),
            CardWith::Mtls => ("mtls", SecurityScheme::MutualTls(MutualTlsScheme::default())),
            CardWith::Oidc => {
                let url = marked("oidc.openIdConnectUrl", ".well-known/openid-configuration");
                ("oidc", SecurityScheme::OpenIdConnect(OpenIdConnectScheme::new(url)))
            }
            CardWith::Oauth2 => {
                let mut flow = ClientCredentialsFlow::default();
                flow.token_url = marked("oauth2.flows.clientCredentials.tokenUrl", "token");
                ("oauth2", SecurityScheme::OAuth2(OAuth2Scheme::new(OAuthFlow::ClientCredentials(flow))))
            }
        }
    }
}
