//! A connection that breaks: forwards bytes to a server, and cuts streams where it is told to.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Forwards to `server`. Each stream is cut after this many events; `hide` takes away the events' numbers, except in
/// HTTP/2.
pub async fn cutting(server: SocketAddr, events: usize, hide: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward(client, server, events, hide));
        }
    });
    url
}

async fn forward(client: TcpStream, server: SocketAddr, events: usize, hide: bool) {
    // A server that is gone is a connection that ends.
    let Ok(server) = TcpStream::connect(server).await else { return };
    let mut first = [0; 3];
    let Ok(3) = client.peek(&mut first).await else { return };
    let framed = &first == b"PRI";
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let there = tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let (mut answer, mut sent) = (Vec::new(), 0);
    let mut piece = [0; 4_096];
    while let Ok(length @ 1..) = from_server.read(&mut piece).await {
        answer.extend_from_slice(&piece[..length]);
        if hide && !framed {
            replace(&mut answer, b"\nid: ", b"\nxd: ");
        }
        let end = if framed { frame_end(&answer, events) } else { cut_at(&answer, events) };
        let upto = end.unwrap_or(answer.len());
        if to_client.write_all(&answer[sent..upto]).await.is_err() || end.is_some() {
            break;
        }
        sent = upto;
    }
    there.abort();
}

/// Where to cut: after the frames that may pass, if it is a stream of events.
fn cut_at(answer: &[u8], events: usize) -> Option<usize> {
    let text = String::from_utf8_lossy(answer);
    let head = text.find("\r\n\r\n").filter(|head| text[..*head].contains("text/event-stream"))?;
    let data: Vec<usize> = text[head..].match_indices("data: ").map(|(at, _)| head + at).collect();
    let last = *data.get(events.checked_sub(1)?)?;
    text[last..].find("\n\n").map(|end| last + end + 2)
}

/// Where to cut HTTP/2: after this many frames with data.
fn frame_end(answer: &[u8], events: usize) -> Option<usize> {
    let (mut at, mut seen) = (0, 0);
    while let Some(head) = answer.get(at..at + 9) {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        at += 9 + length;
        seen += usize::from(head[3] == 0 && length > 0);
        if seen == events {
            return (answer.len() >= at).then_some(at);
        }
    }
    None
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    for at in 0..bytes.len().saturating_sub(from.len() - 1) {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
}
