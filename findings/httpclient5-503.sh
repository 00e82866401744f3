#!/bin/sh
# Apache HttpClient 5 sends a request that got a 503 again after a second, also a POST: one request is two at the server.
#
# One would guess: a client returns the response that came. If it repeats anything by itself, it is a request without a response, and
# no POST, which is not idempotent.
# So it is: the client of HttpClients.createDefault() waits for a second after a 503 or a 429 and sends the request once more, whatever its
# method; the program sees the second response only. A server that refuses too much load gets more of it, a POST that it refused is there
# twice, and the latency of an overloaded server begins at 1 s. `disableAutomaticRetries()` ends that.
#
# Uses org.apache.httpcomponents.client5:httpclient5 5.5, org.apache.httpcomponents.core5:httpcore5 and httpcore5-h2 5.3.4 and
# org.slf4j:slf4j-api 2.0.13 from Maven Central with Java, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for artifact in org.apache.httpcomponents.client5:httpclient5:5.5 org.apache.httpcomponents.core5:httpcore5:5.3.4 \
    org.apache.httpcomponents.core5:httpcore5-h2:5.3.4 org.slf4j:slf4j-api:2.0.13; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.classic.methods.HttpPost;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.io.entity.StringEntity;
import org.apache.hc.core5.util.VersionInfo;

public class Try {
    static final AtomicInteger REQUESTS = new AtomicInteger();

    /** Whether one request is `expected` at the server, and takes a second if that is more than one. */
    static boolean trial(CloseableHttpClient client, String base, String method, int status, int expected) throws Exception {
        HttpUriRequestBase request = method.equals("GET") ? new HttpGet(base + "/" + status) : new HttpPost(base + "/" + status);
        if (method.equals("POST")) {
            request.setEntity(new StringEntity("order"));
        }
        REQUESTS.set(0);
        long start = System.nanoTime();
        int code = client.execute(request, response -> response.getCode());
        double took = (System.nanoTime() - start) / 1e9;
        System.out.printf("%s: response %d after %.2f s, %d requests at the server%n", method, code, took, REQUESTS.get());
        return code == status && REQUESTS.get() == expected && (expected == 1 || took >= 1);
    }

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 10);
        server.createContext("/", exchange -> {
            REQUESTS.incrementAndGet();
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(Integer.parseInt(exchange.getRequestURI().getPath().substring(1)), -1);
            exchange.close();
        });
        server.start();
        String base = "http://127.0.0.1:" + server.getAddress().getPort();
        VersionInfo version = VersionInfo.loadVersionInfo("org.apache.hc.client5", Try.class.getClassLoader());
        System.out.println("httpclient5 " + version.getRelease());
        boolean as = true;
        try (CloseableHttpClient client = HttpClients.createDefault()) {
            as &= trial(client, base, "GET", 503, 2) & trial(client, base, "POST", 503, 2) & trial(client, base, "POST", 429, 2);
            as &= trial(client, base, "POST", 500, 1);
        }
        System.out.println("with disableAutomaticRetries():");
        try (CloseableHttpClient client = HttpClients.custom().disableAutomaticRetries().build()) {
            as &= trial(client, base, "POST", 503, 1);
        }
        System.exit(as ? 0 : 1);
    }
}
END
timeout 120 java -cp 'lib/*' Try.java 2> errors || { tail -3 errors >&2; exit 1; }
