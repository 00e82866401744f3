#!/bin/sh
# Tomcat ends an HTTP/2 connection after two DATA frames of ten bytes, or after four PINGs: "Too much overhead".
#
# One would guess: an upload that comes in small parts, as a program writes them, is slow at worst; flow control is there for it.
# So it is: DATA frames below 1,024 bytes that do not end a stream, PINGs, PRIORITY and SETTINGS frames, and small WINDOW_UPDATEs count as
# overhead, weighed against requests. On a new connection two or three of them are enough for a GOAWAY with ENHANCE_YOUR_CALM, which takes
# all streams of the connection along. An upload of 100 parts of 10 bytes never arrives; one of 100 parts of 2,000 bytes does. A client that
# measures round trips by PINGs gets four. Collect small parts, or set `overheadDataThreshold="0"` and `overheadCountFactor="0"`.
#
# Uses org.apache.tomcat.embed:tomcat-embed-core 11.0.27 and org.apache.tomcat:tomcat-annotations-api 11.0.27 from Maven Central with Java
# 17, and h2 4.4.1 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
java -version 2> version || exit 2
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install h2==4.4.1 || exit 2
for artifact in org.apache.tomcat.embed:tomcat-embed-core:11.0.27 org.apache.tomcat:tomcat-annotations-api:11.0.27; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
ls lib
cat > Server.java <<'END'
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;

public class Server {
    /** Returns the number of bytes of a request. */
    static class Count extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().print(request.getInputStream().readAllBytes().length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (boolean lenient : new boolean[] {false, true}) {
            Tomcat tomcat = new Tomcat();
            tomcat.setBaseDir("base" + lenient);
            tomcat.setPort(0);
            tomcat.getConnector().setProperty("address", "127.0.0.1");
            Http2Protocol protocol = new Http2Protocol();
            if (lenient) {
                protocol.setOverheadDataThreshold(0);
                protocol.setOverheadCountFactor(0);
            }
            tomcat.getConnector().addUpgradeProtocol(protocol);
            var context = tomcat.addContext("", null);
            Tomcat.addServlet(context, "count", new Count());
            context.addServletMappingDecoded("/*", "count");
            tomcat.start();
            System.out.println(tomcat.getConnector().getLocalPort());
        }
    }
}
END
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

import h2.connection
import h2.events

HEADERS = [(":method", "POST"), (":path", "/"), (":scheme", "http"), (":authority", "test")]


class Client:
    def __init__(self, port):
        self.link = socket.create_connection(("127.0.0.1", port))
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.h2 = h2.connection.H2Connection()
        self.h2.initiate_connection()
        self.end, self.body, self.pings = None, None, 0
        self.run(0.5)

    def run(self, seconds):
        """Sends what waits, and reads for a while."""
        try:
            self.link.sendall(self.h2.data_to_send())
            until = time.monotonic() + seconds
            while not self.end and (left := until - time.monotonic()) > 0:
                self.link.settimeout(left)
                try:
                    data = self.link.recv(65536)
                except TimeoutError:
                    return
                for event in self.h2.receive_data(data):
                    if isinstance(event, h2.events.ConnectionTerminated):
                        self.end = event.additional_data.decode()
                    elif isinstance(event, h2.events.DataReceived):
                        self.body = int(event.data or self.body)
                    elif isinstance(event, h2.events.PingAckReceived):
                        self.pings += 1
                if not data:
                    self.end = self.end or "closed"
                self.link.sendall(self.h2.data_to_send())
        except OSError as error:
            self.end = self.end or str(error)


def upload(port, size):
    client = Client(port)
    client.h2.send_headers(1, HEADERS)
    parts = 0
    while parts < 100 and not client.end:
        if client.h2.local_flow_control_window(1) >= size:
            client.h2.send_data(1, bytes(size))
            parts += 1
        client.run(0.005)
    if not client.end:
        client.h2.end_stream(1)
        client.run(1)
    print(f"  100 parts of {size} bytes: {parts} sent, the server has read {client.body} bytes, end: {client.end}")
    return client.body


def ping(port):
    client = Client(port)
    for number in range(100):
        if not client.end:
            client.h2.ping(number.to_bytes(8, "big"))
            client.run(0.02)
    print(f"  100 PINGs, 20 ms apart: {client.pings} acknowledged, end: {client.end}")
    return client.pings


server = subprocess.Popen(["java", "-cp", "lib/*", "Server.java"], stdout=subprocess.PIPE, stderr=open("server.log", "w"), text=True)
try:
    seen = {}
    for name in ("as it comes", "without limits"):
        port = int(server.stdout.readline())
        print(f"Tomcat, {name}:")
        seen[name] = upload(port, 2000), upload(port, 10), ping(port)
finally:
    server.terminate()
    server.wait()
first, second = seen.values()
sys.exit(not (first[:2] == (200_000, None) and first[2] < 10 and second == (200_000, 1000, 100)))
END
venv/bin/python try.py
