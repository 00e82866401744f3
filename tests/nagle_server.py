"""A web server as many are written: head and body in two writes, Nagle's algorithm left on. For clients under test.

Says `ready`; ends on SIGTERM.
"""

import http.server
import signal
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # As socketserver has it unless told otherwise: the head is one write, the body another.
    wbufsize = 0

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"x" * 1000)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


server = Server(("", int(sys.argv[1])), Handler)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print("ready", flush=True)
server.serve_forever()
