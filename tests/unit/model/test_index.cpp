// SPDX-License-Identifier: Apache-2.0
#include "decant/model/index.hpp"

#include <algorithm>
#include <chrono>

#include "model_support.hpp"
#include "support/golden.hpp"

using namespace decant;
using namespace decant::model;
using test::path_of;
using test::sha256_of;
using test::with;

namespace {

IndexEntry file(std::string_view path, std::uint64_t size, char digit) {
  return {.path = path_of(path),
          .type = EntryType::file,
          .size = size,
          .sha256 = sha256_of(digit),
          .mtime = 1700000000};
}

PartIndex sample() {
  PartIndex index;
  index.part_digest = sha256_of('0');
  index.part_size = 100;
  index.entries.push_back({.path = path_of("d"), .type = EntryType::dir, .mtime = -1});
  index.entries.push_back(file("d/run.sh", 7, '1'));
  index.entries.back().executable = true;
  index.entries.push_back({.path = path_of("d/link"), .type = EntryType::symlink, .target = "../a \"b\""});
  index.entries.push_back(file("d/same", 7, '1'));
  index.entries.back().same_as = path_of("d/run.sh");
  index.entries.push_back(file("odd\xFFname", 0, '2'));
  index.entries.push_back({.path = path_of("l2"), .type = EntryType::symlink, .target = "\xFE"});
  return index;
}

PartIndex framed() {
  PartIndex index = sample();
  index.frames = {{.offset = 0, .size = 60, .sha256 = sha256_of('5'), .tar_offset = 0},
                  {.offset = 60, .size = 40, .sha256 = sha256_of('6'), .tar_offset = 1024}};
  return index;
}

const std::string k_sha_1(64, '1');

}  // namespace

TEST_CASE("an index's text is fixed to the byte") {
  CHECK(to_jsonl(sample()) == R"({"schema":"decant.index/1","part":{"size":100,"sha256":")" +
                                  std::string(64, '0') +
                                  R"("},"entries":6,"bytes":14})"
                                  "\n"
                                  R"({"type":"dir","path":"d","mtime":-1})"
                                  "\n"
                                  R"({"type":"file","path":"d/run.sh","size":7,"sha256":")" +
                                  k_sha_1 +
                                  R"(","executable":true,"mtime":1700000000})"
                                  "\n"
                                  R"({"type":"symlink","path":"d/link","target":"../a \"b\""})"
                                  "\n"
                                  R"({"type":"file","path":"d/same","size":7,"sha256":")" +
                                  k_sha_1 +
                                  R"(","same_as":"d/run.sh","mtime":1700000000})"
                                  "\n"
                                  R"({"type":"file","path_hex":"6f6464ff6e616d65","size":0,"sha256":")" +
                                  std::string(64, '2') +
                                  R"(","mtime":1700000000})"
                                  "\n"
                                  R"({"type":"symlink","path":"l2","target_hex":"fe"})"
                                  "\n");
}

TEST_CASE("an index is as the documented example") {
  test::check_golden("formats/part.index.jsonl", to_jsonl(framed()));
}

TEST_CASE("an index comes back as it was") {
  for (const PartIndex& index : {sample(), framed()}) {
    const PartIndex back = parse_index(to_jsonl(index), "i");
    CHECK(to_jsonl(back) == to_jsonl(index));
    CHECK(back.part_digest == index.part_digest);
    CHECK(back.part_size == index.part_size);
    CHECK(back.frames.size() == index.frames.size());
    REQUIRE(back.entries.size() == index.entries.size());
    for (std::size_t i = 0; i < back.entries.size(); ++i) {
      CHECK(back.entries[i].path == index.entries[i].path);
      CHECK(back.entries[i].type == index.entries[i].type);
      CHECK(back.entries[i].executable == index.entries[i].executable);
      CHECK(back.entries[i].size == index.entries[i].size);
      CHECK(back.entries[i].sha256 == index.entries[i].sha256);
      CHECK(back.entries[i].target == index.entries[i].target);
      CHECK(back.entries[i].same_as == index.entries[i].same_as);
      CHECK(back.entries[i].mtime == index.entries[i].mtime);
    }
  }
}

TEST_CASE("an index of a git blob or of nothing comes back too") {
  PartIndex index;
  index.part_digest = test::git_of('7');
  const PartIndex back = parse_index(to_jsonl(index), "i");
  CHECK(back.part_digest == index.part_digest);
  CHECK(back.entries.empty());
}

