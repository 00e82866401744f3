#!/bin/sh
# a Meter of Dropwizard Metrics has a one-minute rate of 0 for its first five seconds, and one of 80/s ten seconds after the load has ended.
#
# One would guess: the one-minute rate of a meter that is a few seconds old is that of these seconds, and falls to little soon after a short
# test.
# So it is: the rate is an average that is brought up to date each 5 s: before it is 0, of 400 calls in 4 s, too. The first update takes the
# first 5 s for a whole minute's average, which then decays with a minute: ten seconds after six seconds of load it is still above 80 % of
# the rate. A report at the end of a test of 4 s shows 0, one of a pause shows load. Compare counts.
#
# Takes half a minute. Uses io.dropwizard.metrics:metrics-core 4.2.30 and org.slf4j:slf4j-api 2.0.13 from Maven Central with Java; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for artifact in io.dropwizard.metrics:metrics-core:4.2.30 org.slf4j:slf4j-api:2.0.13; do
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$artifact -DoutputDirectory=lib > log 2>&1 || exit 2
done
cat > Try.java <<'END'
import com.codahale.metrics.Meter;

public class Try {
    static void show(String when, Meter meter) {
        System.out.printf("%s: %d calls, mean rate %.1f/s, one-minute rate %.1f/s%n",
            when, meter.getCount(), meter.getMeanRate(), meter.getOneMinuteRate());
    }

    static void load(Meter meter, int calls) throws InterruptedException {
        for (int i = 0; i < calls; i++) {
            meter.mark();
            Thread.sleep(10);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        System.out.println("metrics-core 4.2.30");
        Meter meter = new Meter();
        load(meter, 350);
        double first = meter.getOneMinuteRate();
        show("after 350 calls, 10 ms apart", meter);
        load(meter, 250);
        double second = meter.getOneMinuteRate();
        show("after 250 more", meter);
        Thread.sleep(10_000);
        double third = meter.getOneMinuteRate();
        show("after a pause of 10 s", meter);
        System.exit(first == 0 && second > 30 && third > 0.7 * second ? 0 : 1);
    }
}
END
timeout 120 java -cp 'lib/*' Try.java 2> errors
