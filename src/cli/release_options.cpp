// SPDX-License-Identifier: Apache-2.0
#include "release_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "decant/base/text.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/hub/hub.hpp"
#include "decant/source/mirror.hpp"
#include "environment.hpp"
#include "from_places.hpp"
#include "token.hpp"

namespace decant::cli {

namespace {

const std::string k_wait_for_ever = "true";  // as CLI11 calls a flag without a value

std::string read_manifest_file(const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd)
    throw Error{ErrorKind::usage, fmt::format("--manifest {}: cannot be opened", escape_for_display(path)),
                "check the path"};
  const auto facts = fs::facts_of(fd.get());
  if (facts.type != fs::FileType::file || facts.size > model::k_manifest_max_bytes)
    throw Error{ErrorKind::usage,
                fmt::format("--manifest {}: not a regular file of at most {}", escape_for_display(path),
                            format_size(model::k_manifest_max_bytes)),
                "name a release manifest (JSON)"};
  std::string text(facts.size, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const auto got = ::read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read the manifest", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

model::RepoType repo_type_of(const ReleaseOptions& options, const SourceArgument& source) {
  if (options.repo_type.empty()) return source.repo_type.value_or(model::RepoType::dataset);
  const auto given = options.repo_type == "model" ? model::RepoType::model : model::RepoType::dataset;
  if (source.repo_type && *source.repo_type != given)
    throw Error{
        ErrorKind::usage,
        fmt::format("SOURCE says {} and --repo-type says {}", to_string(*source.repo_type), to_string(given)),
        "write hf://datasets/ORG/NAME for a dataset, hf://models/ORG/NAME for a model"};
  return given;
}

std::optional<std::string> agreed(const std::string& flag_value, const std::optional<std::string>& in_source,
                                  std::string_view flag) {
  if (flag_value.empty()) return in_source;
  if (in_source && *in_source != flag_value)
    throw Error{ErrorKind::usage,
                fmt::format("SOURCE says '{}' and {} says '{}'", escape_for_display(*in_source), flag,
                            escape_for_display(flag_value)),
                "leave one of them out"};
  return flag_value;
}

std::string without_slashes(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

bool is_offline(const ReleaseOptions& options, const std::optional<SourceArgument>& source,
                const Session& session, For purpose) {
  // A directory is read without any connection.
  if (source && source->kind == model::SourceKind::directory) return false;
  if (session.is_given("DECANT_OFFLINE")) return options.offline;  // the flag, or its variable
  const auto variable = forbids_network(session);
  if (!variable) return false;
  if (purpose == For::fetch)
    throw Error{ErrorKind::usage, fmt::format("{} is set, and fetch is nothing but connections", *variable),
                fmt::format("unset {}, or set DECANT_OFFLINE=0, where there is a network", *variable)};
  session.reporter().message(progress::Level::info,
                             fmt::format("{} is set: no connection is opened, as with --offline", *variable));
  return true;
}

}  // namespace

// Output options are left out: they change nothing of what is done.
std::string restore_line(const ReleaseOptions& options, const std::string& commit) {
  std::string line = "decant restore";
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) line += fmt::format(" {} {}", flag, shell_quote(value));
  };
  const auto add_number = [&](std::string_view flag, std::optional<int> value) {
    if (value) line += fmt::format(" {} {}", flag, *value);
  };
  // A revision inside SOURCE gives way to the full commit.
  if (!options.source.empty()) line += " " + shell_quote(without_revision(options.source));
  add("--repo-type", options.repo_type);
  add("--release", options.release);
  add("--revision", commit);
  add("--manifest", options.manifest);
  if (options.loose) line += " --loose";
  add("--bundle", options.bundle);
  add("--runtime-root", options.runtime_root);
  for (const auto& root : options.roots) add("--root", root);
  add("--download-cache", options.cache);
  for (const auto& place : options.from) add("--from", place);
  for (const auto& word : options.only) add("--only", word);
  for (const auto& word : options.skip) add("--skip", word);
  add("--endpoint", options.endpoint);
  if (options.reextract) line += " --reextract";
  if (options.offline) line += " --offline";
  add_number("--jobs", options.jobs);
  add_number("--connections", options.connections);
  add("--limit-rate", options.limit_rate);
  add("--memory", options.memory);
  add("--stall-timeout", options.stall_timeout);
  if (!options.wait.empty())
    line += options.wait == k_wait_for_ever ? " --wait" : " --wait=" + shell_quote(options.wait);
  return line;
}

std::map<std::string, std::string> parse_places(const std::vector<std::string>& words,
                                                std::string_view flag) {
  std::map<std::string, std::string> places;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size())
      throw Error{ErrorKind::usage,
                  fmt::format("{} {}: not of the form NAME=DIR", flag, escape_for_display(word)),
                  fmt::format("for instance {} runtime=/tmp", flag)};
    if (!places.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      throw Error{ErrorKind::usage,
                  fmt::format("{} names '{}' twice", flag, escape_for_display(word.substr(0, equals))),
                  "give it once"};
  }
  return places;
}

