// SPDX-License-Identifier: Apache-2.0
// decant-test-hub: serves directories as repos of a hub on loopback, for the demo and the conformance
// scripts.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "decant/base/bytes.hpp"
#include "decant/base/fd.hpp"
#include "support/test_hub.hpp"
#include "support/tls.hpp"

namespace decant::test {
namespace {

struct Options {
  std::vector<std::string> repos;
  std::vector<std::string> directories;
  std::vector<std::string> types;
  std::vector<std::string> revisions;
  std::string lfs_min = "1M";
  bool xet = false;
  bool resolve_cache = false;
  std::vector<std::string> tokens;
  std::string gated;
  bool is_private = false;
  std::vector<std::string> renamed_from;
  std::string rate = "0";
  std::string total_rate = "0";
  std::size_t page_size = 0;
  std::int64_t url_lifetime = 3600;
  std::string tls_host;
  std::string tls_directory;
  std::string port_file;
  std::string log_file;
  std::vector<std::string> faults;
  bool until_eof = false;
};

std::uint64_t size_of(const std::string& option, const std::string& text) {
  const auto size = parse_size(text);
  if (!size) throw std::runtime_error{option + ": not a size: " + text};
  return *size;
}

std::vector<HubFile> files_below(const std::filesystem::path& directory) {
  std::vector<HubFile> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory}) {
    if (!entry.is_regular_file()) continue;  // a link to a file is served as the file
    files.push_back({.path = entry.path().lexically_relative(directory).generic_string(),
                     .content = Content::from_file(entry.path().string())});
  }
  return files;
}

// The n-th of values given once or once for each repo.
const std::string& value_for(const std::vector<std::string>& values, std::size_t n) {
  return values[std::min(n, values.size() - 1)];
}

std::string add_repos(TestHub& hub, const Options& options) {
  if (options.repos.size() != options.directories.size())
    throw std::runtime_error{"one --dir for each --repo"};
  std::string lines;
  for (std::size_t i = 0; i < options.repos.size(); ++i) {
    auto& repo = hub.add_repo({.type = value_for(options.types, i),
                               .id = options.repos[i],
                               .renamed_from = options.renamed_from,
                               .is_private = options.is_private,
                               .gated = options.gated,
                               .accepted_tokens = options.tokens,
                               .resolve_cache = options.resolve_cache,
                               .lfs_min = size_of("--lfs-min", options.lfs_min),
                               .big_files = options.xet ? Store::xet : Store::lfs});
    lines +=
        "COMMIT=" + repo.add_commit(files_below(options.directories[i]), {value_for(options.revisions, i)}) +
        "\n";
  }
  return lines;
}

void set_up(TestHub& hub, const Options& options) {
  for (const std::string& token : options.tokens) hub.add_token(token);
  hub.set_rate(size_of("--rate", options.rate), size_of("--total-rate", options.total_rate));
  hub.set_page_size(options.page_size);
  hub.set_url_lifetime(std::chrono::seconds{options.url_lifetime});
  for (const std::string& fault : options.faults) hub.add_fault(parse_fault(fault));
}

// The file appears with all its lines at once: scripts wait for it.
void write_port_file(const std::string& path, const std::string& lines) {
  const std::string temporary = path + ".tmp";
  std::ofstream{temporary} << lines;
  std::filesystem::rename(temporary, path);
}

void wait_for_end(const Fd& signals, bool until_eof) {
  std::array<pollfd, 2> watched{pollfd{signals.get(), POLLIN, 0},
                                pollfd{until_eof ? STDIN_FILENO : -1, POLLIN, 0}};
  while (::poll(watched.data(), watched.size(), -1) < 0 || watched[0].revents == 0) {
    if (watched[1].revents == 0) continue;
    std::array<char, 4096> ignored{};
    if (::read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) return;
  }
}

nlohmann::json counters_json(const HubCounters& counters) {
  return {{"requests_hub", counters.requests_hub},
          {"requests_cdn", counters.requests_cdn},
          {"bytes_hub", counters.bytes_hub},
          {"bytes_cdn", counters.bytes_cdn},
          {"connections_hub", counters.connections_hub},
          {"connections_cdn", counters.connections_cdn},
          {"peak_connections_cdn", counters.peak_cdn}};
}

// One JSON object a line; of a token only that there was one.
void write_log(const std::string& path, const std::vector<LoggedRequest>& requests) {
  std::ofstream out{path};
  for (const LoggedRequest& request : requests) {
    const nlohmann::json line{{"listener", request.where == Where::cdn ? "cdn" : "hub"},
                              {"connection", request.connection},
                              {"method", request.method},
                              {"target", request.target},
                              {"range", request.range},
                              {"authorization", request.has_authorization},
                              {"status", request.status},
                              {"body_sent", request.body_sent},
                              {"complete", request.complete}};
    out << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }
}

