//! Doubles as text: ECMAScript's way (RFC 8785) and Python's.

use serde_json::json;

/// The shortest digits that name this double and no other, and the place of the decimal point: 0.`digits` × 10^`point`.
struct Decimal {
    digits: String,
    point: i32,
}

/// As `JSON.stringify` writes it.
pub(crate) fn ecmascript(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let Decimal { digits, point } = shortest(value);
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let text = if length <= point && point <= 21 {
        digits + &zeros(point - length)
    } else if 0 < point && point <= 21 {
        split(&digits, point)
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let exponent = point - 1;
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{}", mantissa(&digits), exponent.abs())
    };
    if value < 0.0 { format!("-{text}") } else { text }
}

/// As Python's `repr` writes a float.
pub(crate) fn python(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0" } else { "0.0" }.to_owned();
    }
    let Decimal { digits, point } = shortest(value);
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let text = if -4 < point && point <= 16 {
        if point <= 0 {
            format!("0.{}{digits}", zeros(-point))
        } else if length <= point {
            format!("{digits}{}.0", zeros(point - length))
        } else {
            split(&digits, point)
        }
    } else {
        let exponent = point - 1;
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", mantissa(&digits), exponent.abs())
    };
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Whether a program that keeps numbers as doubles writes the same number again.
pub(crate) fn survives(literal: &str, value: f64) -> bool {
    let integer = !literal.contains(['.', 'e', 'E']);
    if integer && value.abs() > 9_007_199_254_740_991.0 {
        return false;
    }
    let (written, kept) = (decimal(literal), shortest(value));
    written.digits == kept.digits && (written.digits.is_empty() || written.point == kept.point)
}

/// By serde_json, because of two candidates that are equally near it takes the even one, as ECMAScript and Python do. The standard library
/// takes the upper.
fn shortest(value: f64) -> Decimal {
    decimal(&json!(value.abs()).to_string())
}

/// The significant digits of a decimal literal.
fn decimal(literal: &str) -> Decimal {
    let literal = literal.trim_start_matches('-');
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0').to_owned();
    // An exponent beyond these numbers has been refused, or means zero.
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let places = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    Decimal { digits, point: places(whole.len()).saturating_sub(places(leading)).saturating_add(exponent) }
}

fn split(digits: &str, point: i32) -> String {
    let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
    format!("{whole}.{fraction}")
}

fn mantissa(digits: &str) -> String {
    if digits.len() == 1 { digits.to_owned() } else { split(digits, 1) }
}

fn zeros(count: i32) -> String {
    "0".repeat(usize::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SC-16: the numbers of RFC 8785, appendix B.
    #[test]
    fn doubles_are_written_as_ecmascript_writes_them() {
        let cases: [(u64, &str); 22] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, text) in cases {
            assert_eq!(ecmascript(f64::from_bits(bits)), text, "{bits:x}");
        }
    }

    #[test]
    fn doubles_are_written_as_python_writes_them() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456_789.25, "123456789.25"),
            (1e15, "1000000000000000.0"),
            (9.999e15, "9999000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
        ];
        for (value, text) in cases {
            assert_eq!(python(value), text);
        }
    }

    /// SC-15
    #[test]
    fn a_literal_survives_when_the_double_is_written_the_same() {
        for literal in ["0", "-0", "0.0", "0.1", "1e21", "1.50", "100", "9007199254740991", "12345.678e-3", "5e-324"] {
            assert!(survives(literal, literal.parse().unwrap()), "{literal}");
        }
        for literal in ["9007199254740993", "9007199254740992", "0.1000000000000000055511151231257827", "3.14159265358979323846", "1e-400"]
        {
            assert!(!survives(literal, literal.parse().unwrap()), "{literal}");
        }
    }
}
