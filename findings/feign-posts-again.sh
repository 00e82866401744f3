#!/bin/sh
# Feign sends a POST five times if its answer takes longer than the time-out: five orders at the server, one exception.
#
# One would guess: a POST that gets no answer in time fails, as it is not safe to send it again.
# So it is: the default Retryer tries each request that ends with an I/O error five times, whatever its method: after a time-out, a reset
# or a connection that is closed without a response. A server that takes two seconds gets five times the load of a client with a
# time-out of one, each of them worked on to the end, and the exception comes after 6.3 s. `retryer(Retryer.NEVER_RETRY)` ends it.
#
# Uses io.github.openfeign:feign-core 13.6 from Maven Central with Java 17, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
java -version 2> version || exit 2
for artifact in io.github.openfeign:feign-core:13.6; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import com.sun.net.httpserver.HttpServer;
import feign.Feign;
import feign.Request;
import feign.RequestLine;
import feign.RetryableException;
import feign.Retryer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public class Try {
    interface Shop {
        @RequestLine("POST /orders")
        String order(String what);
    }

    /** Orders that the server gets of one call with a time-out of a second. */
    static int trial(String name, Feign.Builder builder, String url, AtomicInteger orders) {
        orders.set(0);
        Shop shop = builder.options(new Request.Options(1, TimeUnit.SECONDS, 1, TimeUnit.SECONDS, true)).target(Shop.class, url);
        long start = System.nanoTime();
        String result;
        try {
            result = shop.order("one");
        } catch (RetryableException error) {
            result = error.getMessage().replaceAll("[0-9.]+:[0-9]+", "HOST");
        }
        System.out.printf("%s: %d orders at the server, after %.1f s: %s%n", name, orders.get(), (System.nanoTime() - start) / 1e9, result);
        return orders.get();
    }

    public static void main(String[] arguments) throws Exception {
        AtomicInteger orders = new AtomicInteger();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 100);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/orders", exchange -> {
            exchange.getRequestBody().readAllBytes();
            orders.incrementAndGet();
            try {
                Thread.sleep(3000);
                exchange.sendResponseHeaders(200, -1);
            } catch (Exception error) {
                exchange.close();
            }
        });
        server.start();
        String url = "http://127.0.0.1:" + server.getAddress().getPort();
        System.out.println("feign-core 13.6, a server that takes 3 s, a time-out of 1 s");
        int usual = trial("default", Feign.builder(), url, orders);
        int once = trial("NEVER_RETRY", Feign.builder().retryer(Retryer.NEVER_RETRY), url, orders);
        System.exit(usual == 5 && once == 1 ? 0 : 1);
    }
}
END
timeout 90 java -cp 'lib/*' Try.java 2> errors || { tail -3 errors >&2; exit 1; }
