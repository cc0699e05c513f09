// SPDX-License-Identifier: Apache-2.0
// node js_client.mjs ENDPOINT files|slices|snapshot TYPE REVISION OUT TOKEN
import { mkdir, writeFile, cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { downloadFile, fileDownloadInfo, listFiles, snapshotDownload } from "@huggingface/hub";

const [endpoint, how, type, revision, out, token] = process.argv.slice(2);
const common = {
  repo: { type, name: "org/name" }, revision, hubUrl: endpoint, ...(token ? { accessToken: token } : {}),
};

async function content(path, size) {
  if (how !== "slices" || size === 0) {
    const blob = await downloadFile({ ...common, path, xet: false });
    if (!blob) throw new Error(`no such file: ${path}`);
    return Buffer.from(await blob.arrayBuffer());
  }
  const pieces = [];
  const step = Math.max(1, Math.ceil(size / 3));
  for (let at = 0; at < size; at += step) {
    const blob = await downloadFile({ ...common, path, xet: false });
    pieces.push(Buffer.from(await blob.slice(at, Math.min(at + step, size)).arrayBuffer()));
  }
  return Buffer.concat(pieces);
}

if (how === "snapshot") {
  const snapshot = await snapshotDownload({ ...common, cacheDir: `${out}.cache`, xet: false });
  await cp(snapshot, out, { recursive: true, dereference: true });
} else {
  for await (const entry of listFiles({ ...common, recursive: true })) {
    if (entry.type !== "file") continue;
    const info = await fileDownloadInfo({ ...common, path: entry.path });
    if (info.size !== entry.size) throw new Error(`${entry.path}: ${info.size} by info, ${entry.size} by listing`);
    const path = join(out, entry.path);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, await content(entry.path, entry.size));
  }
}
