// SPDX-License-Identifier: Apache-2.0
#include "decant/hub/hub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "answers.hpp"
#include "checks.hpp"
#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "object_source.hpp"
#include "session.hpp"
#include "token_rules.hpp"

namespace decant::hub {
namespace {

constexpr std::uint64_t k_api_limit = 64 * k_mib;
constexpr std::uint64_t k_probe_limit = 64 * k_kib;
constexpr std::size_t k_paths_per_request = 500;
constexpr std::size_t k_most_pages = 20'000;
constexpr std::size_t k_most_files = 5'000'000;
constexpr int k_most_places = 3;  // signed URLs asked for in a row when each is refused
constexpr int k_most_reads = 2;   // of a small file whose digest differs

std::string answer_of(const net::Url& url) {
  return "the answer of " + url.redacted();
}

class HubRepository final : public source::Repository {
 public:
  HubRepository(Address address, HubOptions options, net::Transport& transport, Clock& clock,
                const Stop& stop)
      : identity_{.address = std::move(address), .token = std::move(options.token)},
        session_{identity_.address.endpoint().origin,
                 net::RetryingFetcher{transport, clock, options.retry, std::move(options.on_wait)}, stop},
        host_{identity_},
        objects_{host_, transport, clock} {}

  model::SourceKind kind() const override { return model::SourceKind::hub; }

  std::string describe() const override {
    return fmt::format("{} at {}", identity_.address.name(), identity_.address.endpoint().str());
  }

  model::LockSource lock_source() const override {
    return {.kind = model::SourceKind::hub,
            .endpoint = identity_.address.endpoint().str(),
            .repo_type = identity_.address.type(),
            .repo = identity_.address.repo(),
            .requested_revision = requested_,
            .commit = identity_.commit};
  }

  source::ResolvedRepo resolve(const std::string& revision) override {
    const std::string wanted = revision.empty() ? "main" : revision;
    if (model::is_commit_id(wanted)) {
      identity_.commit = wanted;
    } else {
      ask_for_commit(wanted);
    }
    requested_ = wanted;
    return {.repo = identity_.address.repo(), .commit = identity_.commit};
  }

  void pin(const source::ResolvedRepo& resolved) override {
    if (!is_repo_name(resolved.repo) || !model::is_commit_id(resolved.commit)) {
      throw Error{ErrorKind::state,
                  fmt::format("{} at {} is no repo at a commit", escape_for_display(resolved.repo),
                              escape_for_display(resolved.commit)),
                  "the lock is damaged: remove restore_lock.json, then run the restore with SOURCE again"};
    }
    identity_.address.rename(resolved.repo);
    identity_.commit = resolved.commit;
    requested_ = resolved.commit;
  }

  model::Listing paths_info(const std::vector<std::string>& paths) override {
    need_commit();
    model::Listing listing;
    for (std::size_t first = 0; first < paths.size(); first += k_paths_per_request) {
      const std::size_t count = std::min(k_paths_per_request, paths.size() - first);
      add_facts(paths, first, count, listing);
    }
    return listing;
  }

  model::Listing list(const std::string& prefix) override {
    need_commit();
    const Question question{.about = Question::About::listing, .what = prefix, .revision = identity_.commit};
    model::Listing listing;
    net::Url url = identity_.address.tree(identity_.commit, prefix);
    for (std::size_t page = 0;; ++page) {
      if (page == k_most_pages || listing.size() > k_most_files) throw_bad_pages(url, "no end");
      const Answer answer = session_.ask(identity_.request(url), question, k_api_limit);
      if (page == 0 && !prefix.empty() && answer.head().header("x-error-code") == "EntryNotFound") return {};
      require_ok(answer, question);
      for (auto& file : parse_entries(answer.fetched.body, answer_of(url)))
        listing.push_back(std::move(file));
      const std::string next = next_link(answer.head());
      if (next.empty()) return listing;
      const auto next_url = net::resolve_reference(answer.url, next);
      if (!next_url) throw_bad_pages(url, "a next page that is no URL");
      if (identity_.address.at_endpoint(*next_url) == url)
        throw_bad_pages(url, "the same page as the next one");
      url = identity_.address.at_endpoint(*next_url);
    }
  }

