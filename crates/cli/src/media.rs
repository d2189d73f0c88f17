//! The media type of a file: by its ending, else by its first bytes.

/// Endings, each with its type.
#[rustfmt::skip]
const ENDINGS: &[(&str, &str)] = &[
    ("txt", "text/plain"), ("log", "text/plain"), ("md", "text/markdown"), ("csv", "text/csv"), ("tsv", "text/tab-separated-values"),
    ("html", "text/html"), ("htm", "text/html"), ("css", "text/css"), ("js", "text/javascript"), ("xml", "application/xml"),
    ("json", "application/json"), ("jsonl", "application/jsonl"), ("yaml", "application/yaml"), ("yml", "application/yaml"),
    ("toml", "application/toml"), ("pdf", "application/pdf"), ("zip", "application/zip"), ("gz", "application/gzip"),
    ("tar", "application/x-tar"), ("wasm", "application/wasm"), ("rtf", "application/rtf"),
    ("doc", "application/msword"), ("xls", "application/vnd.ms-excel"), ("ppt", "application/vnd.ms-powerpoint"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("png", "image/png"), ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp"),
    ("svg", "image/svg+xml"), ("bmp", "image/bmp"), ("tiff", "image/tiff"), ("avif", "image/avif"), ("ico", "image/vnd.microsoft.icon"),
    ("mp3", "audio/mpeg"), ("wav", "audio/wav"), ("ogg", "audio/ogg"), ("flac", "audio/flac"), ("m4a", "audio/mp4"),
    ("mp4", "video/mp4"), ("webm", "video/webm"), ("mov", "video/quicktime"),
];

/// First bytes, each with the type they mean.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
];

/// The type that the ending of a name stands for.
pub(crate) fn by_name(name: &str) -> Option<&'static str> {
    let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
    ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, media_type)| *media_type)
}

/// The type that the bytes look like.
pub(crate) fn by_content(bytes: &[u8]) -> &'static str {
    if let Some((_, media_type)) = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning)) {
        return media_type;
    }
    let is_text = !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    if is_text { "text/plain" } else { "application/octet-stream" }
}

/// The ending for a type, to name a file that has no name.
pub(crate) fn ending(media_type: &str) -> Option<&'static str> {
    let bare = media_type.split(';').next().unwrap_or_default().trim();
    ENDINGS.iter().find(|(_, known)| *known == bare).map(|(ending, _)| *ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_comes_before_the_content() {
        assert_eq!(by_name("report.PDF"), Some("application/pdf"));
        assert_eq!(by_name("x.bin"), None);
        assert_eq!(by_name("pdf"), None);
        assert_eq!(by_content(b"%PDF-1.7"), "application/pdf");
        assert_eq!(by_content(b"hello"), "text/plain");
        assert_eq!(by_content(b"\x00\x01"), "application/octet-stream");
        assert_eq!(ending("text/plain; charset=utf-8"), Some("txt"));
    }
}
