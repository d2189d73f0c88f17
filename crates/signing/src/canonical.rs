//! Canonical JSON: RFC 8785, and what Python's `json.dumps` makes with sorted keys.

use serde_json::{Map, Number, Value};

use crate::number;

/// RFC 8785: members by UTF-16 code units, numbers as ECMAScript writes them, nothing escaped that need not be.
pub(crate) fn rfc8785(members: &Map<String, Value>) -> Vec<u8> {
    write(members, Style::Rfc8785)
}

/// `json.dumps(value, sort_keys=True, separators=(",", ":"))`; with `floats` every number is a Python float, as in dictionaries that were
/// protobuf structs.
pub(crate) fn python(members: &Map<String, Value>, floats: bool) -> Vec<u8> {
    write(members, if floats { Style::PythonFloats } else { Style::Python })
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Rfc8785,
    Python,
    PythonFloats,
}

fn write(members: &Map<String, Value>, style: Style) -> Vec<u8> {
    let mut out = String::with_capacity(1024);
    object(&mut out, members, style);
    out.into_bytes()
}

fn value(out: &mut String, from: &Value, style: Style) {
    match from {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(from) => out.push_str(&number(from, style)),
        Value::String(from) => string(out, from, style),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                value(out, item, style);
            }
            out.push(']');
        }
        Value::Object(members) => object(out, members, style),
    }
}

fn object(out: &mut String, members: &Map<String, Value>, style: Style) {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    if style == Style::Rfc8785 {
        sorted.sort_by(|one, other| one.0.encode_utf16().cmp(other.0.encode_utf16()));
    } else {
        // Bytes of UTF-8 have the order of code points.
        sorted.sort_by_key(|(name, _)| *name);
    }
    out.push('{');
    for (index, (name, member)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, name, style);
        out.push(':');
        value(out, member, style);
    }
    out.push('}');
}

fn number(from: &Number, style: Style) -> String {
    let double = from.as_f64().unwrap_or_default();
    match style {
        Style::Rfc8785 => number::ecmascript(double),
        Style::Python if !from.is_f64() => from.to_string(),
        Style::Python | Style::PythonFloats => number::python(double),
    }
}

fn string(out: &mut String, from: &str, style: Style) {
    out.push('"');
    for letter in from.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => unit(out, u16::try_from(u32::from(letter)).unwrap_or_default()),
            ' '..='~' => out.push(letter),
            _ if style == Style::Rfc8785 => out.push(letter),
            _ => letter.encode_utf16(&mut [0; 2]).iter().for_each(|code| unit(out, *code)),
        }
    }
    out.push('"');
}

fn unit(out: &mut String, code: u16) {
    out.push_str(&format!("\\u{code:04x}"));
}

#[cfg(test)]
mod tests {
    use crate::Document;

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: [&str; 3]) {
        let document = Document::parse(json.as_bytes()).unwrap();
        let members = document.members();
        let written = [rfc8785(members), python(members, false), python(members, true)].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(written, expected);
    }

    /// SC-10c, SC-16: the order example of RFC 8785, section 3.2.3, where UTF-16 and code points disagree.
    #[test]
    fn members_are_sorted_by_code_units_or_by_code_points() {
        check(
            r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#,
            [
                "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}",
                r#"{"\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ufb33":3,"\ud83d\ude00":5}"#,
                r#"{"\r":2.0,"1":4.0,"\u0080":6.0,"\u00f6":7.0,"\u20ac":1.0,"\ufb33":3.0,"\ud83d\ude00":5.0}"#,
            ],
        );
    }

    /// SC-16
    #[test]
    fn strings_and_numbers_have_one_spelling() {
        check(
            r#"{"s":"\u0000\u001f\u007f\/\"\\\b\f\n\r\t","n":[1.0, 1e2, -0, 4.50, 0.000001, 1e-7, 333333333.33333329, 1E30, true, null]}"#,
            [
                "{\"n\":[1,100,0,4.5,0.000001,1e-7,333333333.3333333,1e+30,true,null],\"s\":\"\\u0000\\u001f\u{7f}/\\\"\\\\\\b\\f\\n\\r\\t\"}",
                r#"{"n":[1.0,100.0,0,4.5,1e-06,1e-07,333333333.3333333,1e+30,true,null],"s":"\u0000\u001f\u007f/\"\\\b\f\n\r\t"}"#,
                r#"{"n":[1.0,100.0,0.0,4.5,1e-06,1e-07,333333333.3333333,1e+30,true,null],"s":"\u0000\u001f\u007f/\"\\\b\f\n\r\t"}"#,
            ],
        );
    }
}
