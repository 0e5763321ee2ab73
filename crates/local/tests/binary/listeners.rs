//! Every port that the process opens refuses web pages.
use crate::{Running, http};

/// Ports on which a process listens, from its open sockets.
#[cfg(target_os = "linux")]
fn ports(process: u32) -> std::collections::BTreeSet<u16> {
    use std::fs;

    let sockets: Vec<_> = fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .filter_map(|file| fs::read_link(file.unwrap().path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap());
    let mut ports = std::collections::BTreeSet::new();
    for row in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let columns: Vec<_> = row.split_ascii_whitespace().collect();
        // 0A means that the socket listens.
        if columns[3] == "0A" && sockets.iter().any(|socket| socket == columns[9]) {
            ports.insert(u16::from_str_radix(columns[1].rsplit_once(':').unwrap().1, 16).unwrap());
        }
    }
    ports
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_opens_only_ports_that_refuse_web_pages() {
    let running = Running::start(&[]).await;
    let ports = ports(running.child.id().unwrap());
    let known = [&running.api, &running.dynamodb, &running.services];
    assert_eq!(ports.len(), known.len(), "{ports:?}");
    for port in ports {
        for page in ["https://example.com", "null"] {
            let request = http().post(format!("http://127.0.0.1:{port}/")).header("origin", page);
            let scan = request.header("x-amz-target", "DynamoDB_20120810.Scan").body("{}").send().await.unwrap();
            assert_eq!(scan.status(), 403, "{port}");
            assert!(!scan.headers().contains_key("access-control-allow-origin"), "{port}");
        }
    }
}

#[tokio::test]
async fn health_is_ok_only_with_the_sample() {
    // Another process may take the free port before the stack does.
    let (_child, url) = loop {
        if let Some(running) = healthy(free_port()).await {
            break running;
        }
    };
    let account = format!("{url}/ledger/accounts/e4ceeb59-552e-8690-9301-f64e44907c84");
    let account = http().get(account).send().await.unwrap().text().await.unwrap();
    assert!(account.contains("1494.50"), "{account}");
}

/// Starts a stack on the port, and waits until its health is ok. `None` if the port is in use.
async fn healthy(port: u16) -> Option<(tokio::process::Child, String)> {
    let mut command = tokio::process::Command::new(crate::BINARY);
    command.args(["run", "--port", &port.to_string(), "--dynamodb-port", "0"]).current_dir(crate::root());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let url = format!("http://127.0.0.1:{port}");
    let health =
        async || http().get(format!("{url}/_local/health")).send().await.is_ok_and(|answer| answer.status() == 200);
    loop {
        if child.try_wait().unwrap().is_some() {
            let error = child.wait_with_output().await.unwrap().stderr;
            let error = String::from_utf8_lossy(&error);
            assert!(error.contains("is already in use"), "the stack ended: {error}");
            return None;
        }
        if health().await {
            return Some((child, url));
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
