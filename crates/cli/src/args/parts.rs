//! The part flags of `send`: each may repeat, and their order is the order of the parts.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// One flag as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    Text,
    File,
    Data,
    MediaType,
}

/// All part flags, in their order on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts(pub(crate) Vec<(Flag, String)>);

const FLAGS: [(Flag, &str, &str, &str, &str); 4] = [
    (Flag::Text, "text", "text-part", "TEXT", "A text part"),
    (Flag::File, "file", "file-part", "PATH|URL|-", "A file: read and sent inline; a URL is passed on as it is"),
    (Flag::Data, "data", "data-part", "PATH|-|JSON", "A part of JSON: inline if it begins with { or [, else a file, - for stdin"),
    (Flag::MediaType, "media-type", "", "TYPE", "The media type of the part before it"),
];

impl FromArgMatches for Parts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found = Vec::new();
        for (flag, name, ..) in FLAGS {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(places.zip(values).map(|(place, value)| (place, (flag, value.clone()))));
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(Self(found.into_iter().map(|(_, part)| part).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Parts {
    fn augment_args(command: Command) -> Command {
        FLAGS.into_iter().fold(command, |command, (_, name, later, value, help)| {
            let arg = Arg::new(name).long(name).value_name(value).help(help).action(ArgAction::Append).allow_hyphen_values(true);
            // A later spelling of the same.
            command.arg(if later.is_empty() { arg } else { arg.alias(later) })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
