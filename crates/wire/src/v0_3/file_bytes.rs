//! Inline bytes in the protobuf shape: most peers put base64 text into the bytes field, some the
//! bytes themselves (V03-REST-005, V03-GRPC-004).

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use chancery_core::{Bytes, FileBytes, json};

/// Padding is demanded: that is what tells base64 text from other text.
const PADDED: GeneralPurpose = GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// The value of the bytes field for this content.
pub(in crate::v0_3) fn pack(content: &Bytes, form: FileBytes) -> Bytes {
    match form {
        FileBytes::Double => json::to_base64(content).into(),
        FileBytes::Single => content.clone(),
    }
}

/// The content of a bytes field, and the form it was in; the empty field has neither.
pub(in crate::v0_3) fn unpack(field: Bytes) -> (Bytes, Option<FileBytes>) {
    if field.is_empty() {
        return (field, None);
    }
    match PADDED.decode(&field) {
        Ok(content) => (content.into(), Some(FileBytes::Double)),
        Err(_) => (field, Some(FileBytes::Single)),
    }
}

/// The form of a peer that was seen to use these forms. Text that only looks like base64 passes
/// for the double form, so a single form is the better proof.
pub(in crate::v0_3) fn either(one: Option<FileBytes>, other: Option<FileBytes>) -> Option<FileBytes> {
    match (one, other) {
        (Some(FileBytes::Single), _) | (_, Some(FileBytes::Single)) => Some(FileBytes::Single),
        _ => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V03-REST-005, V03-GRPC-004.
    #[test]
    fn the_form_is_known_by_its_content() {
        let cases: [(&'static [u8], &'static [u8], Option<FileBytes>); 6] = [
            (b"aGk=", b"hi", Some(FileBytes::Double)),
            (b"hi", b"hi", Some(FileBytes::Single)),
            (b"aGk", b"aGk", Some(FileBytes::Single)),
            (b"aG=k", b"aG=k", Some(FileBytes::Single)),
            (b"\xff\xfe\xfd\xfc", b"\xff\xfe\xfd\xfc", Some(FileBytes::Single)),
            (b"", b"", None),
        ];
        for (field, content, form) in cases {
            assert_eq!(unpack(Bytes::from_static(field)), (Bytes::from_static(content), form), "{field:?}");
        }
        for form in [FileBytes::Double, FileBytes::Single] {
            let content = Bytes::from_static(b"hi");
            assert_eq!(unpack(pack(&content, form)), (content, Some(form)));
        }
    }

    #[test]
    fn a_single_form_decides() {
        assert_eq!(either(None, None), None);
        assert_eq!(either(Some(FileBytes::Double), None), Some(FileBytes::Double));
        assert_eq!(either(Some(FileBytes::Double), Some(FileBytes::Single)), Some(FileBytes::Single));
    }
}