std::uint16_t port_of(const std::string& origin) {
  return static_cast<std::uint16_t>(std::stoul(origin.substr(origin.rfind(':') + 1)));
}

// Hub and CDN become https://HOST:PORT, with a certificate of a CA whose file lies in the directory.
std::vector<std::unique_ptr<TlsFront>> put_behind_tls(TestHub& hub, const Options& options) {
  std::vector<std::unique_ptr<TlsFront>> fronts;
  if (options.tls_host.empty()) return fronts;
  TestCa ca{options.tls_directory};
  const auto files = ca.issue({.host = options.tls_host});
  std::vector<std::string> origins;
  for (const std::string& origin : {hub.endpoint(), hub.cdn_origin()}) {
    fronts.push_back(std::make_unique<TlsFront>(files, port_of(origin)));
    origins.push_back("https://" + options.tls_host + ":" + std::to_string(fronts.back()->port()));
  }
  hub.set_origins(origins[0], origins[1]);
  return fronts;
}

void serve(const Options& options, const Fd& signals) {
  TestHub hub;
  set_up(hub, options);
  const auto fronts = put_behind_tls(hub, options);
  const std::string lines = "HF_ENDPOINT=" + hub.endpoint() + "\n" + add_repos(hub, options);
  std::cout << lines << std::flush;
  if (!options.port_file.empty()) write_port_file(options.port_file, lines);
  wait_for_end(signals, options.until_eof);
  std::cout << counters_json(hub.counters()).dump() << std::endl;
  if (!options.log_file.empty()) write_log(options.log_file, hub.requests());
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--repo", options.repos, "ORG/NAME; may be given several times, each with its --dir")
      ->required();
  app.add_option("--dir", options.directories, "Directory whose files are the repo")->required();
  app.add_option("--type", options.types, "dataset (default) or model; once, or once for each repo")
      ->check(CLI::IsMember({"dataset", "model", "space"}));
  app.add_option("--revision", options.revisions,
                 "Ref of the commit, default main; once, or once for each repo");
  app.add_option("--lfs-min", options.lfs_min, "Files of this size or more are in LFS (default 1M)");
  app.add_flag("--xet", options.xet, "Files of --lfs-min or more are in Xet");
  app.add_flag("--resolve-cache", options.resolve_cache, "Small files answer 307 to /api/resolve-cache");
  app.add_option("--token", options.tokens, "A valid token that may read the repos");
  app.add_flag_callback(
      "--gated", [&options] { options.gated = "auto"; }, "The repos are gated");
  app.add_flag("--private", options.is_private, "The repos are private");
  app.add_option("--renamed-from", options.renamed_from, "An old ORG/NAME of the repo, answered with 307");
  app.add_option("--rate", options.rate, "Bytes per second of one connection; 0: unlimited");
  app.add_option("--total-rate", options.total_rate, "Bytes per second of all connections; 0: unlimited");
  app.add_option("--page-size", options.page_size, "Entries of one page of a listing (default 1000)");
  app.add_option("--url-lifetime", options.url_lifetime, "Seconds that a signed URL lives (default 3600)");
  auto* host =
      app.add_option("--tls-host", options.tls_host, "Serve https under this host name, on 127.0.0.1");
  app.add_option("--tls-dir", options.tls_directory, "Where ca.pem and the certificate are written")
      ->needs(host);
  app.add_option("--port-file", options.port_file, "Also write the lines of stdout here, once serving");
  app.add_option("--log", options.log_file, "Write the requests here at the end, one JSON object a line");
  app.add_option("--fault", options.faults, "A fault, for instance \"cdn path=*.tar skip=1 cut_after=1000\"");
  app.add_flag("--until-eof", options.until_eof, "End when stdin is closed");
}

int run(int argc, char** argv) {
  // Before the first thread, so that all of them inherit it and only signalfd sees these signals.
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const Fd signals{::signalfd(-1, &set, SFD_CLOEXEC)};

  CLI::App app{"Serve directories as repos of a hub on loopback"};
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.types.empty()) options.types = {"dataset"};
  if (options.revisions.empty()) options.revisions = {"main"};
  serve(options, signals);
  return 0;
}

}  // namespace
}  // namespace decant::test

int main(int argc, char** argv) {
  try {
    return decant::test::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "decant-test-hub: %s\n", error.what());
    return 2;
  }
}