  std::optional<std::string> read_file(const std::string& path, std::uint64_t limit,
                                       const std::optional<hash::Digest>& expected) override {
    need_commit();
    for (int reads = 1;; ++reads) {
      std::optional<hash::Digest> stated = expected;
      const auto on_hop = [&](const net::ResponseHead& head, const net::Url& url) {
        check_hop(head, url, path, nullptr);
        const auto size = parse_u64(head.header("x-linked-size"));
        if (size && *size > limit) throw_too_large(path, limit, fmt::format("{} bytes", *size));
        if (!stated && url.origin == identity_.address.endpoint().origin) stated = stated_digest(head);
      };
      Answer answer = ask_for_file(path, std::nullopt, limit, on_hop);
      if (is_absent(answer)) return std::nullopt;
      if (answer.fetched.too_large) throw_too_large(path, limit, "more");
      require_file(answer, path);
      if (!stated) return std::move(answer.fetched.body);
      hash::Hasher hasher{stated->algorithm(), answer.fetched.body.size()};
      hasher.update(as_bytes(answer.fetched.body));
      const hash::Digest found = hasher.finish();
      if (found == *stated) return std::move(answer.fetched.body);
      if (reads == k_most_reads) throw_differs(path, *stated, found);
    }
  }

  void probe(const source::Object& object) override {
    need_commit();
    const std::string& path = object.path.str();
    const auto on_hop = [&](const net::ResponseHead& head, const net::Url& url) {
      check_hop(head, url, path, &object);
    };
    const auto range = object.size == 0 ? std::nullopt : std::optional{ByteRange{0, 1}};
    const Answer answer = ask_for_file(path, range, k_probe_limit, on_hop);
    const int status = answer.head().status;
    // A server that ignores Range sends more than the one byte: readable all the same.
    if (!(answer.fetched.too_large && status == 200)) require_file(answer, path);
    if (!range) return;
    const BodyVerdict verdict = judge_body(answer.head(), object, *range);
    if (verdict.end == source::ReadEnd::wrong_object) throw Error{verdict.problem};
  }

  source::Source& objects() override { return objects_; }

 private:
  void need_commit() const {
    if (identity_.commit.empty())
      throw Error{ErrorKind::bug, "a hub is asked before a commit was resolved or pinned"};
  }

  void ask_for_commit(const std::string& revision) {
    const Question question{.about = Question::About::revision, .what = revision, .revision = revision};
    const net::Url url = identity_.address.revision(revision);
    const Answer answer = session_.ask(identity_.request(url), question, k_api_limit);
    require_ok(answer, question);
    RevisionInfo info = parse_revision(answer.fetched.body, answer_of(answer.url));
    if (info.disabled) {
      throw Error{Problem{.kind = ErrorKind::access,
                          .thing = identity_.address.name() + " was disabled by the hub",
                          .hint = fmt::format("see {}", identity_.address.page())}};
    }
    if (is_repo_name(info.repo)) identity_.address.rename(info.repo);
    identity_.commit = std::move(info.commit);
    identity_.gated = std::move(info.gated);
  }

  void add_facts(const std::vector<std::string>& paths, std::size_t first, std::size_t count,
                 model::Listing& listing) {
    const Question question{.about = Question::About::listing, .revision = identity_.commit};
    net::Request request = identity_.request(identity_.address.paths_info(identity_.commit));
    request.method = net::Method::post;
    request.body = paths_info_body(paths, first, count);
    request.content_type = "application/json";
    const Answer answer = session_.ask(std::move(request), question, k_api_limit);
    require_ok(answer, question);
    std::set<std::string_view> open;
    for (std::size_t i = first; i < first + count; ++i) open.insert(paths[i]);
    for (auto& file : parse_entries(answer.fetched.body, answer_of(answer.url))) {
      if (open.erase(file.path) == 1) listing.push_back(std::move(file));
    }
  }

  void require_ok(const Answer& answer, const Question& question) const {
    if (answer.ok()) return;
    throw Error{
        refusal(identity_.asker(), question, answer.url, answer.fetched.outcome, answer.fetched.body)};
  }