std::chrono::milliseconds parse_time(const std::string& text, std::string_view flag) {
  std::uint64_t unit = 1000;
  std::string digits = text;
  for (const auto& [suffix, milliseconds] : {std::pair<std::string, std::uint64_t>{"ms", 1},
                                             {"s", 1000},
                                             {"m", 60'000},
                                             {"h", 3'600'000},
                                             {"d", 86'400'000}})
    if (digits.ends_with(suffix)) {
      unit = milliseconds;
      digits.resize(digits.size() - suffix.size());
      break;
    }
  const auto number = parse_u64(digits);
  constexpr std::uint64_t k_most = 36'500ULL * 86'400'000;  // a steady clock's nanoseconds hold more
  if (!number || *number == 0 || *number > k_most / unit)
    throw Error{ErrorKind::usage, fmt::format("{} {}: not a time", flag, escape_for_display(text)),
                "write 500ms, 30s, 2m, 12h or 30d"};
  return std::chrono::milliseconds{*number * unit};
}

void add_release_options(CLI::App& command, Session& session, ReleaseOptions& o, For purpose) {
  command.add_option("SOURCE", o.source,
                     std::string{"ORG/NAME, hf://datasets/ORG/NAME[@REV][/PATH], dir:PATH, a path, or "
                                 "http(s)://MIRROR"} +
                         (purpose == For::restore ? "; may be left out when the bundle holds a lock" : ""));
  command.add_option("--repo-type", o.repo_type, "dataset (default) or model")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"dataset", "model"}));
  command.add_option("--release", o.release, "Folder of the repo that holds release_manifest.json")
      ->type_name("PATH");
  command
      .add_option("--revision", o.revision, "Commit, branch or tag; resolved once and pinned (default: main)")
      ->type_name("REV");
  command.add_option("--manifest", o.manifest, "Use this manifest in place of the repo's")->type_name("FILE");
  command.add_flag("--loose", o.loose, "Restore the repo's files as they are, without a manifest");
  if (purpose == For::restore) {
    session.bind_environment(
        command, command.add_option("--bundle", o.bundle, "Directory to restore into")->type_name("DIR"),
        "DECANT_BUNDLE");
    session.bind_environment(
        command,
        command.add_option("--runtime-root", o.runtime_root, "Where the root 'runtime' lies")
            ->type_name("DIR"),
        "DECANT_RUNTIME_ROOT");
    command.add_option("--root", o.roots, "Where a root lies: NAME=DIR (repeatable)")->type_name("NAME=DIR");
  }
  session.bind_environment(
      command,
      command
          .add_option("--download-cache", o.cache,
                      purpose == For::restore
                          ? "Directory for downloads, or none (default: BUNDLE/.decant/cache)"
                          : "Directory to fill")
          ->type_name("DIR"),
      "DECANT_DOWNLOAD_CACHE");
  session.bind_environment(
      command,
      command
          .add_option(
              "--from", o.from,
              "Another place with the same bytes, asked before SOURCE: http(s)://MIRROR, dir:PATH, a path, "
              "or hf-cache (repeatable)")
          ->type_name("WHERE"),
      "DECANT_FROM", Session::Values::separated_by_blanks);
  command.add_option("--only", o.only, "Only this tag, part, tree or glob of paths (repeatable)")
      ->type_name("WORD");
  command.add_option("--skip", o.skip, "All but this tag, part, tree or glob of paths (repeatable)")
      ->type_name("WORD");
  if (purpose == For::restore) {
    command.add_flag("--reextract", o.reextract, "Put back restored files that were deleted by hand");
    session.bind_environment(
        command, command.add_flag("--offline", o.offline, "Open no connection: work from lock and cache"),
        "DECANT_OFFLINE");
  }
  session.bind_environment(
      command,
      command
          .add_option(
              "--endpoint", o.endpoint,
              "Address of the hub (default: HF_ENDPOINT, else the lock's, else https://huggingface.co)")
          ->type_name("URL"),
      "DECANT_ENDPOINT");
  if (purpose == For::restore)  // fetch unpacks nothing
    session.bind_environment(command,
                             command.add_option("--jobs", o.jobs, "CPU workers (default: as many as cores)")
                                 ->type_name("N")
                                 ->check(CLI::Range(1, 1024)),
                             "DECANT_JOBS");
  session.bind_environment(command,
                           command
                               .add_option("--connections", o.connections,
                                           "At most this many connections at one time (default: up to 16, as "
                                           "many as make it faster)")
                               ->type_name("N")
                               ->check(CLI::Range(1, 64)),
                           "DECANT_CONNECTIONS");
  session.bind_environment(
      command,
      command
          .add_option("--limit-rate", o.limit_rate,
                      "Bytes per second of all connections together, for instance 500M (default: no limit)")
          ->type_name("RATE"),
      "DECANT_LIMIT_RATE");
  session.bind_environment(
      command,
      command.add_option("--memory", o.memory, "Budget of decoders and blocks (default: 192M)")
          ->type_name("SIZE"),
      "DECANT_MEMORY");
  session.bind_environment(command,
                           command
                               .add_option("--stall-timeout", o.stall_timeout,
                                           "Give up on a connection without bytes (default: 30s)")
                               ->type_name("TIME"),
                           "DECANT_STALL_TIMEOUT");
}

