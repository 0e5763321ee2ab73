//! Decoder of `aws-chunked` bodies. Each chunk starts with its length in hexadecimal, and the last
//! chunk is empty. Trailing headers such as checksums follow it.
use super::objects::Fault;

/// Longest line that starts a chunk. It contains the length and a signature.
const MAX_HEAD: usize = 4096;

/// Decoder of a body that arrives in parts.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: State,
    /// Start of a line whose end has not arrived.
    line: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// Number of missing bytes of the chunk.
    Data(usize),
    /// The line break after the data of a chunk.
    Break,
    Trailer,
}

impl Chunks {
    /// Decodes the next part of the body. Calls `data` with each piece of the content.
    pub(super) fn decode(
        &mut self,
        mut part: &[u8],
        data: &mut impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        while !part.is_empty() {
            match self.state {
                State::Trailer => return Ok(()),
                State::Data(missing) => {
                    let (content, rest) = part.split_at(missing.min(part.len()));
                    data(content)?;
                    part = rest;
                    self.state =
                        if content.len() == missing { State::Break } else { State::Data(missing - content.len()) };
                }
                State::Head | State::Break => {
                    let Some(end) = part.iter().position(|byte| *byte == b'\n') else {
                        self.line.extend_from_slice(part);
                        return if self.line.len() > MAX_HEAD { Err(Fault::Invalid) } else { Ok(()) };
                    };
                    self.line.extend_from_slice(&part[..end]);
                    part = &part[end + 1..];
                    self.state = self.after_line()?;
                    self.line.clear();
                }
            }
        }
        Ok(())
    }

    fn after_line(&self) -> Result<State, Fault> {
        let line = self.line.strip_suffix(b"\r").ok_or(Fault::Invalid)?;
        if self.state == State::Break {
            return if line.is_empty() { Ok(State::Head) } else { Err(Fault::Invalid) };
        }
        let length = std::str::from_utf8(line).ok().and_then(|line| line.split(';').next());
        match length.and_then(|length| usize::from_str_radix(length.trim(), 16).ok()) {
            Some(0) => Ok(State::Trailer),
            Some(length) => Ok(State::Data(length)),
            None => Err(Fault::Invalid),
        }
    }

    /// Returns an error if the body ended within a chunk.
    pub(super) fn end(&self) -> Result<(), Fault> {
        if self.state == State::Trailer { Ok(()) } else { Err(Fault::Invalid) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(parts: impl Iterator<Item = impl AsRef<[u8]>>) -> Option<Vec<u8>> {
        let (mut chunks, mut out) = (Chunks::default(), Vec::new());
        for part in parts {
            let mut data = |data: &[u8]| {
                out.extend_from_slice(data);
                Ok(())
            };
            chunks.decode(part.as_ref(), &mut data).ok()?;
        }
        chunks.end().ok().map(|()| out)
    }

    #[test]
    fn decodes_a_chunked_body_in_parts_of_any_size() {
        let body = b"4;chunk-signature=x\r\nab\r\n\r\n3\r\ncde\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        for size in 1..=body.len() {
            assert_eq!(decoded(body.chunks(size)).unwrap(), b"ab\r\ncde", "{size}");
        }
        let long = "1".repeat(5_000);
        for broken in [
            &b""[..],
            b"5\r\nab\r\n0\r\n",
            b"x\r\n",
            b"2\r\nabc\r\n0\r\n",
            b"ffffffffffffffffff\r\nab",
            long.as_bytes(),
        ] {
            for size in [1, 1_000] {
                assert_eq!(decoded(broken.chunks(size)), None, "{}", String::from_utf8_lossy(broken));
            }
        }
    }
}
