// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "answers.hpp"
#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/net/retry.hpp"
#include "mirror_source.hpp"

namespace decant::source {
namespace {

class MirrorRepository final : public Repository {
 public:
  MirrorRepository(MirrorOptions options, net::Transport& transport, Clock& clock, const Stop& stop)
      : objects_{std::move(options.base), transport, clock},
        fetcher_{transport, clock, options.retry, std::move(options.on_wait)},
        stop_{stop} {}

  model::SourceKind kind() const override { return model::SourceKind::mirror; }
  std::string describe() const override { return objects_.name(); }
  model::LockSource lock_source() const override {
    return {.kind = model::SourceKind::mirror, .endpoint = objects_.name()};
  }
  ResolvedRepo resolve(const std::string&) override { return {}; }
  void pin(const ResolvedRepo&) override {}
  Source& objects() override { return objects_; }

  model::Listing paths_info(const std::vector<std::string>&) override { no_listing(); }
  model::Listing list(const std::string&) override { no_listing(); }

  std::optional<std::string> read_file(const std::string& path, std::uint64_t limit,
                                       const std::optional<hash::Digest>& expected) override {
    net::Request request{.url = {.origin = objects_.base().origin,
                                 .path_and_query = objects_.base().prefix + "/" +
                                                   net::percent_encode(path, net::Slash::keep)}};
    for (int hops = 0;; ++hops) {
      auto fetched = fetcher_.fetch(request, limit, stop_);
      const int status = fetched.outcome.head.status;
      const bool is_answer = net::judge(fetched.outcome) == net::Judgement::ok;
      if (is_answer && is_redirect(status)) {
        NextHop next = next_hop(request.url, fetched.outcome.head.header("location"), objects_.base(), hops);
        if (!next.url) throw_bad_redirect(path, next.refusal);
        request.url = std::move(*next.url);
        continue;
      }
      if (fetched.too_large) throw_too_large(path, limit);
      if (status == 404 || status == 410) return std::nullopt;
      if (!is_answer || status != 200) throw Error{mirror_refusal(path, objects_.name(), fetched.outcome)};
      if (expected) check_digest(fetched.body, path, *expected);
      return std::move(fetched.body);
    }
  }

  void probe(const Object& object) override {
    struct Nowhere final : ByteSink {
      void write(Bytes) override {}
    } sink;
    const ReadOutcome outcome =
        objects_.read(object, {0, std::min<std::uint64_t>(object.size, 1)}, sink, stop_);
    if (outcome.end != ReadEnd::complete && outcome.end != ReadEnd::range_ignored)
      throw Error{outcome.problem};
  }

 private:
  [[noreturn]] void no_listing() const {
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = fmt::format("the mirror {} has no listing of its files", objects_.name()),
                        .expected = "a release manifest, which names them",
                        .found = "files without a manifest",
                        .hint = "name the folder that holds release_manifest.json with --release, give a "
                                "manifest with sizes and digests with --manifest, or restore from the hub"}};
  }

  [[noreturn]] void throw_bad_redirect(const std::string& path, const std::string& refusal) const {
    throw Error{Problem{
        .kind = ErrorKind::access,
        .thing = fmt::format("{}: the mirror {} answers with a redirect that is not followed",
                             escape_for_display(path), objects_.name()),
        .expected = fmt::format(
            "at most {} redirects, none from https to http or unencrypted to another host", k_most_hops),
        .found = refusal,
        .hint = "name the address that it leads to, if you trust it"}};
  }

  [[noreturn]] void throw_too_large(const std::string& path, std::uint64_t limit) const {
    throw Error{
        Problem{.kind = ErrorKind::state,
                .thing = fmt::format("{} on {} is too large", escape_for_display(path), objects_.name()),
                .expected = fmt::format("at most {} bytes", limit),
                .found = "more"}};
  }

  void check_digest(const std::string& content, const std::string& path, const hash::Digest& expected) const {
    hash::Hasher hasher{expected.algorithm(), content.size()};
    hasher.update(as_bytes(content));
    const hash::Digest found = hasher.finish();
    if (found == expected) return;
    throw Error{
        Problem{.kind = ErrorKind::integrity,
                .thing = fmt::format("{} on {} has other content", escape_for_display(path), objects_.name()),
                .expected = fmt::format("{} {}", to_string(expected.algorithm()), expected.hex()),
                .found = found.hex(),
                .hint = "the mirror's copy is damaged or of another release; copy it anew"}};
  }

  MirrorSource objects_;
  net::RetryingFetcher fetcher_;
  const Stop& stop_;
};

}  // namespace

MirrorBase parse_mirror_base(std::string_view text, std::string_view what) {
  std::string_view bare = text;
  while (!bare.empty() && bare.back() == '/') bare.remove_suffix(1);
  auto url = net::parse_url(bare);
  // Looked for in the authority alone: a path may hold one.
  const auto slashes = bare.find("//");
  const std::string_view authority =
      slashes == std::string_view::npos ? bare
                                        : bare.substr(slashes + 2, bare.find('/', slashes + 2) - slashes - 2);
  const bool has_user = authority.find('@') != std::string_view::npos;
  if (!url || has_user || bare.find_first_of("?#") != std::string_view::npos) {
    throw Error{
        Problem{.kind = ErrorKind::usage,
                .thing = fmt::format("{}: not an address of a mirror", what),
                .expected = "http:// or https:// with a host and a path, without user, query and fragment",
                .found = has_user ? "a URL with a user or password"
                                  : escape_for_display(text.substr(0, text.find_first_of("?#"))) +
                                        (text.find_first_of("?#") == std::string_view::npos ? "" : "?..."),
                .hint = "for instance http://mirror.local/decant-cache"}};
  }
  MirrorBase base{.origin = std::move(url->origin), .prefix = std::move(url->path_and_query)};
  if (base.prefix == "/") base.prefix.clear();
  // A lock takes no address with an '@', which might be a user's name.
  for (auto at = base.prefix.find('@'); at != std::string::npos; at = base.prefix.find('@'))
    base.prefix.replace(at, 1, "%40");
  return base;
}

std::unique_ptr<Repository> open_mirror_repository(MirrorOptions options, net::Transport& transport,
                                                   Clock& clock, const Stop& stop) {
  return std::make_unique<MirrorRepository>(std::move(options), transport, clock, stop);
}

}  // namespace decant::source