  bool is_of_hub(const net::Url& url) const { return url.origin == identity_.address.endpoint().origin; }

  Question about(const std::string& path) const {
    return {.about = Question::About::file, .what = path, .revision = identity_.commit};
  }

  void check_hop(const net::ResponseHead& head, const net::Url& url, const std::string& path,
                 const source::Object* object) const {
    if (!is_of_hub(url)) return;
    if (auto problem = contradiction(head, identity_.commit, path, object)) throw Error{std::move(*problem)};
  }

  // Asks anew when the storage refuses a signed URL.
  Answer ask_for_file(const std::string& path, std::optional<ByteRange> range, std::uint64_t limit,
                      const Session::OnHop& on_hop) {
    for (int places = 1;; ++places) {
      net::Request request = identity_.request(identity_.address.file(identity_.commit, path));
      request.range = range;
      Answer answer = session_.ask(std::move(request), about(path), limit, on_hop);
      const bool refused = !is_of_hub(answer.url) && answer.head().status >= 400 &&
                           net::judge(answer.fetched.outcome) == net::Judgement::give_up;
      if (!refused || places == k_most_places) return answer;
    }
  }

  // The repo is there and says so, but has no such file.
  bool is_absent(const Answer& answer) const {
    if (answer.head().status != 404 || !is_of_hub(answer.url)) return false;
    const auto code = answer.head().header("x-error-code");
    return code == "EntryNotFound" || (code.empty() && !answer.head().header("x-repo-commit").empty());
  }

  void require_file(const Answer& answer, const std::string& path) const {
    const int status = answer.head().status;
    if (answer.ok() && (status == 200 || status == 206)) return;
    if (is_of_hub(answer.url)) require_ok(answer, about(path));
    throw Error{storage_refusal(about(path), answer.url, answer.fetched.outcome)};
  }

  [[noreturn]] void throw_bad_pages(const net::Url& url, std::string_view found) const {
    throw Error{
        Problem{.kind = ErrorKind::network,
                .thing = fmt::format("the list of files of {} cannot be read", identity_.address.name()),
                .expected = "pages that come to an end",
                .found = fmt::format("{} after {}", found, url.redacted()),
                .hint = "check the endpoint: this is not how the hub answers"}};
  }

  [[noreturn]] void throw_too_large(const std::string& path, std::uint64_t limit, std::string found) const {
    throw Error{Problem{
        .kind = ErrorKind::state,
        .thing = fmt::format("{} in {} is too large", escape_for_display(path), identity_.address.name()),
        .expected = fmt::format("at most {} bytes", limit),
        .found = std::move(found),
        .hint = "tell who published it"}};
  }

  [[noreturn]] void throw_differs(const std::string& path, const hash::Digest& expected,
                                  const hash::Digest& found) const {
    throw Error{Problem{
        .kind = ErrorKind::integrity,
        .thing =
            fmt::format("{} in {} has other content", escape_for_display(path), identity_.address.name()),
        .expected = fmt::format("{} {}", hash::to_string(expected.algorithm()), expected.hex()),
        .found = found.hex(),
        .hint = "it was fetched twice: a proxy may change it on the way, or the release and its repo "
                "do not belong together"}};
  }

  Identity identity_;
  std::string requested_;
  Session session_;
  HubHost host_;
  ObjectSource objects_;
};

}  // namespace

std::unique_ptr<source::Repository> open_hub(HubOptions options, net::Transport& transport, Clock& clock,
                                             const Stop& stop) {
  Endpoint endpoint = parse_endpoint(options.endpoint);
  if (!is_repo_name(options.repo)) {
    throw Error{
        Problem{.kind = ErrorKind::usage,
                .thing = "the repo name cannot be used",
                .expected = "ORG/NAME of letters, digits, '-', '_' and '.'",
                .found = escape_for_display(options.repo),
                .hint = "give the name as on the repo's page; a local directory begins with /, ./ or ../"}};
  }
  check_token(options.token, endpoint, "store the token again; it begins with hf_");
  Address address{std::move(endpoint), options.repo_type, options.repo};
  return std::make_unique<HubRepository>(std::move(address), std::move(options), transport, clock, stop);
}

}  // namespace decant::hub
