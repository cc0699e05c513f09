// SPDX-License-Identifier: Apache-2.0
#include "decant/base/bytes.hpp"
#include "decant/ui/ui.hpp"
#include "support/golden.hpp"

using namespace decant;
using namespace decant::test;
using report::FindingKind;
using report::PartOutcome;

namespace {

constexpr std::uint64_t k_gb = 1'000'000'000;

report::Result verified() {
  report::Result result{.command = "verify", .verdict = "verified; 48,211 media files by size only"};
  result.trees["bundle"] = {.expected = 61'000,
                            .hashed = 12'000,
                            .size_only = 48'211,
                            .bytes_hashed = 20 * k_gb,
                            .from_manifest = 3,
                            .from_learned_index = 60'208,
                            .extra = 7,
                            .generated = 1,
                            .skipped = 0};
  result.trees["runtime"] = {
      .expected = 31'000, .hashed = 28'000, .bytes_hashed = 6 * k_gb, .from_pinned_index = 28'000};
  for (int i = 0; i < 7; ++i) result.notes.push_back({"extra", "bundle", "data/mine_" + std::to_string(i)});
  result.notes.push_back({"generated", "bundle", "swift_src/__pycache__"});
  result.digests = {{"bundle", false, std::string(64, 'a')},
                    {"runtime", true, std::string(64, 'b')},
                    {"swift-source", true, std::string(64, 'c')}};
  result.bundle_digest = report::TreeDigest{"bundle", false, std::string(64, 'd')};
  return result;
}

}  // namespace

TEST_CASE("result: verified, media by size only") {
  check_golden("golden/result_verified.txt", ui::render_result(verified(), 0, false));
}

TEST_CASE("result: damaged trees") {
  report::Result result = verified();
  result.verdict = "NOT verified: 27 findings";
  result.findings = {{.kind = FindingKind::differs,
                      .tree = "bundle",
                      .path = "data/train.parquet",
                      .part = "data",
                      .expected = "sha256 " + std::string(64, '1'),
                      .found = "sha256 " + std::string(64, '2')},
                     {.kind = FindingKind::truncated,
                      .tree = "base-model",
                      .path = "model-00002-of-00008.safetensors",
                      .expected = "4,998,000,000 bytes",
                      .found = "134 bytes",
                      .note = "a git-lfs pointer stands in its place; its oid is the expected digest"},
                     {.kind = FindingKind::tree_missing,
                      .tree = "swift-source",
                      .expected = "a directory at /nvme/sft/swift_src",
                      .found = "nothing",
                      .note = "1,402 expected entries"}};
  for (int i = 0; i < 24; ++i) {
    result.findings.push_back({.kind = FindingKind::missing,
                               .tree = "bundle",
                               .path = "media/" + std::to_string(100 + i) + "\x1b\n.jpg",
                               .part = "images_000"});
  }
  check_golden("golden/result_damaged.txt", ui::render_result(result, 1, false));
}

TEST_CASE("result: a restore that did most of it") {
  report::Result result{.command = "restore", .verdict = "not complete: 1 part failed, 1 has conflicts"};
  result.bytes_from_network = 41 * k_gb;
  result.bytes_written = 60 * k_gb;
  result.seconds = 312.4;
  result.parts = {{.name = "data",
                   .outcome = PartOutcome::staged,
                   .size = k_gb,
                   .bytes_from_network = k_gb,
                   .entries = 120,
                   .written = 118,
                   .adopted = 2,
                   .source = "https://huggingface.co"},
                  {.name = "images_000",
                   .outcome = PartOutcome::conflict,
                   .size = 40 * k_gb,
                   .bytes_from_network = 40 * k_gb,
                   .entries = 20'000,
                   .written = 19'999,
                   .source = "https://huggingface.co"},
                  {.name = "images_001",
                   .outcome = PartOutcome::failed,
                   .size = 40 * k_gb,
                   .problem = Problem{.kind = ErrorKind::integrity,
                                      .thing = "part images_001: SHA-256 differs",
                                      .expected = std::string(64, '1'),
                                      .found = std::string(64, '2'),
                                      .hint = "run restore again to fetch it anew"}},
                  {.name = "runtime", .outcome = PartOutcome::unchanged, .size = 3 * k_gb},
                  {.name = "extra", .outcome = PartOutcome::skipped, .size = 3 * k_gb}};
  result.conflicts = {{.part = "images_000",
                       .root = "bundle",
                       .path = "media/7.jpg",
                       .expected = "52,000 bytes",
                       .found = "a directory"}};
  result.problems = {{.kind = ErrorKind::network,
                      .thing = "mirror http://10.0.0.7 served wrong bytes twice",
                      .hint = "check that mirror"}};
  result.subset = true;
  check_golden("golden/result_partial.txt", ui::render_result(result, 8, false));
}

TEST_CASE("the summary counts bytes by place, unless all came from the hub") {
  report::Result result{.verdict = "done"};
  result.bytes_from_network = 2 * k_gb;
  result.parts = {{.name = "a", .outcome = PartOutcome::unchanged, .from = {{"hub", 2 * k_gb}}}};
  CHECK(ui::render_result(result, 0, false).find("from the hub") == std::string::npos);
  result.parts.push_back(
      {.name = "b", .outcome = PartOutcome::unchanged, .from = {{"dir:/mnt/usb", 18 * k_gb}, {"hub", k_gb}}});
  result.dropped_places = {"http://m\x1b"};
  const std::string text = ui::render_result(result, 0, false);
  CHECK(text.find(format_size(3 * k_gb) + " from the hub, " + format_size(18 * k_gb) +
                  " from dir:/mnt/usb\n") != std::string::npos);
  CHECK(text.find("Not used to the end: http://m\\x1b") != std::string::npos);
}

TEST_CASE("the verdict is the last line, coloured by the exit code") {
  report::Result result{.verdict = "unchanged"};
  CHECK(ui::render_result(result, 0, false) == "unchanged\n");
  CHECK(ui::render_result(result, 3, false) == "unchanged (exit code 3)\n");
  CHECK(ui::render_result(result, 0, true) == "\x1b[32munchanged\x1b[0m\n");
}
