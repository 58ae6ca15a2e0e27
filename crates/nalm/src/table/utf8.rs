//! Text in UTF-16 as UTF-8, which is how spreadsheets save "Unicode text".

use std::io::{self, Read};

/// Text as UTF-8: UTF-16 is told by its byte order mark, everything else is given as it is.
pub(super) struct Utf8<R> {
    reader: R,
    order: Order,
    /// Bytes that were read and not yet decoded.
    raw: Vec<u8>,
    /// Text that was decoded and not yet given.
    ready: Vec<u8>,
    at: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Unknown,
    Bytes,
    Little,
    Big,
}

impl<R> Utf8<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, order: Order::Unknown, raw: Vec::new(), ready: Vec::new(), at: 0 }
    }

    /// Decodes what is complete; at the end, everything.
    fn decode(&mut self, end: bool) {
        let unit = |pair: &[u8]| match self.order {
            Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
            _ => u16::from_be_bytes([pair[0], pair[1]]),
        };
        let mut units: Vec<u16> = self.raw.chunks_exact(2).map(unit).collect();
        // The first half of a pair waits for the second one.
        if !end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        self.raw.drain(..2 * units.len());
        let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        (self.ready, self.at) = (text.into_bytes(), 0);
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.at < self.ready.len() {
                let n = (self.ready.len() - self.at).min(buffer.len());
                buffer[..n].copy_from_slice(&self.ready[self.at..self.at + n]);
                self.at += n;
                return Ok(n);
            }
            if self.order == Order::Bytes {
                return self.reader.read(buffer);
            }
            let mut some = [0; 1 << 13];
            let n = self.reader.read(&mut some)?;
            self.raw.extend(&some[..n]);
            if self.order == Order::Unknown {
                self.order = match self.raw.as_slice() {
                    [0xff, 0xfe, ..] => Order::Little,
                    [0xfe, 0xff, ..] => Order::Big,
                    [_] | [] if n > 0 => continue,
                    _ => Order::Bytes,
                };
                if self.order == Order::Bytes {
                    (self.ready, self.at) = (std::mem::take(&mut self.raw), 0);
                    continue;
                }
                self.raw.drain(..2);
            }
            self.decode(n == 0);
            if n == 0 && self.ready.is_empty() {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(buffer.len()).min(self.1);
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn both_orders_are_read_however_they_arrive() {
        let text = "größe;\u{1f980}\n1,5;2\n";
        let units: Vec<u16> = [0xfeff].into_iter().chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [&little[..], &big, text.as_bytes()] {
            for step in [1, 2, 3, 1000] {
                let mut got = String::new();
                Utf8::new(Slow(bytes, step)).read_to_string(&mut got).unwrap();
                assert_eq!(got, text);
            }
        }
        let mut got = Vec::new();
        for (bytes, want) in [(&b"a"[..], &b"a"[..]), (b"", b""), (b"\xff\xfea\0\x3d\xd8b", "a\u{fffd}".as_bytes())] {
            got.clear();
            Utf8::new(bytes).read_to_end(&mut got).unwrap();
            assert_eq!(got, want);
        }
    }
}
