// Builds the dashboard into dist/: four files that the program serves. With --tests: the unit tests into out/.

import { build } from "esbuild";
import { copyFile, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";

/** Libraries whose code ends up in app.js or app.css, and the file that holds each one's licence. */
const BUNDLED = { preact: "LICENSE", uplot: "LICENSE" };

const common = { bundle: true, jsx: "automatic", jsxImportSource: "preact", logLevel: "warning" };

/** The licences of all bundled libraries, as a comment. */
async function notices() {
  const parts = [];
  for (const [name, file] of Object.entries(BUNDLED)) {
    const { version, license } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
    const text = (await readFile(`node_modules/${name}/${file}`, "utf8")).trim();
    parts.push(`${name} ${version} (${license})\n\n${text}`);
  }
  return `/*! Libraries in this file, and their licences:\n\n${parts.join("\n\n").replaceAll("*/", "* /")}\n*/\n`;
}

/** Fails if a library is bundled whose licence is not kept. */
function expectKnown(inputs) {
  const used = Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  const unknown = [...new Set(used)].filter((name) => name && !(name in BUNDLED));
  if (unknown.length) throw new Error(`bundled without a licence notice: ${unknown.join(", ")}`);
}

async function page() {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist", { recursive: true });
  const result = await build({
    ...common,
    entryPoints: { app: "src/main.tsx" },
    outdir: "dist",
    minify: true,
    metafile: true,
    legalComments: "none",
    target: ["es2021", "chrome94", "firefox93", "safari15.4"],
  });
  expectKnown(result.metafile.inputs);
  const text = await notices();
  for (const name of ["app.js", "app.css"]) {
    await writeFile(`dist/${name}`, (await readFile(`dist/${name}`, "utf8")) + text);
  }
  for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `dist/${name}`);
  let bytes = 0;
  for (const name of ["index.html", "icon.svg", "app.js", "app.css"]) bytes += (await stat(`dist/${name}`)).size;
  if (bytes > 300_000) throw new Error(`dist/ has ${bytes} bytes; 300,000 are allowed`);
  console.log(`dashboard: web/dist, ${Math.round(bytes / 1000)} kB`);
}

async function tests() {
  await build({ ...common, entryPoints: ["tests/all.test.ts"], outfile: "out/all.test.mjs", format: "esm", platform: "node" });
}

await (process.argv.includes("--tests") ? tests() : page());
