"""Ends of gRPC that nobody here wrote, or that misbehave: `grpc_peer.py FOLDER MODE ADDRESS [FILES]`.

FOLDER has the packages `grpcio` and `hpack`. MODE `serve` serves on the ports below, says `ready`, and on SIGTERM in JSON what its methods have seen.
`talk` is a client of our servers at ADDRESS, and says in JSON what came of it; `break` speaks HTTP/2 to them by hand.
"""

import hashlib
import json
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

CLEAR, SECURE, SMALL, AGING = 9300, 9301, 9302, 9303
# Where our servers are: of each kind of call, one that compares and has bytes of its own, and others.
KINDS = ("unary", "client_streaming", "server_streaming", "bidirectional")
OURS = {kind: 9400 + index for index, kind in enumerate(KINDS)}
ECHOES, SLOW, FAILING, OURS_SECURE, OURS_PLAIN = 9410, 9411, 9412, 9413, 9414
REPLIES = 12


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name, value):
    """A field that is written out."""
    return bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def message(payload, flag=0, length=None):
    return bytes([flag]) + (len(payload) if length is None else length).to_bytes(4, "big") + payload


HEAD = frame(1, 4, 1, b"\x88" + field("content-type", "application/grpc"))
HI = message(b"x" * 64)


def data(payload, end=False):
    return frame(0, 1 if end else 0, 1, payload)


def trailers(status, text=None):
    return frame(1, 5, 1, field("grpc-status", status) + (field("grpc-message", text) if text else b""))


# What each server says to the first call, the failure its clients count, the status, and the detail of it.
HOSTILE = {
    "never answers": (b"", "response_timeout", None, None),
    "stalls after the head": (HEAD, "response_timeout", None, None),
    "stalls within a message": (HEAD + data(HI[:20]), "response_timeout", None, None),
    "ends within a message": (
        HEAD + data(HI[:20]) + trailers("0"),
        "grpc_protocol",
        "INTERNAL",
        "a stream that ends within a message",
    ),
    "compresses": (
        HEAD + data(message(b"x", flag=1)),
        "grpc_protocol",
        "INTERNAL",
        "a compressed message, and no compression was agreed on",
    ),
    "invents a flag": (
        HEAD + data(message(b"x", flag=2)),
        "grpc_protocol",
        "INTERNAL",
        "a message whose flag of compression is neither 0 nor 1",
    ),
    "sends an endless message": (
        HEAD + data(message(b"x", length=0xFFFFFFFF)),
        "grpc_protocol",
        "RESOURCE_EXHAUSTED",
        "a message that is too long",
    ),
    "has no status": (
        HEAD + data(HI, end=True),
        "grpc_protocol",
        "UNKNOWN",
        "a call that ends without grpc-status",
    ),
    "succeeds with nothing": (
        HEAD + trailers("0"),
        "grpc_protocol",
        "OK",
        "a call without a stream of responses that succeeds without a message",
    ),
    "fails in a text": (HEAD + trailers("9", "%C3%BC 100%"), "grpc_status", "FAILED_PRECONDITION", "FAILED_PRECONDITION: \u00fc 100%"),
    "is a web server": (frame(1, 5, 1, b"\x8d"), "grpc_status", "UNIMPLEMENTED", "HTTP status 404 instead of a status of gRPC"),
    "is a busy proxy": (
        frame(1, 5, 1, field(":status", "503")),
        "grpc_status",
        "UNAVAILABLE",
        "HTTP status 503 instead of a status of gRPC",
    ),
    "cancels": (frame(3, 0, 1, (8).to_bytes(4, "big")), "stream_reset", "CANCELLED", "RST_STREAM: CANCEL"),
    "breaks": (frame(3, 0, 1, (2).to_bytes(4, "big")), "stream_reset", "INTERNAL", "RST_STREAM: INTERNAL_ERROR"),
    "calms": (frame(3, 0, 1, (11).to_bytes(4, "big")), "stream_reset", "RESOURCE_EXHAUSTED", "RST_STREAM: ENHANCE_YOUR_CALM"),
    "goes away": (
        frame(7, 0, 0, (1).to_bytes(4, "big") + (11).to_bytes(4, "big")),
        "goaway",
        None,
        "GOAWAY: ENHANCE_YOUR_CALM",
    ),
    "is no HTTP/2": (b"SSH-2.0-OpenSSH_9.2\r\n", "no_http2", None, "the other end does not begin with SETTINGS"),
}
PORTS = {name: 9320 + index for index, name in enumerate(HOSTILE)}


