// SPDX-License-Identifier: Apache-2.0
#include "decant/hub/modelscope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "modelscope_lister.hpp"
#include "object_source.hpp"
#include "token_rules.hpp"

namespace decant::hub {
namespace {

using source::ReadEnd;
using source::ReadOutcome;

constexpr std::chrono::milliseconds k_wait_piece{50};
constexpr std::size_t k_most_notes = 10;

class ModelScopeSource final : public source::Source {
 public:
  ModelScopeSource(ModelScopeAddress address, const ModelScopeOptions& options, net::Transport& transport,
                   Clock& clock, const Stop& stop)
      : host_{std::move(address), options.token},
        on_note_{options.on_note},
        lister_{host_, options, transport, clock, stop},
        bytes_{host_, transport, clock} {}

  std::string name() const override { return host_.name(); }

  ReadOutcome read(const source::Object& object, ByteRange range, ByteSink& sink, const Stop& stop) override {
    if (!object.digest.valid() || object.digest.algorithm() != hash::Algorithm::sha256) {
      return absent(object, "states no digest of the kind that pins");
    }
    if (auto problem = need_listing(stop)) return {.end = ReadEnd::failed, .problem = std::move(*problem)};
    const auto there = find(object);
    if (!there) return absent(object, "does not have");
    ReadOutcome outcome = bytes_.read(*there, range, sink, stop);
    if (outcome.end == ReadEnd::wrong_object) {
      outcome.problem.hint = "what it sends is not what it lists; the file is taken from another place";
    }
    return outcome;
  }

 private:
  enum class Listing { none, running, there, failed };

  ReadOutcome absent(const source::Object& object, std::string_view verb) const {
    return {.end = ReadEnd::absent,
            .problem = {
                .kind = ErrorKind::access,
                .thing = fmt::format("{} {} {}", host_.name(), verb, escape_for_display(object.path.str())),
                .hint = "name another place that has it"}};
  }

  // The first reader lists, the others wait. A failure is remembered; an interrupted listing is begun anew.
  std::optional<Problem> need_listing(const Stop& stop) {
    std::unique_lock lock{mutex_};
    while (listing_ == Listing::running) {
      changed_.wait_for(lock, k_wait_piece);
      stop.throw_if_requested();
    }
    if (listing_ == Listing::failed) return failure_;
    if (listing_ == Listing::there) return std::nullopt;
    listing_ = Listing::running;
    lock.unlock();
    Listing result = Listing::none;
    try {
      take(lister_.list());
      result = Listing::there;
    } catch (const Error& error) {
      failure_ = error.problem();
      result = Listing::failed;
    } catch (...) {
      set(Listing::none);
      throw;
    }
    set(result);
    return result == Listing::failed ? std::optional{failure_} : std::nullopt;
  }

  void set(Listing listing) {
    const std::lock_guard lock{mutex_};
    listing_ = listing;
    changed_.notify_all();
  }

  void take(std::vector<ModelScopeEntry> entries) {
    for (auto& entry : entries) {
      auto path = fs::RelPath::parse(entry.path);
      if (!path) continue;
      if (entry.sha256) by_content_.emplace(std::pair{*entry.sha256, entry.size}, *path);
      by_path_.insert_or_assign(std::move(entry.path), std::move(entry));
    }
  }

  // The object under the path that it has there.
  std::optional<source::Object> find(const source::Object& object) {
    const auto same_path = by_path_.find(object.path.str());
    if (same_path != by_path_.end() && same_path->second.sha256 == object.digest &&
        same_path->second.size == object.size) {
      return object;
    }
    const auto same_content = by_content_.find({object.digest, object.size});
    if (same_content != by_content_.end()) {
      return source::Object{.path = same_content->second, .size = object.size, .digest = object.digest};
    }
    if (same_path != by_path_.end() && same_path->second.sha256) note_other(same_path->second, object);
    return std::nullopt;
  }

  void note_other(const ModelScopeEntry& entry, const source::Object& object) {
    const std::string path = object.path.str();
    {
      const std::lock_guard lock{mutex_};
      if (noted_.size() > k_most_notes || !noted_.insert(path).second || !on_note_) return;
      if (noted_.size() > k_most_notes) {
        return on_note_(host_.name() + " has others, too: it may hold another release");
      }
    }
    on_note_(
        fmt::format("{} has another {}: SHA-256 {} of {} bytes, not {} of {}; it is taken from elsewhere",
                    host_.name(), escape_for_display(path), entry.sha256->short_hex(), entry.size,
                    object.digest.short_hex(), object.size));
  }

