#!/bin/sh
# Californium refuses bodies of more than 8,192 bytes in blockwise transfers: a client aborts a download of 10,000 bytes, a server
# responds to such an upload with 4.13.
#
# One would guess: blockwise transfer (RFC 7959) is there for large bodies, such as firmware, and a library that does it by itself has no
# limit, or one of megabytes.
# So it is: `COAP.MAX_RESOURCE_BODY_SIZE` is 8192 unless set, on both sides. GET of 10,000 bytes from a server without that limit on its
# responses throws in the client, "requested resource body exceeds max buffer size", after the first block; PUT of as many gets
# "4.13 body too large, max. 8192 bytes". With 8,192 bytes both work. A CoAP test with bodies of 4 KB passes and one with 16 KB fails: set
# it in the configuration of both.
#
# Needs root, for a network namespace of its own. Uses org.eclipse.californium:californium-core and element-connector 3.14.0 and
# org.slf4j:slf4j-api 2.0.13 from Maven Central with Java; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for artifact in org.eclipse.californium:californium-core:3.14.0 org.eclipse.californium:element-connector:3.14.0 \
    org.slf4j:slf4j-api:2.0.13; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import org.eclipse.californium.core.CoapClient;
import org.eclipse.californium.core.CoapResource;
import org.eclipse.californium.core.CoapResponse;
import org.eclipse.californium.core.CoapServer;
import org.eclipse.californium.core.coap.CoAP.ResponseCode;
import org.eclipse.californium.core.config.CoapConfig;
import org.eclipse.californium.core.server.resources.CoapExchange;
import org.eclipse.californium.elements.config.Configuration;

public class Try {
    static final int PORT = 15683;

    static CoapClient client(int size) {
        CoapClient client = new CoapClient("coap://127.0.0.1:" + PORT + "/body?size=" + size);
        client.setTimeout(10_000L);
        return client;
    }

    static String get(int size) {
        try {
            CoapResponse response = client(size).get();
            return response.getCode() + " with " + response.getPayload().length + " bytes";
        } catch (Exception error) {
            return error.getCause() == null ? error.toString() : error.getCause().getMessage();
        }
    }

    static String put(int size) throws Exception {
        CoapResponse response = client(size).put(new byte[size], 0);
        return response.getCode() + " " + response.getResponseText();
    }

    public static void main(String[] arguments) throws Exception {
        CoapConfig.register();
        CoapServer server = new CoapServer(Configuration.createStandardWithoutFile(), PORT);
        server.add(new CoapResource("body") {
            @Override
            public void handleGET(CoapExchange exchange) {
                exchange.respond(ResponseCode.CONTENT, new byte[Integer.parseInt(exchange.getQueryParameter("size"))]);
            }

            @Override
            public void handlePUT(CoapExchange exchange) {
                exchange.respond(ResponseCode.CHANGED, exchange.getRequestPayload().length + " bytes");
            }
        });
        server.start();
        System.out.println("californium-core 3.14.0");
        boolean as = true;
        for (int size : new int[] {4000, 8192, 10_000}) {
            String got = get(size), answer = put(size);
            System.out.printf("%d bytes: GET: %s; PUT: %s%n", size, got, answer);
            boolean fits = size <= 8192;
            as &= got.startsWith("2.05 with " + size) == fits && answer.startsWith(fits ? "2.04 " + size : "4.13");
        }
        System.exit(as ? 0 : 1);
    }
}
END
cat > try.sh <<'END'
ip link set lo up
timeout 120 java -cp 'lib/*' Try.java 2> errors
END
unshare -n sh try.sh
