#!/bin/sh
# OkHttp and Apache HttpClient have five requests to a server at a time: 40 at once, each of 0.2 s, take 1.6 s.
#
# One would guess: 40 calls that a program starts at once, asynchronously or in 40 threads, are 40 requests at the server.
# So it is: OkHttp's dispatcher runs five enqueued calls to a host, HttpClient's pool has five connections to one; the others wait inside the
# client, and their wait is part of the time that the program measures. A server is never busier than five requests by such a client, however
# many threads a load test has. `dispatcher().setMaxRequestsPerHost(40)` and `setMaxConnPerRoute(40)` lift the limits.
#
# Uses com.squareup.okhttp3:okhttp-jvm 5.1.0, com.squareup.okio:okio-jvm 3.15.0, org.jetbrains.kotlin:kotlin-stdlib 2.2.0,
# org.apache.httpcomponents.client5:httpclient5 5.5, org.apache.httpcomponents.core5:httpcore5 and httpcore5-h2 5.3.4 and
# org.slf4j:slf4j-api 2.0.13 from Maven Central with Java, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for artifact in com.squareup.okhttp3:okhttp-jvm:5.1.0 com.squareup.okio:okio-jvm:3.15.0 org.jetbrains.kotlin:kotlin-stdlib:2.2.0 \
    org.apache.httpcomponents.client5:httpclient5:5.5 org.apache.httpcomponents.core5:httpcore5:5.3.4 \
    org.apache.httpcomponents.core5:httpcore5-h2:5.3.4 org.slf4j:slf4j-api:2.0.13; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;

public class Try {
    static final int CALLS = 40;
    static final AtomicInteger OPEN = new AtomicInteger(), MOST = new AtomicInteger();

    interface Starter {
        void start(CountDownLatch left) throws Exception;
    }

    /** Most requests that the server had at a time. */
    static int trial(String name, Starter starter) throws Exception {
        MOST.set(0);
        CountDownLatch left = new CountDownLatch(CALLS);
        long begin = System.nanoTime();
        starter.start(left);
        left.await();
        double took = (System.nanoTime() - begin) / 1e9;
        System.out.printf("%s: %d calls at once: at most %d at the server, %.2f s%n", name, CALLS, MOST.get(), took);
        return MOST.get();
    }

    static int okhttp(String url, String name, OkHttpClient client) throws Exception {
        return trial(name, left -> {
            for (int i = 0; i < CALLS; i++) {
                client.newCall(new Request.Builder().url(url).build()).enqueue(new Callback() {
                    public void onFailure(Call call, IOException error) {
                        left.countDown();
                    }

                    public void onResponse(Call call, Response response) {
                        response.close();
                        left.countDown();
                    }
                });
            }
        });
    }

    static int apache(String url, String name, CloseableHttpClient client) throws Exception {
        return trial(name, left -> {
            for (int i = 0; i < CALLS; i++) {
                new Thread(() -> {
                    try {
                        client.execute(new HttpGet(url), response -> response.getCode());
                    } catch (IOException error) {
                        System.out.println(error);
                    }
                    left.countDown();
                }).start();
            }
        });
    }

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 100);
        server.setExecutor(Executors.newFixedThreadPool(100));
        server.createContext("/", exchange -> {
            MOST.accumulateAndGet(OPEN.incrementAndGet(), Math::max);
            try {
                Thread.sleep(200);
            } catch (InterruptedException error) {
                throw new IOException(error);
            }
            OPEN.decrementAndGet();
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.start();
        String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
        OkHttpClient more = new OkHttpClient();
        more.dispatcher().setMaxRequestsPerHost(CALLS);
        var pool = PoolingHttpClientConnectionManagerBuilder.create().setMaxConnPerRoute(CALLS).setMaxConnTotal(CALLS).build();
        int[] seen = {
            okhttp(url, "okhttp 5.1.0", new OkHttpClient()),
            okhttp(url, "okhttp 5.1.0 with 40 for a host", more),
            apache(url, "httpclient5 5.5", HttpClients.createDefault()),
            apache(url, "httpclient5 5.5 with 40 for a route", HttpClients.custom().setConnectionManager(pool).build()),
        };
        System.exit(seen[0] == 5 && seen[1] > 20 && seen[2] == 5 && seen[3] > 20 ? 0 : 1);
    }
}
END
timeout 120 java -cp 'lib/*' Try.java 2> errors || { tail -3 errors >&2; exit 1; }