  ModelScopeHost host_;
  std::function<void(std::string_view)> on_note_;
  ModelScopeLister lister_;
  ObjectSource bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Listing listing_ = Listing::none;
  Problem failure_;  // these three: written by the one that lists, read by all once it is over
  std::map<std::string, ModelScopeEntry> by_path_;
  std::map<std::pair<hash::Digest, std::uint64_t>, fs::RelPath> by_content_;
  std::set<std::string> noted_;
};

bool is_modelscope_name(std::string_view name) {
  const auto slash = name.find('/');
  const auto fits = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && part.size() <= 128 &&
           std::all_of(part.begin(), part.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                    c == '_' || c == '.';
           });
  };
  return slash != std::string_view::npos && fits(name.substr(0, slash)) && fits(name.substr(slash + 1));
}

constexpr std::string_view k_prefix = "modelscope:";
constexpr std::string_view k_alone = "modelscope";

// The value of a cookie (RFC 6265 section 4.1.1) holds none of these.
bool fits_in_cookie(const net::Secret& token) {
  return token.reveal().find_first_of("\";,\\") == std::string::npos;
}

}  // namespace

bool is_modelscope(std::string_view words) {
  return words == k_alone || words.substr(0, k_prefix.size()) == k_prefix;
}

ModelScopeOptions parse_modelscope(std::string_view words, std::string_view repo, model::RepoType repo_type) {
  ModelScopeOptions options{.repo_type = repo_type, .repo = std::string{repo}};
  std::string_view rest = words;
  if (is_modelscope(words)) rest.remove_prefix(std::min(words.size(), k_prefix.size()));
  const bool alone = words == k_alone;
  const auto refuse = [&](std::string_view why) {
    return Error{Problem{.kind = ErrorKind::usage,
                         .thing = fmt::format("{}: {}", escape_for_display(words), why),
                         .expected =
                             "modelscope:ORG/NAME, modelscope:ORG/NAME@REV, or modelscope for a repo of the "
                             "same name",
                         .found = alone ? escape_for_display(repo) : escape_for_display(rest),
                         .hint = "write ORG/NAME as on the repo's page at ModelScope"}};
  };
  if (!is_modelscope(words)) throw refuse("no place at ModelScope");
  if (!alone) {
    for (const auto& [prefix, type] : {std::pair{std::string_view{"datasets/"}, model::RepoType::dataset},
                                       std::pair{std::string_view{"models/"}, model::RepoType::model}}) {
      // A third component: an organisation may be called "models".
      if (rest.substr(0, prefix.size()) == prefix && rest.find('/', prefix.size()) < rest.find('@')) {
        rest.remove_prefix(prefix.size());
        options.repo_type = type;
        break;
      }
    }
    const auto at = rest.find('@');
    options.repo = std::string{rest.substr(0, at)};
    if (at != std::string_view::npos) {
      options.revision = std::string{rest.substr(at + 1)};
      if (options.revision.empty()) throw refuse("the revision after '@' is empty");
    }
  }
  if (!is_modelscope_name(options.repo)) {
    throw refuse(alone ? "the repo has no name of the form ORG/NAME" : "not the form ORG/NAME");
  }
  return options;
}

std::unique_ptr<source::Source> open_modelscope(ModelScopeOptions options, net::Transport& transport,
                                                Clock& clock, const Stop& stop) {
  Endpoint endpoint = parse_endpoint(options.endpoint, "MODELSCOPE_ENDPOINT", k_modelscope_endpoint);
  if (!is_modelscope_name(options.repo)) {
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = "the name of the ModelScope repo cannot be used",
                        .expected = "ORG/NAME of letters, digits, '-', '_' and '.'",
                        .found = escape_for_display(options.repo),
                        .hint = "write ORG/NAME as on the repo's page at ModelScope"}};
  }
  constexpr std::string_view k_token_hint = "set MODELSCOPE_API_TOKEN again, as ModelScope shows it";
  check_token(options.token, endpoint, k_token_hint);
  if (!fits_in_cookie(options.token.value)) {
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = fmt::format("the token from {} cannot be sent", options.token.came_from),
                        .expected = "characters that a cookie may hold",
                        .found = "a quote, a comma, a semicolon or a backslash",
                        .hint = std::string{k_token_hint}}};
  }
  ModelScopeAddress address{std::move(endpoint), options.repo_type, options.repo, options.revision};
  return std::make_unique<ModelScopeSource>(std::move(address), options, transport, clock, stop);
}

}  // namespace decant::hub
