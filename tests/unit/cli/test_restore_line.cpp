// SPDX-License-Identifier: Apache-2.0
#include "release_options.hpp"
#include "session.hpp"
#include "support/catch.hpp"

namespace decant::cli {

TEST_CASE("a word is quoted for the shell where it needs it") {
  struct Row {
    std::string word;
    std::string quoted;
  };
  const std::vector<Row> rows{
      {"", "''"},
      {"a", "a"},
      {"releases/r1", "releases/r1"},
      {"hf://datasets/org/name@v1", "hf://datasets/org/name@v1"},
      {"NAME=/a,b:c+d%e_f-g", "NAME=/a,b:c+d%e_f-g"},
      {"a b", "'a b'"},
      {"media/**", "'media/**'"},
      {"a?[b]", "'a?[b]'"},
      {"~/x", "'~/x'"},
      {"$HOME", "'$HOME'"},
      {"`x`", "'`x`'"},
      {"a\"b\\c", "'a\"b\\c'"},
      {"it's", "'it'\\''s'"},
      {"'", "''\\'''"},
      {"a\nb", "'a\nb'"},
      {"grün", "'grün'"},
  };
  for (const auto& row : rows) {
    DYNAMIC_SECTION(row.quoted) {
      CHECK(shell_quote(row.word) == row.quoted);
    }
  }
}

TEST_CASE("the restore line holds every option that changes what is done or how") {
  struct Row {
    std::string name;
    ReleaseOptions options;
    std::string line;
  };
  const std::vector<Row> rows{
      {"the least",
       {.source = "org/name", .bundle = "b"},
       "decant restore org/name --revision c0 --bundle b"},
      {"a revision in SOURCE gives way",
       {.source = "hf://datasets/org/name@v1/a@b", .bundle = "b"},
       "decant restore hf://datasets/org/name/a@b --revision c0 --bundle b"},
      {"a sign in PATH stays",
       {.source = "hf://datasets/org/name/a@b", .bundle = "b"},
       "decant restore hf://datasets/org/name/a@b --revision c0 --bundle b"},
      {"how it is done",
       {.source = "org/name",
        .bundle = "b",
        .jobs = 2,
        .connections = 8,
        .limit_rate = "500M",
        .memory = "192M",
        .stall_timeout = "5s"},
       "decant restore org/name --revision c0 --bundle b --jobs 2 --connections 8 --limit-rate 500M --memory "
       "192M "
       "--stall-timeout 5s"},
      {"all",
       {.source = "org/name",
        .repo_type = "model",
        .release = "r 1",
        .revision = "main",
        .manifest = "m.json",
        .loose = true,
        .bundle = "b",
        .roots = {"x=/x", "y=/y z"},
        .runtime_root = "/tmp",
        .cache = "none",
        .from = {"dir:/mnt/a b", "http://mirror/x"},
        .only = {"media", "a/*"},
        .skip = {"runtime"},
        .reextract = true,
        .offline = true,
        .endpoint = "http://[::1]:1"},
       "decant restore org/name --repo-type model --release 'r 1' --revision c0 --manifest m.json --loose "
       "--bundle b --runtime-root /tmp --root x=/x --root 'y=/y z' --download-cache none --from 'dir:/mnt/a "
       "b' --from http://mirror/x --only media "
       "--only 'a/*' --skip runtime --endpoint 'http://[::1]:1' --reextract --offline"},
  };
  for (const auto& row : rows) {
    DYNAMIC_SECTION(row.name) {
      CHECK(restore_line(row.options, "c0") == row.line);
    }
  }
}

}  // namespace decant::cli
