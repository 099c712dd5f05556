// SPDX-License-Identifier: Apache-2.0
// Bundles src/main.ts, style.css and index.html into one file: node build.mjs OUTPUT. The policy in the page allows exactly
// this script and this style, by their hashes.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const bundled = await build({
  entryPoints: ["src/main.ts"], bundle: true, minify: true, format: "iife", target: "es2021", charset: "ascii",
  legalComments: "none", write: false, metafile: true, logLevel: "warning",
});
const style = await build({ entryPoints: ["style.css"], minify: true, write: false, logLevel: "warning" });

const packages = new Set();
for (const path of Object.keys(bundled.metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
});

const script = bundled.outputFiles[0].text.replaceAll("</script", "<\\/script");
const css = style.outputFiles[0].text;
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(css)}; base-uri 'none'; form-action 'none'`;
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

const parts = { POLICY: policy, STYLE: css, LICENCES: escaped(licences.join("\n\n")), SCRIPT: script };
if (!existsSync("index.html")) throw new Error("index.html is missing");
const page = readFileSync("index.html", "utf8").replace(/@(POLICY|STYLE|LICENCES|SCRIPT)@/g, (_, name) => parts[name]);
if (page.split("@DATA@").length !== 2) throw new Error("the page must have one place for data");
writeFileSync(process.argv[2], page);
