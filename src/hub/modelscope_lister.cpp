// SPDX-License-Identifier: Apache-2.0
#include "modelscope_lister.hpp"

#include <fmt/format.h>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"

namespace decant::hub {
namespace {

constexpr std::uint64_t k_api_limit = 64 * k_mib;
constexpr std::size_t k_most_requests = 20'000;

}  // namespace

ModelScopeLister::ModelScopeLister(const ModelScopeHost& host, const ModelScopeOptions& options,
                                   net::Transport& transport, Clock& clock, const Stop& stop)
    : host_{host},
      on_note_{options.on_note},
      session_{host.origin(),
               net::RetryingFetcher{transport, clock, options.retry, options.on_wait,
                                    [this](net::FetchedBody& fetched) { translate(fetched); }},
               stop} {}

std::vector<ModelScopeEntry> ModelScopeLister::list() {
  files_.clear();
  requests_ = 0;
  if (host_.address().type() == model::RepoType::dataset) {
    turn_pages();
  } else {
    walk("");
  }
  return std::move(files_);
}

void ModelScopeLister::translate(net::FetchedBody& fetched) {
  if (fetched.outcome.end != net::TransferEnd::complete) return;
  int& status = fetched.outcome.head.status;
  const auto envelope = parse_envelope(fetched.body);
  if (status == 200 && envelope && envelope->code != 200) status = envelope->status();
  // One page of many is now and then refused to somebody who just read the others, and given at the next try.
  if (status == 403 && was_answered_) status = 503;
  if (status == 200 && envelope) was_answered_ = true;
}

std::vector<ModelScopeEntry> ModelScopeLister::ask(const net::Url& url) {
  const Question question{.about = Question::About::listing, .revision = host_.address().revision()};
  ++requests_;
  const Answer answer = session_.ask(host_.request(url), question, k_api_limit);
  if (!answer.ok()) {
    throw Error{modelscope_refusal(host_.address(), host_.token(), question, answer.url,
                                   answer.fetched.outcome, answer.fetched.body)};
  }
  return parse_modelscope_entries(answer.fetched.body, "the answer of " + url.redacted());
}

void ModelScopeLister::take(std::vector<ModelScopeEntry> entries) {
  for (auto& entry : entries) {
    if (!entry.is_directory) files_.push_back(std::move(entry));
  }
}

// A list that is as long as the longest may be cut: then directory by directory.
void ModelScopeLister::walk(const std::string& root) {
  using Depth = ModelScopeAddress::Depth;
  auto all = ask(host_.address().files(root, Depth::all));
  if (all.size() < k_modelscope_most_entries) return take(std::move(all));
  auto here = ask(host_.address().files(root, Depth::one));
  if (here.size() >= k_modelscope_most_entries && on_note_) {
    on_note_(fmt::format("{} lists no more than {} entries of {}; other files in there are not taken from it",
                         host_.name(), here.size(), root.empty() ? "its root" : escape_for_display(root)));
  }
  for (const auto& entry : here) {
    const bool is_below = entry.path.size() > root.size() && entry.path.compare(0, root.size(), root) == 0;
    if (entry.is_directory && is_below && requests_ < k_most_requests) walk(entry.path);
  }
  take(std::move(here));
}

void ModelScopeLister::turn_pages() {
  std::string first_of_last;
  for (std::size_t number = 1;; ++number) {
    const net::Url url = host_.address().tree(number);
    auto page = ask(url);
    const std::size_t size = page.size();
    const std::string first = page.empty() ? "" : page.front().path;
    if (number == k_most_requests || (number > 1 && size > 0 && first == first_of_last)) {
      throw Error{Problem{.kind = ErrorKind::network,
                          .thing = fmt::format("the list of files of {} cannot be read", host_.name()),
                          .expected = "pages that come to an end",
                          .found = fmt::format("page {} like the one before", number),
                          .hint = "check MODELSCOPE_ENDPOINT: this is not how ModelScope answers"}};
    }
    first_of_last = first;
    take(std::move(page));
    if (size < k_modelscope_page) return;
  }
}

}  // namespace decant::hub
