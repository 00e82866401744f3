#!/bin/sh
# pkts.io gives arrival times in the unit of the file: of a nanosecond pcap they are 1,000 times those of a usual one.
#
# One would guess: getArrivalTime() has one unit, and a reader that knows the nanosecond magic number converts.
# So it is: it is microseconds of a file with microseconds and nanoseconds of one with nanoseconds, with nothing at the packet that says
# which. The same packet at 1,000.000123 s is 1,000,000,123 and 1,000,000,123,000; read as microseconds the latter is 11 days later. Gaps
# and rates of captures by tcpdump with --nano, or by DPDK's writer, are off by 1,000.
#
# Uses io.pkts:pkts-core and io.pkts:pkts-buffers 3.0.10 and org.slf4j:slf4j-api 2.0.13 from Maven Central with Java; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for artifact in io.pkts:pkts-core:3.0.10 io.pkts:pkts-buffers:3.0.10 org.slf4j:slf4j-api:2.0.13; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import io.pkts.Pcap;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

public class Try {
    /** Arrival time of a UDP packet at 1,000.000123 s, in a file of a magic number and its parts of a second. */
    static long arrival(int magic, int part) throws Exception {
        byte[] frame = new byte[60];
        byte[] header = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 5, 0, 6, 0, 26};
        System.arraycopy(header, 0, frame, 0, header.length);
        ByteBuffer file = ByteBuffer.allocate(100).order(ByteOrder.LITTLE_ENDIAN);
        file.putInt(magic).putShort((short) 2).putShort((short) 4).putInt(0).putInt(0).putInt(65535).putInt(1);
        file.putInt(1000).putInt(part).putInt(frame.length).putInt(frame.length).put(frame);
        long[] seen = new long[1];
        Pcap.openStream(new ByteArrayInputStream(file.array())).loop(packet -> {
            seen[0] = packet.getArrivalTime();
            return true;
        });
        return seen[0];
    }

    public static void main(String[] arguments) throws Exception {
        long micro = arrival(0xA1B2C3D4, 123), nano = arrival(0xA1B23C4D, 123_000);
        System.out.printf("pkts-core 3.0.10, a packet at 1,000.000123 s: %,d in a usual file, %,d in one with nanoseconds%n", micro, nano);
        System.exit(micro == 1_000_000_123L && nano == 1_000_000_123_000L ? 0 : 1);
    }
}
END
timeout 60 java -cp 'lib/*' Try.java 2> errors || { tail -3 errors >&2; exit 1; }
