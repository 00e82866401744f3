// Builds the dashboard into dist/: the files that the program serves, scripts compressed. code.js, the editor of profiles, is loaded
// when it is needed.
// With --tests: the unit tests into out/.

import { build } from "esbuild";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { gzipSync } from "node:zlib";

/** Libraries whose code may end up in dist/. Each has its licence in a file LICENSE. */
const BUNDLED = [
  "preact", "uplot", "@codemirror/autocomplete", "@codemirror/commands", "@codemirror/lang-yaml", "@codemirror/language", "@codemirror/lint",
  "@codemirror/search", "@codemirror/state", "@codemirror/view", "@lezer/common", "@lezer/highlight", "@lezer/lr", "@lezer/yaml",
  "@marijn/find-cluster-break", "crelt", "style-mod", "w3c-keyname",
];

/** Most bytes of the files that every page loads, and of the editor, as gzip makes them. */
const [PAGE_MAX, EDITOR_MAX] = [100_000, 150_000];

const common = { bundle: true, jsx: "automatic", jsxImportSource: "preact", logLevel: "warning" };

/** Libraries in a file of dist/. Fails if there is one whose licence is not known. */
function libraries({ inputs }) {
  const used = Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  const names = [...new Set(used)].filter(Boolean).sort();
  const unknown = names.filter((name) => !BUNDLED.includes(name));
  if (unknown.length) throw new Error(`bundled without a licence notice: ${unknown.join(", ")}`);
  return names;
}

/** Licences of libraries, as a comment. Those with the same text share it. */
async function notices(names) {
  const texts = new Map();
  for (const name of names) {
    const { version, license } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
    const text = (await readFile(`node_modules/${name}/LICENSE`, "utf8")).trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const parts = [...texts].map(([text, those]) => `${those.join("\n")}\n\n${text}`);
  return `/*! Libraries in this file, and their licences:\n\n${parts.join("\n\n").replaceAll("*/", "* /")}\n*/\n`;
}

async function page() {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist", { recursive: true });
  const result = await build({
    ...common,
    entryPoints: { app: "src/main.tsx" },
    outdir: "dist",
    format: "esm",
    splitting: true,
    chunkNames: "[name]",
    minify: true,
    metafile: true,
    legalComments: "none",
    target: ["es2021", "chrome94", "firefox93", "safari15.4"],
  });
  const built = Object.entries(result.metafile.outputs);
  const names = built.map(([path]) => basename(path)).sort();
  if (names.join() !== "app.css,app.js,code.js") throw new Error(`dist/ has other files than expected: ${names.join(", ")}`);
  for (const [path, output] of built) await writeFile(path, (await readFile(path, "utf8")) + (await notices(libraries(output))));
  for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `dist/${name}`);
  const size = async (...files) => (await Promise.all(files.map((name) => readFile(`dist/${name}`)))).reduce((sum, text) => sum + gzipSync(text).length, 0);
  const [bytes, editor] = [await size("index.html", "icon.svg", "app.js", "app.css"), await size("code.js")];
  if (bytes > PAGE_MAX || editor > EDITOR_MAX) throw new Error(`dist/ has ${bytes} and ${editor} bytes; ${PAGE_MAX} and ${EDITOR_MAX} are allowed`);
  for (const [path] of built.filter(([path]) => path.endsWith(".js"))) {
    await writeFile(`${path}.gz`, gzipSync(await readFile(path), { level: 9 }));
    await rm(path);
  }
  console.log(`dashboard: web/dist, ${Math.round(bytes / 1000)} kB, and ${Math.round(editor / 1000)} kB for the editor, compressed`);
}

async function tests() {
  await build({ ...common, entryPoints: ["tests/all.test.ts"], outfile: "out/all.test.mjs", format: "esm", platform: "node" });
}

await (process.argv.includes("--tests") ? tests() : page());
