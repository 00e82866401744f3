#!/bin/sh
# Prometheus' increase() of 100 packets is 133 or 0: it extrapolates between scrapes, and does not see a counter's first value.
#
# One would guess: `increase(packets_total[1m])` is the difference of the counter over that minute, a whole number that fits the packets
# sent.
# So it is: it is the difference of the samples within the minute, times the minute by the time between the first and the last of them.
# With a scrape each 15 s a burst of 100 packets shows as 133.3 or 100, by when one looks. And a series that begins with its first packets
# has no sample before: a counter whose first value is 100 has an increase of 0. Create series with 0 before the test, or subtract values.
#
# Uses prometheus 2.42.0+ds-5+deb12u1 of Debian 12 (promtool, which runs queries on given samples); no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download prometheus=2.42.0+ds-5+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/promtool --version > version || exit 2
head -n 1 version
echo 'groups: []' > rules.yaml
cat > try.yaml <<'END'
rule_files: [rules.yaml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {series: seen_before, values: '1000 1000 1000 1000 1100 1100 1100 1100 1100'}
      - {series: begins, values: '_ _ _ _ 100 100 100 100 100'}
    promql_expr_test:
      - {expr: 'increase(seen_before[1m])', eval_time: 100s, exp_samples: [{labels: '{}', value: 133.33333333333331}]}
      - {expr: 'increase(seen_before[1m])', eval_time: 90s, exp_samples: [{labels: '{}', value: 100}]}
      - {expr: 'increase(begins[1m])', eval_time: 100s, exp_samples: [{labels: '{}', value: 0}]}
END
echo "a counter goes from 1,000 to 1,100 at 60 s, another one begins with 100; scrapes each 15 s"
sed -n "s/.*expr: '\(.*\)', eval_time: \(.*\), exp_.*value: \(.*\)}]}/\1 at \2: \3/p" try.yaml
usr/bin/promtool test rules try.yaml