def hostile(address, name, port):
    """A server that says its piece to each client, and then reads until the client is gone."""
    said = HOSTILE[name][0]
    listener = socket.create_server((address, port), backlog=64)

    def serve(connection):
        with connection:
            connection.recv(1 << 16)
            connection.sendall((b"" if name == "is no HTTP/2" else frame(4, 0, 0)) + said)
            try:
                while connection.recv(1 << 16):
                    pass
            except OSError:
                pass

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


class Service:
    """Methods of all kinds over bytes, and what they have seen."""

    def __init__(self, grpc):
        self.grpc = grpc
        self.lock = threading.Lock()
        self.seen = {"calls": 0, "messages": 0, "bytes": 0, "metadata": 0, "deadlines": 0}

    def note(self, context, *messages):
        given = dict(context.invocation_metadata())
        with self.lock:
            self.seen["calls"] += 1
            self.seen["messages"] += len(messages)
            self.seen["bytes"] += sum(map(len, messages))
            self.seen["metadata"] += given.get("x-run") == "7" and given.get("x-bytes-bin") == b"\0\xff"
            # Without a deadline the time is None, or centuries.
            self.seen["deadlines"] += (context.time_remaining() or 1e9) < 1e6

    def unary(self, request, context):
        self.note(context, request)
        return request

    def client_streaming(self, requests, context):
        requests = list(requests)
        self.note(context, *requests)
        return hashlib.sha256(b"".join(requests)).digest()

    def server_streaming(self, request, context):
        self.note(context, request)
        for index in range(REPLIES):
            yield request[index:] + request[:index]

    def bidirectional(self, requests, context):
        seen = []
        for request in requests:
            seen.append(request)
            yield request
        self.note(context, *seen)

    def fails(self, request, context):
        """The status whose code is the message's first byte."""
        self.note(context, request)
        code = next(code for code in self.grpc.StatusCode if code.value[0] == request[0])
        if code.value[0]:
            context.abort(code, "no \u00fc 100%")
        return b""

    def slow(self, request, context):
        self.note(context, request)
        time.sleep(3)
        return request

    def service(self, details):
        grpc = self.grpc
        kind = details.method.rpartition("/")[2]
        make = {
            "client_streaming": grpc.stream_unary_rpc_method_handler,
            "server_streaming": grpc.unary_stream_rpc_method_handler,
            "bidirectional": grpc.stream_stream_rpc_method_handler,
        }.get(kind, grpc.unary_unary_rpc_method_handler)
        if details.method.startswith("/peer.Test/") and kind in (*KINDS, "fails", "slow"):
            return make(getattr(self, kind))
        return None


def serve(address, chain=None, key=None):
    import grpc

    service = Service(grpc)
    handler = type("Handler", (grpc.GenericRpcHandler,), {"service": lambda _, details: service.service(details)})()
    servers = []
    aging = (("grpc.max_connection_age_ms", 500), ("grpc.max_connection_age_grace_ms", 20_000), ("grpc.max_concurrent_streams", 3))
    small = (("grpc.max_receive_message_length", 1_000),)
    for port, options in ((CLEAR, ()), (SMALL, small), (AGING, aging), (SECURE, ())):
        server = grpc.server(ThreadPoolExecutor(32), handlers=[handler], options=options)
        if port != SECURE:
            server.add_insecure_port(f"{address}:{port}")
        elif chain:
            with open(chain, "rb") as pem, open(key, "rb") as secret:
                server.add_secure_port(f"{address}:{port}", grpc.ssl_server_credentials([(secret.read(), pem.read())]))
        server.start()
        servers.append(server)
    for name, port in PORTS.items():
        hostile(address, name, port)
    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    print("ready", flush=True)
    done.wait()
    print(json.dumps(service.seen), flush=True)
    os._exit(0)


