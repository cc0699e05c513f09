#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds manifests/schema against the example manifests and against what decant writes (tests/data/formats).

usage: check_schemas.py SOURCE_DIR
Exits with 77 where the jsonschema package is missing.
"""
import copy
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: the Python package jsonschema (4.0 or later) is not installed")
    sys.exit(77)

REMOVED = object()


def load_schema(root, name):
    schema = json.loads((root / "manifests" / "schema" / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def edited(document, path, value):
    """A copy with one value replaced, or its key removed."""
    document = copy.deepcopy(document)
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is REMOVED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


class Checker:
    def __init__(self):
        self.failures = 0
        self.count = 0

    def good(self, schema, document, what):
        self.count += 1
        for error in schema.iter_errors(document):
            self.failures += 1
            print(f"{what}: {error.json_path}: {error.message[:300]}")

    def bad(self, schema, document, what):
        self.count += 1
        if schema.is_valid(document):
            self.failures += 1
            print(f"{what}: the schema takes what the parser refuses")


# What the parser refuses (tests/unit/model/test_manifest_refusals.cpp), the schema must not take.
BAD_MANIFESTS = [
    ("foreign schema", ["schema"], "other/1"),
    ("too new", ["schema"], "decant.release/2"),
    ("no release", ["release"], REMOVED),
    ("empty release id", ["release", "id"], ""),
    ("release id with controls", ["release", "id"], "a\nb"),
    ("requires", ["requires"], ["delta/1"]),
    ("no parts", ["parts"], REMOVED),
    ("part without name", ["parts", 0, "name"], REMOVED),
    ("part name with a slash", ["parts", 0, "name"], "a/b"),
    ("part name of dots", ["parts", 0, "name"], ".."),
    ("absolute path", ["parts", 0, "path"], "/etc/passwd"),
    ("path that leaves", ["parts", 0, "path"], "a/../../b"),
    ("empty path", ["parts", 0, "path"], ""),
    ("path with a trailing slash", ["parts", 0, "path"], "a/"),
    ("path with a double slash", ["parts", 0, "path"], "a//b"),
    ("path with a dot", ["parts", 0, "path"], "./a"),
    ("negative size", ["parts", 0, "size"], -1),
    ("size 2^63", ["parts", 0, "size"], 2**63),
    ("size as text", ["parts", 0, "size"], "5"),
    ("size with a fraction", ["parts", 0, "size"], 5.5),
    ("short digest", ["parts", 0, "sha256"], "abc"),
    ("upper-case digest", ["parts", 0, "sha256"], "A" * 64),
    ("neither unpack nor place", ["parts", 0, "unpack"], REMOVED),
    ("both unpack and place", ["parts", 0, "place"], {"root": "bundle", "as": "x"}),
    ("unpack without root", ["parts", 0, "unpack", "root"], REMOVED),
    ("under that leaves", ["parts", 0, "unpack", "under"], "../x"),
    ("window too large", ["parts", 0, "unpack", "window_log"], 32),
    ("unknown links word", ["parts", 0, "links"], "all"),
    ("unknown accept word", ["parts", 0, "accept"], ["dup"]),
    ("tag with a star", ["parts", 0, "tags"], ["a*"]),
    ("index without path", ["parts", 0, "index"], {}),
    ("tree without root", ["trees", 0, "root"], REMOVED),
    ("external tree without files", ["trees", 2, "files"], REMOVED),
    ("external file without digest", ["trees", 2, "files", 0, "sha256"], REMOVED),
    ("external file that leaves", ["trees", 2, "files", 0, "path"], "../x"),
    ("closed without root", ["closed", 0, "root"], REMOVED),
    ("check without type", ["checks"], [{"id": "a"}]),
]
BAD_LOCKS = [
    ("foreign schema", ["schema"], "decant.lock/2"),
    ("short commit", ["source", "commit"], "abc"),
    ("credentials", ["source", "endpoint"], "https://a:b@c"),
    ("unknown kind", ["source", "kind"], "ftp"),
    ("unknown origin", ["manifest", "origin"], "web"),
    ("no digest", ["digest"], REMOVED),
    ("negative size", ["parts", 0, "size"], -1),
    ("no path", ["parts", 0, "path"], REMOVED),
    ("no part digest", ["parts", 0, "sha256"], REMOVED),
    ("two part digests", ["parts", 0, "git-sha1"], "b" * 40),
]


def main():
    root = pathlib.Path(sys.argv[1])
    formats = root / "tests" / "data" / "formats"
    read = lambda path: json.loads(path.read_text(encoding="utf-8"))
    lines = lambda path: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    check = Checker()

    manifest = load_schema(root, "release_manifest.schema.json")
    examples = sorted((root / "manifests" / "examples").glob("*.json"))
    for path in examples:
        check.good(manifest, read(path), path.name)
    base = read(examples[0])
    for what, path, value in BAD_MANIFESTS:
        check.bad(manifest, edited(base, path, value), f"manifest, {what}")

    lock = load_schema(root, "restore_lock.schema.json")
    for path in sorted(formats.glob("restore_lock*.json")):
        check.good(lock, read(path), path.name)
    for what, path, value in BAD_LOCKS:
        check.bad(lock, edited(read(formats / "restore_lock.json"), path, value), f"lock, {what}")

    index = load_schema(root, "part_index.schema.json")
    records = lines(formats / "part.index.jsonl")
    for number, record in enumerate(records, 1):
        check.good(index, record, f"part.index.jsonl line {number}")
        for key in record:
            if key not in ("frames", "executable", "same_as", "same_as_hex"):
                check.bad(index, edited(record, [key], REMOVED), f"index line {number} without {key}")

    report = load_schema(root, "report.schema.json")
    check.good(report, read(formats / "report.json"), "report.json")
    for number, event in enumerate(lines(formats / "events.jsonl"), 1):
        check.good(report, event, f"events.jsonl line {number}")
    check.bad(report, edited(read(formats / "report.json"), ["verdict"], REMOVED), "report without verdict")
    check.bad(report, edited(read(formats / "report.json"), ["exit_code"], 99), "report with another exit code")

    print(f"{check.count} documents checked, {check.failures} failures")
    return 1 if check.failures or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
