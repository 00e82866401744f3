//! Web servers. The client runs in a separate namespace; a port of the tester is connected to the server, too.

use super::profiles::device;
use super::{LabPaths, Parameters};
use crate::LabError;
use crate::design::Design;
use crate::needs::need;

/// wrk's duration option.
fn seconds(parameters: &Parameters) -> String {
    format!("-d{}", (parameters.duration.0 / 1_000_000_000).max(1))
}

/// nginx's configuration: one process, no log, everything in the lab's folder.
fn nginx_conf(paths: &LabPaths) -> String {
    let folder = paths.folder().display();
    format!(
        "worker_processes 1;
daemon off;
user nobody nogroup;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 80 backlog=4096;
    root {folder};
    default_type text/plain;
    location = / {{ return 200 \"an eagre is a tidal bore\\n\"; }}
    location /objects/ {{ try_files $uri =404; }}
    location = /1k {{ return 200 \"{}\"; }}
  }}
}}
",
        "eagre ".repeat(171)
    )
}

/// Object sizes of session tests: from RFC 9411, and for HTTP transactions in steps.
const OBJECTS: &str = "64 256 512 1024 2048 4096 16384 65536 262144";

/// A profile of clients of ours before a real web server at 10.0.0.1.
fn sessions(parameters: &Parameters) -> String {
    format!(
        "# Clients of the tester before a real web server, for methods of 'eagre bench', which set load and sizes.
{}",
        SESSIONS
            .replace("DEVICE", &device(parameters, "veth0"))
            .replace("DURATION", &parameters.duration.to_string())
    )
}

const SESSIONS: &str = "\
ports:
  west: {device: \"DEVICE\", ip: 10.0.0.2/24, gateway: 10.0.0.1, speed: 1Gbps}
sessions:
  - name: http
    client: {port: west, addresses: 10.0.0.10..10.0.0.109}
    server: {addresses: 10.0.0.1, ports: 80}
    app: {http: {host: eagre.lab, objects: [{path: \"/objects/{{bytes}}\", response: 1024B}]}}
    open: 200/s
    response_timeout: 5s
load: {duration: DURATION}
";

fn start_nginx(design: &mut Design, paths: &LabPaths) {
    design.needs.push(need("nginx", "nginx-light"));
    design.file("nginx.conf", nginx_conf(paths));
    let objects = paths.file("objects");
    let script = format!(
        "mkdir -p {objects} && for size in {OBJECTS}; do head -c $size /dev/zero | tr '\\0' e > {objects}/$size; done"
    );
    design.run("server", &["sh", "-c", &script]);
    let conf = paths.file("nginx.conf");
    design.start("nginx", "server", &["nginx", "-e", "stderr", "-p", &paths.file(""), "-c", &conf]);
}

/// Two tests of a web server from the client's kernel.
fn tests(design: &mut Design, parameters: &Parameters, url: &str) {
    design.needs.extend([need("curl", "curl"), need("wrk", "wrk")]);
    design.prints("a response from the web server", "client", &["curl", "-fsS", "-m", "2", url], "eagre", 1);
    let about = "Requests on 16 connections at maximum rate.";
    let large = format!("{url}1k");
    design.test_by(
        "wrk",
        about,
        "client",
        &["wrk", "-t1", "-c16", &seconds(parameters), "--latency", &large],
    );
    design.test_by("curl", "One request.", "client", &["curl", "-fsS", "-m", "5", url]);
}

/// nginx, with a client and a port of the tester.
pub(super) fn nginx(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design::default();
    design.tester();
    design.namespace("client", false);
    design.namespace("server", false);
    design.link("client.c0", &["10.0.2.2/24"], "server.s1", &["10.0.2.1/24"]);
    design.link("tester.veth0", &[], "server.s0", &["10.0.0.1/24"]);
    start_nginx(&mut design, paths);
    design.sessions = sessions(parameters);
    tests(&mut design, parameters, "http://10.0.2.1/");
    Ok(design)
}

/// haproxy's configuration. Debian's limit on open files is 20,000; each connection takes two.
const HAPROXY: &str = "\
global
  maxconn 8000
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend outside
  bind :80
  default_backend servers
backend servers
  http-reuse always
  server nginx 10.0.3.1:80
";

/// haproxy in front of nginx.
pub(super) fn haproxy_nginx(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design::default();
    design.tester();
    ["client", "proxy", "server"].iter().for_each(|role| design.namespace(role, false));
    design.link("client.c0", &["10.0.2.2/24"], "proxy.p1", &["10.0.2.1/24"]);
    design.link("tester.veth0", &[], "proxy.p0", &["10.0.0.1/24"]);
    design.link("proxy.p2", &["10.0.3.2/24"], "server.s0", &["10.0.3.1/24"]);
    start_nginx(&mut design, paths);
    design.needs.push(need("haproxy", "haproxy"));
    design.file("haproxy.cfg", HAPROXY);
    design.start("haproxy", "proxy", &["haproxy", "-db", "-f", &paths.file("haproxy.cfg")]);
    design.sessions = sessions(parameters);
    tests(&mut design, parameters, "http://10.0.2.1/");
    Ok(design)
}