TEST_CASE("an index that contradicts itself is refused") {
  const std::string good = to_jsonl(sample());
  const std::string frames = to_jsonl(framed());
  const auto edit = [&](std::string_view from, std::string_view to) { return with(good, from, to); };
  const auto lines = [](int entries, std::uint64_t bytes, const std::string& body) {
    return R"({"schema":"decant.index/1","part":{"size":1,"sha256":")" + std::string(64, '0') +
           R"("},"entries":)" + std::to_string(entries) + ",\"bytes\":" + std::to_string(bytes) + "}\n" +
           body;
  };
  const std::string dir = R"({"type":"dir","path":"d","mtime":0})"
                          "\n";
  const std::string big = R"(,"size":9223372036854775807,"sha256":")" + k_sha_1 +
                          R"(","mtime":0})"
                          "\n";
  struct Row {
    const char* name;
    std::string text;
    std::vector<const char*> words;
  };
  const Row rows[] = {
      {"empty", "", {"the index is empty"}},
      {"no newline", "{}", {"line 1", "newline"}},
      {"not JSON", "x\n", {"line 1, column 1", "not valid JSON"}},
      {"no schema", "{}\n", {"not a part index", "no schema"}},
      {"foreign", edit("decant.index/1", "other/1"), {"not a part index", "other/1"}},
      {"too new", edit("decant.index/1", "decant.index/2"), {"too new", "newer decant"}},
      {"no part", edit("\"part\"", "\"x\""), {"part", "missing"}},
      {"part size", edit(":100", ":-1"), {"part.size"}},
      {"part digest", edit(std::string(64, '0'), "00"), {"part.sha256"}},
      {"no entries", edit("\"entries\"", "\"x\""), {"entries", "missing"}},
      {"fewer entries", edit("\"entries\":6", "\"entries\":7"), {"7 entries", "found 6"}},
      {"more entries", edit("\"entries\":6", "\"entries\":5"), {"5 entries", "found 6"}},
      {"a huge promise", edit("\"entries\":6", "\"entries\":9223372036854775807"), {"entries are missing"}},
      {"bytes", edit("\"bytes\":14", "\"bytes\":15"), {"15 bytes", "found 14"}},
      {"cut in a line", good.substr(0, good.size() - 5), {"line 7", "newline"}},
      {"cut after a line", good.substr(0, good.rfind('{')), {"6 entries", "found 5"}},
      {"empty line", edit("\n", "\n\n"), {"line 2", "ends too early"}},
      {"bad line", edit("{\"type\":\"symlink\"", "{type:"), {"line 4, column 3"}},
      {"a line is a list",
       edit("{\"type\":\"dir\",\"path\":\"d\",\"mtime\":-1}", "[]"),
       {"line 2", "an object"}},
      {"duplicate key",
       edit("\"mtime\":-1", "\"mtime\":-1,\"path\":\"e\""),
       {"line 2", "\"path\" appears twice"}},
      {"unknown type", edit("\"dir\"", "\"fifo\""), {"line 2: type", "\"fifo\""}},
      {"no type", edit("\"type\"", "\"t\""), {"line 2: type", "missing"}},
      {"no path", edit("\"path\"", "\"p\""), {"line 2: path", "missing"}},
      {"path leaves", edit("d/run.sh", "../run.sh"), {"line 3", "../run.sh"}},
      {"path absolute", edit("d/run.sh", "/run.sh"), {"line 3", "/run.sh"}},
      {"path empty", edit("\"d\"", "\"\""), {"line 2", "empty"}},
      {"no size", edit("\"size\":7", "\"s\":7"), {"line 3: size"}},
      {"size exponent", edit("\"size\":7", "\"size\":7e0"), {"line 3: size", "7e0"}},
      {"digest", edit(k_sha_1, "1"), {"line 3: sha256"}},
      {"executable", edit("true", "1"), {"line 3: executable"}},
      {"no target", edit("\"target\"", "\"t\""), {"line 4: target"}},
      {"empty target", edit("../a \\\"b\\\"", ""), {"line 4", "link target"}},
      {"NUL in a target", edit("../a", "\\u0000"), {"line 4", "NUL"}},
      {"no mtime", edit("\"mtime\"", "\"m\""), {"line 2: mtime"}},
      {"mtime a float", edit("-1", "-1.5"), {"line 2: mtime", "-1.5"}},
      {"same_as nothing",
       edit("\"same_as\":\"d/run.sh\"", "\"same_as\":\"d/other\""),
       {"d/same", "earlier file"}},
      {"same_as itself",
       edit("\"same_as\":\"d/run.sh\"", "\"same_as\":\"d/same\""),
       {"d/same", "earlier file"}},
      {"same_as a directory",
       edit("\"same_as\":\"d/run.sh\"", "\"same_as\":\"d\""),
       {"d/same", "earlier file"}},
      {"same_as other content",
       edit(k_sha_1 + "\",\"same_as\"", std::string(64, '9') + "\",\"same_as\""),
       {"d/same", "the same content"}},
      {"same path twice", lines(2, 0, dir + dir), {"entry 2 (d)", "each path once"}},
      {"below a link",
       lines(2, 0,
             R"({"type":"symlink","path":"d","target":"/etc"})"
             "\n" +
                 with(dir, "\"d\"", "\"d/e/f\"")),
       {"entry 2 (d/e/f)", "d is none"}},
      {"below a link that comes later",
       lines(2, 0,
             with(dir, "\"d\"", "\"d/e/f\"") + R"({"type":"symlink","path":"d","target":"/etc"})"
                                               "\n"),
       {"entry 1 (d/e/f)", "d is none"}},
      {"sizes past 2^63",
       lines(2, 0, R"({"type":"file","path":"a")" + big + R"({"type":"file","path":"b")" + big),
       {"line 3", "below 2^63"}},
      {"frame gap", with(frames, "\"offset\":60", "\"offset\":61"), {"line 3", "a frame at 60", "61"}},
      {"frame overlap", with(frames, "\"offset\":60", "\"offset\":59"), {"line 3", "a frame at 60"}},
      {"frame past the end", with(frames, "\"size\":40", "\"size\":41"), {"line 3", "100 bytes"}},
      {"frame of nothing", with(frames, "\"size\":40", "\"size\":0"), {"line 3"}},
      {"frames end early", with(frames, "\"size\":40", "\"size\":39"), {"do not tile", "99 bytes"}},
      {"frame count", with(frames, "\"frames\":2", "\"frames\":3"), {"do not tile", "3 frames"}},
      {"frames begin late in the tar stream",
       with(frames, "\"tar_offset\":0", "\"tar_offset\":5"),
       {"0 for the first"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto problem = test::problem_of([&] { parse_index(row.text, "a.index"); });
    CHECK(problem.kind == ErrorKind::state);
    CHECK_FALSE(problem.hint.empty());
    CHECK_THAT(to_line(problem), Catch::StartsWith("a.index: "));
    for (const char* word : row.words) CHECK_THAT(to_line(problem), Catch::Contains(word));
  }
}

TEST_CASE("unknown keys in an index are ignored") {
  std::string text = with(to_jsonl(sample()), "\"bytes\":14", "\"bytes\":14,\"x\":{\"a\":[1.5]}");
  text = with(text, "\"mtime\":-1", "\"mtime\":-1,\"mode\":\"0755\"");
  CHECK(to_jsonl(parse_index(text, "i")) == to_jsonl(sample()));
}

TEST_CASE("a large index is printed in pieces of bounded size") {
  class Pieces final : public ByteSink {
   public:
    void write(Bytes bytes) override {
      longest = std::max(longest, bytes.size());
      text += as_text(bytes);
    }
    std::size_t longest = 0;
    std::string text;
  } pieces;
  PartIndex index = framed();
  for (int i = 0; i < 5000; ++i) index.entries.push_back(file("f/" + std::to_string(i), 1, '3'));
  to_jsonl(index, pieces);
  CHECK(pieces.text == to_jsonl(index));
  CHECK(pieces.text.size() > 500 * k_kib);
  CHECK(pieces.longest < 128 * k_kib);
}

TEST_CASE("a large index is read in a moment and costs little memory") {
  constexpr std::size_t k_entries = 40'000;
  CHECK(sizeof(IndexEntry) <= 200);
  PartIndex index;
  index.part_digest = sha256_of('0');
  for (std::size_t i = 0; i < k_entries; ++i) {
    index.entries.push_back(
        file("media/sft/images/" + std::to_string(i % 100) + "/" + std::to_string(i) + ".jpg", i, '3'));
  }
  const std::string text = to_jsonl(index);
  const auto start = std::chrono::steady_clock::now();
  const PartIndex back = parse_index(text, "i");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(back.entries.size() == k_entries);
  CHECK(back.entries.capacity() <= k_entries * 2);
  INFO("seconds: " << took.count());
  CHECK(took.count() < 5.0);  // loose: sanitizers and busy machines; bench measures it
}
