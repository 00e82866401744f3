//! Against OpenSSL's command line, over a loopback socket that the test pumps.

mod common;

use common::{Authority, NAME, plan, sides};
use session::plan::{Content, Identity, ServerIdentity, TlsPlan, TlsVerify};
use session::secure::{Agreed, Secure, SecureError};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use units::Nanos;

const PATIENCE: Duration = Duration::from_secs(10);

/// A temporary folder, removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("eagre-tls-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// OpenSSL, stopped with the test.
struct OpenSsl(Child);

impl OpenSsl {
    fn start(arguments: &[&str]) -> Self {
        let child = Command::new("openssl")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is installed (tools/setup test)");
        Self(child)
    }

    /// All its output until its end.
    fn said(mut self) -> String {
        let mut text = String::new();
        self.0.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
        text
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Moves bytes between a flow and a socket until `done`, an error, or the socket's end.
fn pump(
    flow: &mut dyn Secure,
    socket: &mut TcpStream,
    plain: &mut Vec<u8>,
    mut done: impl FnMut(&mut dyn Secure, &[u8]) -> bool,
) -> Result<(), SecureError> {
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let end = Instant::now() + PATIENCE;
    let mut buffer = [0; 16_384];
    while Instant::now() < end {
        let mut out = Vec::new();
        flow.take_output(&mut out);
        if socket.write_all(&out).is_err() || done(flow, plain) {
            flow.take_output(&mut out);
            return Ok(());
        }
        match socket.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => {
                let outcome = flow.receive(Nanos::ZERO, &buffer[..len], plain);
                if outcome.is_err() {
                    let mut alert = Vec::new();
                    flow.take_output(&mut alert);
                    let _ = socket.write_all(&alert);
                    return outcome;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return Ok(()),
        }
    }
    panic!("nothing happened for {PATIENCE:?}; so far: {}", String::from_utf8_lossy(plain));
}

/// A port that is most likely unused.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

fn connect(port: u16) -> TcpStream {
    let end = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(socket) => return socket,
            Err(error) if Instant::now() > end => panic!("no server at {port}: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// `openssl s_server -www` responds to a request with a page about the connection.
struct Server {
    _process: OpenSsl,
    _folder: Folder,
    port: u16,
}

impl Server {
    fn start(identity: &Identity, more: &[&str]) -> Self {
        let folder = Folder::new();
        let port = free_port();
        let (cert, key) = (folder.file("cert.pem", &identity.chain), folder.file("key.pem", &identity.key));
        let accept = format!("127.0.0.1:{port}");
        let mut arguments = vec!["s_server", "-accept", &accept, "-cert", &cert, "-key", &key, "-www"];
        arguments.extend_from_slice(more);
        Self { _process: OpenSsl::start(&arguments), _folder: folder, port }
    }

    fn fetch(&self, flow: &mut dyn Secure) -> Result<(Agreed, String), SecureError> {
        let mut page = Vec::new();
        flow.send(b"GET / HTTP/1.0\r\n\r\n");
        let mut socket = connect(self.port);
        pump(flow, &mut socket, &mut page, |flow, _| flow.peer_closed())?;
        Ok((flow.agreed().expect("agreed"), String::from_utf8_lossy(&page).into_owned()))
    }
}

fn only(version: &str) -> TlsPlan {
    let mut plan = plan();
    (plan.tls12, plan.tls13) = (version == "1.2", version == "1.3");
    plan
}

#[test]
fn their_server_takes_our_client() {
    let authority = Authority::new("good");
    let identity = authority.signs(NAME, |_| {});
    let server = Server::start(&identity, &[]);
    for (version, theirs) in [("1.2", "TLSv1.2"), ("1.3", "TLSv1.3")] {
        let mut plan = only(version);
        plan.client.verify = TlsVerify::Roots(authority.pem.clone());
        plan.client.resumption = Some(8);
        let mut client = sides(plan.clone()).client().expect("a client");
        for number in 0..3 {
            let (agreed, page) = server.fetch(&mut *client.start(Nanos::ZERO, number)).expect("a page");
            assert_eq!((agreed.version, agreed.resumed), (version, number > 0));
            let kind = if number > 0 { "Reused" } else { "New" };
            assert!(page.contains(kind) && page.contains(theirs), "{page}");
        }
        plan.client.server_name = Some(Content::bytes("another.test"));
        let mut client = sides(plan).client().expect("a client");
        assert_eq!(
            server.fetch(&mut *client.start(Nanos::ZERO, 0)),
            Err(SecureError::Certificate("not valid for name".to_owned()))
        );
    }
}

/// Old devices may know no smaller curve, for the exchange of keys or in certificates.
#[test]
fn their_server_agrees_by_p_521() {
    let authority = Authority::new("good");
    let server = Server::start(&authority.signs(NAME, |_| {}), &["-groups", "P-521"]);
    for version in ["1.2", "1.3"] {
        let mut client = sides(only(version)).client().expect("a client");
        let (agreed, _) = server.fetch(&mut *client.start(Nanos::ZERO, 0)).expect("a page");
        assert_eq!((agreed.version, agreed.group), (version, "secp521r1"));
    }
}

#[test]
fn their_server_demands_a_certificate() {
    let authority = Authority::new("good");
    let folder = Folder::new();
    let root = folder.file("root.pem", &authority.pem);
    let server = Server::start(
        &authority.signs(NAME, |_| {}),
        &["-Verify", "1", "-CAfile", &root, "-verify_return_error"],
    );
    for version in ["1.2", "1.3"] {
        let mut plan = only(version);
        plan.client.identity = Some(authority.signs("client.test", |_| {}));
        let mut client = sides(plan.clone()).client().expect("a client");
        server.fetch(&mut *client.start(Nanos::ZERO, 0)).expect("a page");
        plan.client.identity = None;
        let mut client = sides(plan).client().expect("a client");
        let alert = if version == "1.3" { "certificate_required" } else { "handshake_failure" };
        assert_eq!(server.fetch(&mut *client.start(Nanos::ZERO, 0)), Err(SecureError::AlertReceived(alert)));
    }
}

/// Serves one connection of `openssl s_client` and returns its output.
fn serve(plan: TlsPlan, arguments: &[&str], answer: &[u8]) -> (Result<Option<Agreed>, SecureError>, String) {
    let sides = sides(plan);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("not blocking");
    let address = listener.local_addr().expect("an address").to_string();
    let mut all = vec!["s_client", "-connect", &address, "-servername", NAME];
    all.extend_from_slice(arguments);
    let mut openssl = OpenSsl::start(&all);
    let end = Instant::now() + PATIENCE;
    let mut socket = loop {
        match listener.accept() {
            Ok((socket, _)) => break socket,
            Err(error) if Instant::now() > end => panic!("no client: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    socket.set_nonblocking(false).expect("blocking");
    openssl.0.stdin.take().expect("a pipe").write_all(b"hello server\n").expect("written");
    let mut flow = sides.server().expect("a server").start(Nanos::ZERO, 0);
    let mut plain = Vec::new();
    let mut answered = false;
    let outcome = pump(&mut *flow, &mut socket, &mut plain, |flow, plain| {
        if !answered && plain == b"hello server\n" {
            answered = true;
            flow.send(answer);
            flow.close();
            return false;
        }
        answered
    });
    drop(socket);
    (outcome.map(|()| flow.agreed()), openssl.said())
}

#[test]
fn our_server_takes_their_client() {
    let authority = Authority::new("good");
    let folder = Folder::new();
    let root = folder.file("root.pem", &authority.pem);
    let answer: Vec<u8> = std::iter::repeat_n(b"0123456789abcdef", 20_000).flatten().copied().collect();
    for (version, flag) in [("1.2", "-tls1_2"), ("1.3", "-tls1_3")] {
        let mut plan = plan();
        plan.server.identity = ServerIdentity::Given(authority.signs(NAME, |_| {}));
        plan.server.tickets = 2;
        plan.alpn = vec!["http/1.1".to_owned()];
        let arguments = [
            flag,
            "-CAfile",
            &root,
            "-verify_return_error",
            "-verify_hostname",
            NAME,
            "-alpn",
            "http/1.1",
            "-ign_eof",
        ];
        let (agreed, said) = serve(plan, &arguments, &answer);
        assert_eq!(agreed.expect("no error").expect("agreed").version, version, "{said}");
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
        assert!(said.contains("ALPN protocol: http/1.1"), "{said}");
        assert!(said.contains(std::str::from_utf8(&answer).expect("ASCII")), "{} bytes", said.len());
    }
}

#[test]
fn their_client_tells_us_what_it_does_not_like() {
    let other = Folder::new();
    let root = other.file("root.pem", &Authority::new("other").pem);
    for flag in ["-tls1_2", "-tls1_3"] {
        let (outcome, _) = serve(plan(), &[flag, "-CAfile", &root, "-verify_return_error"], b"");
        // A self-signed certificate that it does not know.
        assert!(
            matches!(outcome, Err(SecureError::AlertReceived("unknown_ca" | "bad_certificate"))),
            "{outcome:?}"
        );
        let mut demanding = plan();
        demanding.server.client_roots = Some(Authority::new("good").pem);
        let (outcome, _) = serve(demanding, &[flag], b"");
        assert_eq!(outcome, Err(SecureError::Certificate("none presented".to_owned())));
    }
}
