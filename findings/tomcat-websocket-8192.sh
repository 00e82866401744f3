#!/bin/sh
# A WebSocket endpoint in Tomcat with an @OnMessage method for a String closes the connection at a message of 8,193 bytes.
#
# One would guess: a method that takes a whole message gets one of any size up to some megabytes, or of the 64 KB of other servers.
# So it is: Tomcat collects a message for it in a buffer of 8,192 bytes, text or binary, and closes with 1009 if it does not fit. At 8,192
# bytes all is well. A method with a second parameter, `boolean last`, gets parts and has no limit. In a test with messages of growing
# size this is a device that breaks connections at 8 KB. `org.apache.tomcat.websocket.textBufferSize` of the context mends it, or
# `@OnMessage(maxMessageSize = ...)`.
#
# Uses org.apache.tomcat.embed:tomcat-embed-core and tomcat-embed-websocket 11.0.27 and org.apache.tomcat:tomcat-annotations-api 11.0.27
# from Maven Central with Java 17, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
java -version 2> version || exit 2
for artifact in org.apache.tomcat.embed:tomcat-embed-core:11.0.27 org.apache.tomcat.embed:tomcat-embed-websocket:11.0.27 org.apache.tomcat:tomcat-annotations-api:11.0.27; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import jakarta.servlet.http.HttpServlet;
import jakarta.websocket.OnError;
import jakarta.websocket.OnMessage;
import jakarta.websocket.server.ServerEndpoint;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.websocket.server.WsSci;

public class Try {
    @ServerEndpoint("/usual")
    public static class Usual {
        @OnMessage
        public String length(String message) {
            return "" + message.length();
        }

        @OnError
        public void error(Throwable error) {}
    }

    @ServerEndpoint("/long")
    public static class Long {
        @OnMessage(maxMessageSize = 1_000_000)
        public String length(String message) {
            return "" + message.length();
        }

        @OnError
        public void error(Throwable error) {}
    }

    /** The server's answer, the length of the message, or the code with which it closes. */
    static String trial(String url, int size) throws Exception {
        BlockingQueue<String> results = new ArrayBlockingQueue<>(10);
        WebSocket client = HttpClient.newHttpClient().newWebSocketBuilder().buildAsync(URI.create(url), new WebSocket.Listener() {
            @Override
            public CompletionStage<?> onText(WebSocket from, CharSequence text, boolean last) {
                results.add(text.toString());
                return null;
            }

            @Override
            public CompletionStage<?> onClose(WebSocket from, int code, String reason) {
                results.add("closed with " + code);
                return null;
            }
        }).get();
        client.sendText("a".repeat(size), true);
        String result = results.poll(10, TimeUnit.SECONDS);
        client.abort();
        System.out.printf("%s, message of %d bytes: %s%n", url.replaceAll(".*/", "/"), size, result);
        return result;
    }

    public static void main(String[] arguments) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir("work");
        tomcat.setPort(0);
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "none", new HttpServlet() {});
        context.addServletMappingDecoded("/", "none");
        context.addServletContainerInitializer(new WsSci(), Set.of(Usual.class, Long.class));
        tomcat.getConnector();
        tomcat.start();
        System.out.println(org.apache.catalina.util.ServerInfo.getServerInfo());
        String base = "ws://127.0.0.1:" + tomcat.getConnector().getLocalPort();
        boolean fits = trial(base + "/usual", 8192).equals("8192"), closes = trial(base + "/usual", 8193).equals("closed with 1009");
        System.exit(fits && closes && trial(base + "/long", 8193).equals("8193") ? 0 : 1);
    }
}
END
timeout 60 java -cp 'lib/*' Try.java 2> errors || { tail -3 errors >&2; exit 1; }