def talk(address, ask, reply, root=None):
    """All kinds of calls to our servers, whose bytes are in files; then calls that fail."""
    import grpc

    with open(ask, "rb") as file:
        ask = file.read()
    with open(reply, "rb") as file:
        reply = file.read()
    said = {}

    def channel(port):
        # Without this, one channel to each address.
        return grpc.insecure_channel(f"{address}:{port}", options=[("grpc.use_local_subchannel_pool", 1)])

    def code(call):
        try:
            call()
        except grpc.RpcError as error:
            return [error.code().name, error.details()]
        return ["OK", ""]

    for _ in range(5):
        with channel(OURS["unary"]) as one:
            calls = [one.unary_unary("/eagre.Test/Call").future(ask, timeout=30) for _ in range(20)]
            said["unary"] = all(call.result() == reply for call in calls)
        with channel(OURS["client_streaming"]) as one:
            said["client_streaming"] = one.stream_unary("/eagre.Test/Call")(iter([ask] * 20), timeout=30) == reply
        with channel(OURS["server_streaming"]) as one:
            got = list(one.unary_stream("/eagre.Test/Call")(ask, timeout=30))
            said["server_streaming"] = got == [reply] * REPLIES
        with channel(OURS["bidirectional"]) as one:
            said["bidirectional"] = list(one.stream_stream("/eagre.Test/Call")(iter([ask] * 20), timeout=30)) == [reply] * 20
    with channel(ECHOES) as one:
        messages = [os.urandom(size) for size in (0, 1, 100, 65_535, 1 << 20, 5_000, 4 << 20)]
        said["echoes"] = list(one.stream_stream("/eagre.Test/Call")(iter(messages), timeout=60)) == messages
        many = [os.urandom(size % 700) for size in range(2_000)]
        said["many"] = list(one.stream_stream("/eagre.Test/Call")(iter(many), timeout=60)) == many
        bidirectional = one.stream_stream("/eagre.Test/Call")
        said["too long"] = code(lambda: list(bidirectional(iter([bytes((4 << 20) + 1)]), timeout=30)))
        said["compressed"] = code(lambda: list(bidirectional(iter([b"x" * 999]), timeout=30, compression=grpc.Compression.Gzip)))
        said["unknown"] = code(lambda: one.unary_unary("/eagre.Test/Other")(b"", timeout=30))
    with channel(SLOW) as one:
        said["deadline"] = code(lambda: one.unary_unary("/eagre.Test/Call")(b"x", timeout=1))[0]
    with channel(FAILING) as one:
        said["fails"] = code(lambda: one.unary_unary("/eagre.Test/Call")(b"x", timeout=30))
    if root:
        with open(root, "rb") as pem:
            credentials = grpc.ssl_channel_credentials(pem.read())
        options = [("grpc.ssl_target_name_override", "a.test")]
        with grpc.secure_channel(f"{address}:{OURS_SECURE}", credentials, options) as one:
            said["tls"] = one.unary_unary("/eagre.Test/Call")(ask, timeout=30) == reply
    print(json.dumps(said))


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)


def call(*fields, path="/eagre.Test/Call", method="POST", kind="application/grpc"):
    """The head of a call."""
    named = {":method": method, ":scheme": "http", ":path": path, ":authority": "a", "content-type": kind}
    block = b"".join(field(*one) for one in (*named.items(), *fields))
    return PREFACE + frame(1, 4, 1, block)


# What a client says, and the statuses of HTTP and gRPC that answer it.
BREAKING = [
    (call() + data(HI, end=True), ["200", "0"]),
    (call(method="GET") + data(b"", end=True), ["405", None]),
    (call(kind="text/html") + data(b"", end=True), ["415", None]),
    (call(("grpc-timeout", "1 S")) + data(HI, end=True), ["200", "13"]),
    (call() + data(message(b"x", flag=1)), ["200", "12"]),
    (call() + data(message(b"x", flag=9)), ["200", "13"]),
    (call() + data(message(b"", length=(4 << 20) + 1)), ["200", "8"]),
    (call() + data(HI[:9], end=True), ["200", "13"]),
    (call() + data(HI + HI, end=True), ["200", "13"]),
    (call() + data(b"", end=True), ["200", "13"]),
]


# A million empty messages to a server of echoes, by a client that takes none of them.
HOARD = (
    PREFACE
    + frame(4, 0, 0, (4).to_bytes(2, "big") + bytes(4))
    + b"".join(call().removeprefix(PREFACE).replace(frame(1, 4, 1)[4:9], frame(1, 4, stream)[4:9], 1) for stream in (1, 3, 5))
    + b"".join(frame(0, 0, stream, message(b"") * 3_000) for stream in (1, 3, 5) for _ in range(60))
)


def attempt(address, said, port=OURS_PLAIN):
    """The fields that end the answer to a call, or the code of a reset."""
    import hpack

    decoder, fields, answer = hpack.Decoder(), {}, b""
    with socket.create_connection((address, port), 20) as connection:
        connection.settimeout(20)
        connection.sendall(said)
        while True:
            while len(answer) >= 9 and len(answer) >= 9 + (size := int.from_bytes(answer[:3], "big")):
                kind, flags, payload, answer = answer[3], answer[4], answer[9 : 9 + size], answer[9 + size :]
                if kind == 1:
                    fields |= dict(decoder.decode(payload))
                    if flags & 1:
                        return [fields.get(":status"), fields.get("grpc-status")]
                if kind == 3:
                    return ["reset", payload[3]]
            piece = connection.recv(1 << 16)
            if not piece:
                return None
            answer += piece


def main(mode, address, *more):
    if mode == "serve":
        serve(address, *more)
    elif mode == "talk":
        talk(address, *more)
    else:
        print(json.dumps([attempt(address, said) for said, _ in BREAKING] + [attempt(address, HOARD, ECHOES)]))


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main(*sys.argv[2:])
