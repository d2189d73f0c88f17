//! Free JSON and points in time, to and from the types of `google.protobuf`.
//!
//! Protobuf knows one kind of number, the double. Whole numbers within ±2^53, where doubles are
//! exact, come back as integers; larger integers lose digits on the way out. What JSON has no number
//! for (NaN and the infinities, which the protocol forbids in a `Value`) is read as `null`, as
//! JavaScript writes it.
//!
//! The functions recurse as deep as the value is nested. Messages from a peer cannot exceed the 100
//! levels at which prost stops decoding, JSON cannot exceed the 128 at which `serde_json` does.

use chancery_core::{Object, Timestamp};
use prost_types::{ListValue, Struct, Value as ProtoValue, value::Kind};
use serde_json::{Map, Number, Value};

/// An object as a `Struct`.
pub(crate) fn object_to_struct(object: &Map<String, Value>) -> Struct {
    Struct { fields: object.iter().map(|(key, value)| (key.clone(), value_to_proto(value))).collect() }
}

/// An object as a `Struct` that is left out when it is empty.
pub(crate) fn filled_struct(object: &Object) -> Option<Struct> {
    (!object.is_empty()).then(|| object_to_struct(object))
}

/// A `Struct` as an object.
pub(crate) fn struct_to_object(message: Struct) -> Object {
    message.fields.into_iter().map(|(key, value)| (key, value_from_proto(value))).collect()
}

/// Any JSON value as a `Value`.
pub(crate) fn value_to_proto(value: &Value) -> ProtoValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(*flag),
        // Every number of serde_json has a nearest double.
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(items) => Kind::ListValue(ListValue { values: items.iter().map(value_to_proto).collect() }),
        Value::Object(members) => Kind::StructValue(object_to_struct(members)),
    };
    ProtoValue { kind: Some(kind) }
}

/// A `Value` as JSON; one that holds nothing is `null`.
pub(crate) fn value_from_proto(value: ProtoValue) -> Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(flag)) => Value::Bool(flag),
        Some(Kind::NumberValue(number)) => from_double(number),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(value_from_proto).collect(),
        Some(Kind::StructValue(members)) => struct_to_object(members).into(),
    }
}

/// Up to here every whole double stands for one integer only.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn from_double(number: f64) -> Value {
    let negative_zero = number == 0.0 && number.is_sign_negative();
    if number.fract() == 0.0 && number.abs() <= EXACT && !negative_zero {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number within 2^53 is an i64")]
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// A point in time as protobuf writes it.
pub(crate) fn timestamp_to_proto(at: Timestamp) -> prost_types::Timestamp {
    let (seconds, nanos) = at.unix();
    prost_types::Timestamp { seconds, nanos }
}

/// A point in time of a peer; `None` when it lies outside the years 1 to 9999.
pub(crate) fn timestamp_from_proto(at: prost_types::Timestamp) -> Option<Timestamp> {
    // JavaScript counts backwards from 1970 in both fields, which protobuf forbids and we understand.
    let (seconds, nanos) =
        if at.nanos < 0 { (at.seconds.checked_sub(1)?, at.nanos.checked_add(1_000_000_000)?) } else { (at.seconds, at.nanos) };
    Timestamp::from_unix(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_comes_back_as_it_was() {
        let value = json!({
            "null": null, "flag": true, "text": "5", "empty": {}, "list": [1, [2.5], {"k": []}],
            "whole": -7, "exact": 9_007_199_254_740_992_i64, "large": 1e300, "zero": 0, "negative zero": -0.0,
        });
        assert_eq!(value_from_proto(value_to_proto(&value)), value);
    }

    #[test]
    fn numbers_that_json_has_not_are_null() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(value_from_proto(ProtoValue { kind: Some(Kind::NumberValue(number)) }), Value::Null);
        }
        assert_eq!(value_from_proto(ProtoValue { kind: None }), Value::Null);
    }

    #[test]
    fn a_time_outside_of_all_years_is_none() {
        let at = Timestamp::from_unix(1_772_442_907, 412_000_001).unwrap();
        assert_eq!(timestamp_from_proto(timestamp_to_proto(at)), Some(at));
        assert_eq!(timestamp_from_proto(prost_types::Timestamp { seconds: i64::MAX, nanos: 0 }), None);
        assert_eq!(timestamp_from_proto(prost_types::Timestamp { seconds: i64::MIN, nanos: -1 }), None);
        let before = Timestamp::from_unix(-2, 500_000_000);
        assert_eq!(timestamp_from_proto(prost_types::Timestamp { seconds: -1, nanos: -500_000_000 }), before);
    }
}