// A flag that may have a value, so that "--wait ORG/NAME" does not take SOURCE for a time.
void add_wait_option(CLI::App& command, ReleaseOptions& o, For purpose) {
  command.add_flag("--wait", o.wait,
                   purpose == For::restore
                       ? "Wait for other processes that work on the bundle or bring an object to the cache; "
                         "--wait=TIME: not longer"
                       : "Wait for other processes that bring an object; --wait=TIME: not longer");
}

std::unique_ptr<ReleaseJob> make_release_job(const ReleaseOptions& o, Session& session, For purpose) {
  auto job = std::make_unique<ReleaseJob>();
  auto& request = job->request;
  if (purpose == For::restore && o.bundle.empty())
    throw Error{ErrorKind::usage, "no --bundle is given", "add --bundle DIR, or set DECANT_BUNDLE"};
  if (purpose == For::fetch && (o.cache.empty() || o.cache == "none"))
    throw Error{ErrorKind::usage, "fetch needs a cache to fill", "add --download-cache DIR"};
  if (o.loose && !o.manifest.empty())
    throw Error{ErrorKind::usage, "--loose and --manifest exclude each other", "leave one of them out"};

  request.bundle = o.bundle;
  request.roots = parse_places(o.roots, "--root");
  if (!o.runtime_root.empty() && !request.roots.emplace("runtime", o.runtime_root).second &&
      request.roots["runtime"] != o.runtime_root)
    throw Error{ErrorKind::usage, "--runtime-root and --root runtime= name different directories",
                "leave one of them out"};
  request.cache_given = !o.cache.empty() && o.cache != "none";
  if (o.cache.empty())
    request.cache = o.bundle + "/.decant/cache";
  else if (o.cache != "none")
    request.cache = o.cache;

  std::optional<SourceArgument> source;
  if (!o.source.empty()) {
    source = parse_source(o.source);
    request.asked.emplace();
    request.asked->kind = source->kind;
    request.asked->repo = source->repo;
    request.asked->repo_type = repo_type_of(o, *source);
    if (source->kind == model::SourceKind::mirror)
      request.asked->endpoint = source::parse_mirror_base(source->mirror, "SOURCE").str();
  } else {
    // Without SOURCE only a bundle with a lock tells where to look.
    const auto there = purpose == For::restore ? fs::DirHandle::open_if_there(o.bundle) : std::nullopt;
    if (!there || !there->stat(fs::RelPath::require(model::k_lock_name, "lock")))
      throw Error{
          ErrorKind::usage,
          purpose == For::fetch ? "no SOURCE is given" : "no SOURCE is given and the bundle holds no lock",
          purpose == For::fetch ? "name the repo: decant fetch ORG/NAME --download-cache DIR"
                                : "name the repo: decant restore ORG/NAME --bundle DIR"};
  }
  const auto in_source = source ? *source : SourceArgument{};
  request.revision = agreed(o.revision, in_source.revision, "--revision");
  request.release = agreed(without_slashes(o.release), in_source.path, "--release");
  if (request.release && !fs::RelPath::parse(*request.release))
    throw Error{Problem{
        .kind = ErrorKind::usage,
        .thing = fmt::format("--release {}: not a folder of a repo", escape_for_display(*request.release)),
        .expected = "a path from the repo's root, without '.' and '..'",
        .found = escape_for_display(*request.release),
        .hint = "for instance --release releases/r1"}};
  if (source && source->kind == model::SourceKind::directory && request.revision)
    throw Error{ErrorKind::usage, "a directory has no revisions", "leave --revision out"};
  if (source && source->kind == model::SourceKind::mirror && request.revision)
    throw Error{ErrorKind::usage, "a mirror has no revisions", "leave --revision out"};
  if (source && source->kind == model::SourceKind::mirror && o.loose)
    throw Error{ErrorKind::usage,
                "a mirror has no listing, so its files cannot be restored without a manifest",
                "leave --loose out, and name the release with --release or a manifest with --manifest"};
  request.loose = o.loose;
  if (!o.manifest.empty())
    request.manifest =
        restore::Request::LocalManifest{.name = o.manifest, .bytes = read_manifest_file(o.manifest)};
  request.only = o.only;
  request.skip = o.skip;
  request.reextract = o.reextract;
  request.offline = is_offline(o, source, session, purpose);
  request.wait = !o.wait.empty();
  if (request.wait && o.wait != k_wait_for_ever) request.wait_limit = parse_time(o.wait, "--wait");
  request.jobs = o.jobs.value_or(request.jobs);
  request.connections = o.connections.value_or(request.connections);
  if (!o.memory.empty()) {
    const auto memory = parse_size(o.memory);
    if (!memory || *memory < 32 * k_mib)
      throw Error{ErrorKind::usage,
                  fmt::format("--memory {}: not a size of at least 32M", escape_for_display(o.memory)),
                  "write 192M or 1G"};
    request.memory = *memory;
  }
  if (!o.limit_rate.empty()) {
    const auto rate = parse_size(o.limit_rate);
    if (!rate || *rate < k_kib)
      throw Error{ErrorKind::usage,
                  fmt::format("--limit-rate {}: not a rate of at least 1K bytes per second",
                              escape_for_display(o.limit_rate)),
                  "write 500M for 500 MiB per second, or leave it out"};
    request.limit_rate = *rate;
  }
  request.tool_version = std::string{k_version};
  request.command_line = [o](const std::string& commit) { return restore_line(o, commit); };

  net::TransportOptions transport;
  set_network_limits(session, o.stall_timeout, transport);
  transport.clock = &session.clock();
  transport.user_agent = fmt::format("decant/{}", k_version);
  job->transport = net::make_curl_transport(transport);

  AskedRepo asked_repo;
  if (request.asked && request.asked->kind == model::SourceKind::hub)
    asked_repo = {.repo = request.asked->repo, .type = request.asked->repo_type};
  job->places = open_places(o.from, asked_repo, session, *job->transport);
  for (const auto& place : job->places) job->services.places.push_back(place.get());
  job->services.clock = &session.clock();
  job->services.reporter = &session.reporter();
  job->services.stop = &session.stop();
  job->services.open_repository =
      [o, in_source, source, &session, transport_ptr = job->transport.get(), asked = request.asked](
          const std::optional<model::LockSource>& locked) -> std::unique_ptr<source::Repository> {
    const auto kind = source ? source->kind : locked->kind;
    if (kind == model::SourceKind::directory) {
      if (!source)
        throw Error{ErrorKind::usage, "this bundle came from a directory, and something of it is missing",
                    "name the directory again: decant restore dir:PATH --bundle DIR"};
      return source::open_directory(source->directory, session.stop());
    }
    const auto on_wait = [&session](std::string_view what) { session.reporter().waiting(what); };
    if (kind == model::SourceKind::mirror) {
      const std::string& address = source ? source->mirror : locked->endpoint;
      return source::open_mirror_repository(
          {.base = source::parse_mirror_base(address, source ? "SOURCE" : "the lock"),
           .retry = {},
           .on_wait = on_wait},
          *transport_ptr, session.clock(), session.stop());
    }
    hub::HubOptions hub;
    hub.repo = locked ? locked->repo : asked->repo;
    hub.repo_type = locked ? locked->repo_type : asked->repo_type;
    if (!o.endpoint.empty())
      hub.endpoint = o.endpoint;
    else if (const auto endpoint = session.env("HF_ENDPOINT"))
      hub.endpoint = *endpoint;
    else if (locked)
      hub.endpoint = locked->endpoint;
    hub.token = find_token(session);
    hub.on_wait = on_wait;
    return hub::open_hub(std::move(hub), *transport_ptr, session.clock(), session.stop());
  };
  return job;
}

}  // namespace decant::cli
