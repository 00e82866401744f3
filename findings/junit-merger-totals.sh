#!/bin/sh
# The totals of junit-report-merger lack suites without counts, and times from 1,000 s on: a merged report of a failure says failures="0".
#
# One would guess: a tool that merges reports counts the cases that it writes, and adds up their times, "1,234.567" as well, which Maven's
# Surefire wrote for years.
# So it is: it adds up the attributes that the suites have. `tests` and `failures` are optional, and a suite without them adds nothing: a
# report with two cases, one of them failed, says tests="1" failures="0". A time of "1,234.567" is no number and adds nothing either:
# with 10.5 s the total is 10.5. What reads only the totals sees a passed run of ten seconds.
#
# Uses junit-report-merger 9.0.4 from npm, which reads reports that the script writes; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent junit-report-merger@9.0.4 || exit 2
cat > try.js <<'END'
const { readFileSync, writeFileSync } = require("fs");
const { mergeFiles } = require("junit-report-merger");

const suite = (name, attributes, cases) => `<testsuites><testsuite name="${name}"${attributes}>${cases}</testsuite></testsuites>`;
const COUNTS = ' tests="1" failures="0" errors="0" skipped="0"';
writeFileSync("passed.xml", suite("a", COUNTS + ' time="10.5"', '<testcase name="x" time="10.5"/>'));
writeFileSync("failed.xml", suite("b", "", '<testcase name="y" time="2"><failure message="no"/></testcase>'));
writeFileSync("long.xml", suite("c", COUNTS + ' time="1,234.567"', '<testcase name="z" time="1,234.567"/>'));

(async () => {
  console.log("junit-report-merger", require("junit-report-merger/package.json").version);
  const seen = [];
  for (const other of ["failed.xml", "long.xml"]) {
    await mergeFiles("merged.xml", ["passed.xml", other]);
    const text = readFileSync("merged.xml", "utf8");
    const totals = text.match(/<testsuites[^>]*>/)[0];
    const cases = text.match(/<testcase/g).length;
    const failures = (text.match(/<failure/g) ?? []).length;
    console.log(`passed.xml and ${other}: ${cases} cases, ${failures} failures; ${totals}`);
    seen.push(cases, failures, ...["tests", "failures", "time"].map((name) => totals.match(` ${name}="([^"]*)"`)[1]));
  }
  process.exit(seen.join() === "2,1,1,0,10.5,2,0,2,0,10.5" ? 0 : 1);
})();
END
node try.js
