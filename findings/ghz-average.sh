#!/bin/sh
# ghz's average has the times of failed calls in it, its percentiles, fastest and slowest have not: an average above the slowest.
#
# One would guess: the average, the extremes and the percentiles of a report are of the same calls, all or those that succeeded.
# So it is: of 50 calls, five of which fail after a second while the others take a millisecond or two, the average is 100 ms and the
# slowest some 10 ms, as p99. Calls that end in a deadline do most of it. With `--count-errors` failed calls
# are in the percentiles, too; otherwise leave the average.
#
# Uses github.com/bojand/ghz v0.93.0 with Go, and grpcio 1.80.1 from PyPI as the server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
GOBIN=$folder go install github.com/bojand/ghz/cmd/ghz@v0.93.0 2> log || { cat log >&2; exit 2; }
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install grpcio==1.80.1 || exit 2
cat > echo.proto <<'END'
syntax = "proto3";
package p;
message Text { string text = 1; }
service Echo { rpc Echo(Text) returns (Text); }
END
cat > try.py <<'END'
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import grpc

DELAY = 1.0
numbers = count()


def echo(request, context):
    if next(numbers) % 10 == 9:
        time.sleep(DELAY)
        context.abort(grpc.StatusCode.UNAVAILABLE, "each tenth call fails")
    return request


class Handler(grpc.GenericRpcHandler):
    """Echoes each call, or fails it late."""

    def service(self, _):
        return grpc.unary_unary_rpc_method_handler(echo)


server = grpc.server(ThreadPoolExecutor(4))
server.add_generic_rpc_handlers([Handler()])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print("ghz", subprocess.run(["./ghz", "--version"], capture_output=True, text=True).stdout.strip() or "v0.93.0")
command = f"./ghz --insecure --proto echo.proto --call p.Echo.Echo -n 50 -c 1 -d {{}} -O json 127.0.0.1:{port}"
report = json.loads(subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout)
average, slowest = report["average"] / 1e6, report["slowest"] / 1e6
print(report["statusCodeDistribution"], f"average {average:.1f} ms, slowest {slowest:.1f} ms, p99", end=" ")
print(f"{report['latencyDistribution'][-1]['latency'] / 1e6:.1f} ms")
sys.exit(not (average >= DELAY * 100 and slowest < DELAY * 1000 / 2))
END
"$folder/venv/bin/python" try.py
