#!/bin/sh
# Netty's MqttDecoder takes messages of up to 8,092 bytes with their fixed header, and after a longer one drops all that comes on the
# connection, which stays open.
#
# One would guess: MQTT's own limit of 256 MB, or a round one; and a message that is too long ends the connection.
# So it is: the limit is 8092, no power of two. A PUBLISH with 3 bytes of fixed header, 3 of topic and 8,086 of payload is read. With 8,087
# it becomes an MqttMessage, no MqttPublishMessage, whose decoderResult() has a TooLongFrameException; no exception is thrown. From
# then on the decoder drops what comes: a PINGREQ behind the message is not seen, and the connection stays open. `new
# MqttDecoder(1_000_000)` sets another limit.
#
# Uses io.netty:netty-codec-mqtt 4.2.20.Final, and netty-codec-base, netty-buffer, netty-common, netty-transport, netty-handler and
# netty-resolver of the same version, from Maven Central with Java; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for artifact in io.netty:netty-codec-mqtt:4.2.20.Final io.netty:netty-codec-base:4.2.20.Final io.netty:netty-buffer:4.2.20.Final \
    io.netty:netty-common:4.2.20.Final io.netty:netty-transport:4.2.20.Final io.netty:netty-handler:4.2.20.Final \
    io.netty:netty-resolver:4.2.20.Final; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.mqtt.MqttDecoder;
import io.netty.handler.codec.mqtt.MqttEncoder;
import io.netty.handler.codec.mqtt.MqttMessage;
import io.netty.handler.codec.mqtt.MqttMessageBuilders;
import io.netty.handler.codec.mqtt.MqttPublishMessage;
import io.netty.handler.codec.mqtt.MqttQoS;

public class Try {
    static final byte[] PINGREQ = {(byte) 0xC0, 0};

    /** Whether a PUBLISH with a payload of this size is read, and whether a PINGREQ behind it is. */
    static boolean[] read(int size, MqttDecoder decoder) {
        EmbeddedChannel client = new EmbeddedChannel(MqttEncoder.INSTANCE), server = new EmbeddedChannel(decoder);
        byte[] payload = new byte[size];
        client.writeOutbound(MqttMessageBuilders.publish().topicName("t").qos(MqttQoS.AT_MOST_ONCE)
            .payload(Unpooled.wrappedBuffer(payload)).build());
        ByteBuf packet = client.readOutbound();
        server.writeInbound(packet);
        MqttMessage message = server.readInbound();
        server.writeInbound(Unpooled.wrappedBuffer(PINGREQ));
        boolean[] seen = {message instanceof MqttPublishMessage && message.decoderResult().isSuccess(), server.readInbound() != null,
            server.isOpen()};
        System.out.printf("PUBLISH with a payload of %d bytes: %s, %s; the PINGREQ behind it is %s, the connection %s%n", size,
            message.getClass().getSimpleName(), message.decoderResult(), seen[1] ? "read" : "lost", server.isOpen() ? "open" : "closed");
        return seen;
    }

    public static void main(String[] arguments) {
        System.out.println("netty-codec-mqtt 4.2.20.Final");
        boolean[] small = read(8086, new MqttDecoder()), large = read(8087, new MqttDecoder());
        boolean[] set = read(8087, new MqttDecoder(1_000_000));
        System.exit(small[0] && small[1] && !large[0] && !large[1] && large[2] && set[0] && set[1] ? 0 : 1);
    }
}
END
timeout 120 java -cp 'lib/*' Try.java 2> errors
