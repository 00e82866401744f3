#!/bin/sh
# With Java-WebSocket the second of two short messages waits for the acknowledgement of the first: 40 to 50 ms on loopback.
#
# One would guess: a WebSocket library switches Nagle's algorithm off, as browsers, Node.js, Go and Python's websockets do, since messages
# are short and wait for answers.
# So it is: `setTcpNoDelay` is false unless set, for clients and servers. A client that sends two messages and waits for the answer to the
# second takes some 50 ms for each such exchange: 20 of them a second on a path without any delay, where 2,000 are possible. Latencies
# measured with it are the receiver's delayed acknowledgement. `setTcpNoDelay(true)` mends it.
#
# Uses org.java-websocket:Java-WebSocket 1.6.0 and org.slf4j:slf4j-api 2.0.17 from Maven Central with Java 17, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
java -version 2> version || exit 2
for artifact in org.java-websocket:Java-WebSocket:1.6.0 org.slf4j:slf4j-api:2.0.17; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.java_websocket.WebSocket;
import org.java_websocket.client.WebSocketClient;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.handshake.ServerHandshake;
import org.java_websocket.server.WebSocketServer;

public class Try {
    static final int EXCHANGES = 30;

    /** Answers each "end". */
    static class Server extends WebSocketServer {
        final CountDownLatch started = new CountDownLatch(1);

        Server() {
            super(new InetSocketAddress("127.0.0.1", 0));
        }

        public void onStart() {
            started.countDown();
        }

        public void onMessage(WebSocket peer, String message) {
            if (message.equals("end")) {
                peer.send("done");
            }
        }

        public void onOpen(WebSocket peer, ClientHandshake handshake) {}

        public void onClose(WebSocket peer, int code, String reason, boolean remote) {}

        public void onError(WebSocket peer, Exception error) {}
    }

    static class Client extends WebSocketClient {
        final ArrayBlockingQueue<String> answers = new ArrayBlockingQueue<>(10);

        Client(int port) {
            super(URI.create("ws://127.0.0.1:" + port));
        }

        public void onMessage(String message) {
            answers.add(message);
        }

        public void onOpen(ServerHandshake handshake) {}

        public void onClose(int code, String reason, boolean remote) {}

        public void onError(Exception error) {}
    }

    /** Median time in ms of an exchange: two messages, and the answer to the second. */
    static double trial(int port, boolean noDelay) throws Exception {
        Client client = new Client(port);
        client.setTcpNoDelay(noDelay);
        client.connectBlocking();
        double[] times = new double[EXCHANGES];
        for (int number = 0; number < EXCHANGES; number++) {
            long start = System.nanoTime();
            client.send("begin");
            client.send("end");
            client.answers.poll(5, TimeUnit.SECONDS);
            times[number] = (System.nanoTime() - start) / 1e6;
        }
        client.closeBlocking();
        Arrays.sort(times);
        System.out.printf("Java-WebSocket 1.6.0, setTcpNoDelay(%b): the median exchange takes %.1f ms%n", noDelay, times[EXCHANGES / 2]);
        return times[EXCHANGES / 2];
    }

    public static void main(String[] arguments) throws Exception {
        Server server = new Server();
        server.start();
        server.started.await();
        System.out.println("isTcpNoDelay() of a new client: " + new Client(1).isTcpNoDelay());
        double usual = trial(server.getPort(), false), quick = trial(server.getPort(), true);
        System.exit(!new Client(1).isTcpNoDelay() && usual > 30 && quick < usual / 3 ? 0 : 1);
    }
}
END
timeout 60 java -cp 'lib/*' Try.java 2> errors || { tail -3 errors >&2; exit 1; }
