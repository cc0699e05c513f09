// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <algorithm>
#include <map>

#include "decant/hub/hub.hpp"
#include "modelscope_place.hpp"
#include "support/catch.hpp"
#include "token.hpp"

namespace decant::cli {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Variables = std::map<std::string, std::string>;

namespace {

Session session_with(Variables variables) {
  Io io;
  io.getenv = [variables](const std::string& name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional{it->second};
  };
  io.clock = &system_clock();
  return Session{std::move(io)};
}

}  // namespace

TEST_CASE("a switch is on for the four words of the official client") {
  for (const std::string word : {"1", "ON", "on", "Yes", "TRUE", "true"}) CHECK(is_on(word));
  for (const std::string word : {"0", "", "2", "off", "y", " 1", "truely"}) CHECK_FALSE(is_on(word));
  CHECK_FALSE(is_on(std::nullopt));
}

TEST_CASE("time limits come from the flag, else from the client's variables, else they stay") {
  struct Row {
    Variables variables;
    std::string flag;
    milliseconds stall;
    milliseconds connect;
  };
  const std::vector<Row> rows{
      {{}, "", seconds{30}, seconds{15}},
      {{{"HF_HUB_DOWNLOAD_TIMEOUT", "120"}}, "", seconds{120}, seconds{15}},
      {{{"HF_HUB_DOWNLOAD_TIMEOUT", "5"}}, "", seconds{5}, seconds{5}},
      {{{"HF_HUB_DOWNLOAD_TIMEOUT", "5"}}, "60s", seconds{60}, seconds{15}},
      {{{"HF_HUB_DOWNLOAD_TIMEOUT", "abc"}}, "60s", seconds{60}, seconds{15}},
      {{{"HF_HUB_ETAG_TIMEOUT", "40"}}, "", seconds{30}, seconds{40}},
      {{{"HF_HUB_ETAG_TIMEOUT", "40"}}, "2s", seconds{2}, seconds{40}},
      {{}, "100ms", milliseconds{100}, seconds{1}},
  };
  for (const auto& row : rows) {
    net::TransportOptions options;
    set_network_limits(session_with(row.variables), row.flag, options);
    CHECK(options.stall_timeout.count() == row.stall.count());
    CHECK(options.connect_timeout.count() == row.connect.count());
    CHECK(options.ca_file.empty());
  }
  net::TransportOptions options;
  CHECK_THROWS_AS(set_network_limits(session_with({{"HF_HUB_ETAG_TIMEOUT", "1m"}}), "", options), Error);
}

TEST_CASE("the file of certificates is the first one that is named") {
  Variables all{{"SSL_CERT_FILE", "/a"}, {"REQUESTS_CA_BUNDLE", "/b"}, {"CURL_CA_BUNDLE", "/c"}};
  for (const std::string expected : {"/a", "/b", "/c"}) {
    net::TransportOptions options;
    set_network_limits(session_with(all), "", options);
    CHECK(options.ca_file == expected);
    all.erase(expected == "/a" ? "SSL_CERT_FILE" : "REQUESTS_CA_BUNDLE");
  }
}

TEST_CASE("paths are expanded as the official client does it") {
  const auto session = session_with({{"HOME", "/home/me"}, {"A", "x"}, {"LONG_2", "yz"}});
  struct Row {
    std::string path;
    std::string expanded;
  };
  const std::vector<Row> rows{
      {"/plain/path", "/plain/path"},
      {"~", "/home/me"},
      {"~/a", "/home/me/a"},
      {"~other/a", "~other/a"},
      {"a/~", "a/~"},
      {"$A/b", "x/b"},
      {"/p/${LONG_2}q", "/p/yzq"},
      {"$A$LONG_2", "xyz"},
      {"$NONE/${NONE}", "$NONE/${NONE}"},
      {"${A", "${A"},
      {"$", "$"},
      {"$$A", "$x"},
      {"a$/b", "a$/b"},
      {"", ""},
  };
  for (const auto& row : rows) {
    INFO(row.path);
    CHECK(expand_path(row.path, session) == row.expanded);
  }
}

TEST_CASE("progress and colour: the flag, else decant's variable, else what other tools understand") {
  using ui::ColorMode;
  using ui::ProgressMode;
  struct Row {
    Variables variables;
    std::vector<std::string> arguments;
    ProgressMode progress;
    ColorMode color;
    bool no_color;
  };
  constexpr auto k_auto = ProgressMode::automatic;
  const std::vector<Row> rows{
      {{}, {}, k_auto, ColorMode::automatic, false},
      {{{"HF_HUB_DISABLE_PROGRESS_BARS", "1"}}, {}, ProgressMode::none, ColorMode::automatic, false},
      {{{"HF_HUB_DISABLE_PROGRESS_BARS", "0"}}, {}, k_auto, ColorMode::automatic, false},
      {{{"HF_HUB_DISABLE_PROGRESS_BARS", "1"}, {"DECANT_PROGRESS", "plain"}},
       {},
       ProgressMode::plain,
       ColorMode::automatic,
       false},
      {{{"HF_HUB_DISABLE_PROGRESS_BARS", "1"}, {"DECANT_PROGRESS", "auto"}},
       {},
       k_auto,
       ColorMode::automatic,
       false},
      {{{"HF_HUB_DISABLE_PROGRESS_BARS", "1"}}, {"--progress", "auto"}, k_auto, ColorMode::automatic, false},
      {{{"NO_COLOR", "1"}}, {}, k_auto, ColorMode::automatic, true},
      {{{"NO_COLOR", ""}}, {}, k_auto, ColorMode::automatic, false},
      {{{"FORCE_COLOR", "1"}}, {}, k_auto, ColorMode::always, false},
      {{{"FORCE_COLOR", "0"}}, {}, k_auto, ColorMode::automatic, false},
      {{{"FORCE_COLOR", "1"}, {"NO_COLOR", "1"}}, {}, k_auto, ColorMode::automatic, true},
      {{{"FORCE_COLOR", "1"}, {"DECANT_COLOR", "never"}}, {}, k_auto, ColorMode::never, false},
      {{{"FORCE_COLOR", "1"}}, {"--color", "auto"}, k_auto, ColorMode::automatic, false},
      {{{"NO_COLOR", "1"}, {"DECANT_COLOR", "always"}}, {}, k_auto, ColorMode::always, true},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("row " << i);
    auto session = session_with(rows[i].variables);
    CLI::App app;
    auto* command = app.add_subcommand("verb");
    session.add_common_options(*command);
    std::vector<std::string> words = rows[i].arguments;
    words.insert(words.begin(), "verb");
    std::reverse(words.begin(), words.end());  // CLI11 takes them last first
    app.parse(words);
    session.read_environment();
    const auto options = session.console_options();
    CHECK((options.progress == rows[i].progress));
    CHECK((options.color == rows[i].color));
    CHECK(options.no_color_env == rows[i].no_color);
  }
}

TEST_CASE("a place at ModelScope takes its endpoint and token from the environment") {
  auto session = session_with({{"MODELSCOPE_ENDPOINT", "https://mirror.example"},
                               {"MODELSCOPE_API_TOKEN", " ms-canary\n"},
                               {"HF_TOKEN", "hf_other"}});
  const auto place = modelscope_place("modelscope:a/b@v1", "org/asked", model::RepoType::model, session);
  CHECK(place.repo == "a/b");
  CHECK(place.revision == "v1");
  CHECK(place.endpoint == "https://mirror.example");
  CHECK(place.token.value.reveal() == "ms-canary");
  CHECK(place.token.came_from == "MODELSCOPE_API_TOKEN");

  auto bare = session_with({{"HF_TOKEN", "hf_other"}});
  const auto same = modelscope_place("modelscope", "org/asked", model::RepoType::dataset, bare);
  CHECK(same.repo == "org/asked");
  CHECK(same.endpoint == "https://modelscope.cn");
  CHECK(same.token.value.empty());
  CHECK_THROWS_AS(modelscope_place("modelscope:x", "org/asked", model::RepoType::dataset, bare), Error);
}

}  // namespace decant::cli
