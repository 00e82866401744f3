#!/bin/sh
# micrometer's median of 1,000 calls that all took 100 ms is 96.5 ms, below the fastest; its p99 of 1 to 1,000 ms is above the slowest.
#
# One would guess: published percentiles of a Timer are as exact as its mean and maximum, or within a percent, and lie between the
# extremes.
# So it is: the histogram behind them has one significant digit unless `percentilePrecision` is set, so a percentile is off by up to 6 %:
# the median and p99 of calls of 100 ms are 96.5 ms, p99 of 1 to 1,000 ms is 1,006.6 ms, p90 906 ms. And they are of the last two minutes,
# while count, sum and mean are of all time: five seconds after the last call, with an expiry of three seconds, p99 is 0 beside a count
# of 1. Compare with `percentilePrecision(3)`.
#
# Uses io.micrometer:micrometer-core 1.17.2 with what it depends on from Maven Central, and Java 17; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
java -version 2> version || exit 2
for artifact in \
    io.micrometer:micrometer-core:1.17.2 io.micrometer:micrometer-commons:1.17.2 \
    org.hdrhistogram:HdrHistogram:2.2.2 org.latencyutils:LatencyUtils:2.0.3; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
ls lib
cat > Try.java <<'END'
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.IntStream;

public class Try {
    static final SimpleMeterRegistry REGISTRY = new SimpleMeterRegistry();

    /** Percentiles in ms, and the maximum, of calls of so many ms. */
    static double[] percentiles(String name, Integer digits, IntStream calls) {
        Timer timer = Timer.builder(name).publishPercentiles(0.5, 0.9, 0.99).percentilePrecision(digits).register(REGISTRY);
        calls.forEach(call -> timer.record(Duration.ofMillis(call)));
        var snapshot = timer.takeSnapshot();
        double[] found = Arrays.stream(snapshot.percentileValues()).mapToDouble(value -> value.value() / 1e6).toArray();
        System.out.printf("%s: p50, p90, p99 %s ms, maximum %.0f ms%n", name, Arrays.toString(found), snapshot.max() / 1e6);
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        double[] same = percentiles("1,000 calls of 100 ms", null, IntStream.generate(() -> 100).limit(1000));
        double[] rising = percentiles("calls of 1 to 1,000 ms", null, IntStream.rangeClosed(1, 1000));
        double[] exact = percentiles("calls of 1 to 1,000 ms, three digits", 3, IntStream.rangeClosed(1, 1000));
        Timer old = Timer.builder("old").publishPercentiles(0.99).distributionStatisticExpiry(Duration.ofSeconds(3)).register(REGISTRY);
        old.record(Duration.ofMillis(100));
        Thread.sleep(5000);
        double p99 = old.takeSnapshot().percentileValues()[0].value();
        System.out.printf("a call of 100 ms, 5 s ago: count %d, p99 %.1f ms%n", old.count(), p99 / 1e6);
        boolean so = same[0] > 96 && same[0] < 97 && same[2] == same[0] && rising[2] > 1006 && rising[2] < 1007
            && Math.abs(exact[2] - 990) < 1.5 && old.count() == 1 && p99 == 0;
        System.exit(so ? 0 : 1);
    }
}
END
java -cp "lib/*" Try.java 2> log
