// SPDX-License-Identifier: Apache-2.0
// The hub module over real sockets, against a hub that misbehaves.
#include <algorithm>
#include <atomic>
#include <thread>

#include "decant/hub/hub.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"
#include "support/test_hub.hpp"

using namespace decant;
using namespace decant::test;
using source::ReadEnd;

namespace {

constexpr std::string_view k_token = "hf_canaryCANARYcanary";

struct TextSink final : ByteSink {
  void write(Bytes bytes) override { text += as_text(bytes); }
  std::string text;
};

// Counts what must never pass.
class WatchedTransport final : public net::Transport {
 public:
  explicit WatchedTransport(net::Transport& inner) : inner_{inner} {}
  net::Outcome perform(const net::Request& request, const net::BodySink& sink, const Stop& stop) override {
    auto outcome = inner_.perform(request, sink, stop);
    if (outcome.detail.find(k_token) != std::string::npos) ++leaks;  // on any thread: no CHECK here
    return outcome;
  }
  std::atomic<int> leaks{0};

 private:
  net::Transport& inner_;
};

// Not compared inside CHECK: a failure would print megabytes.
bool same(std::string_view a, std::string_view b) {
  return a == b;
}

constexpr std::chrono::milliseconds k_patient{60'000};  // a loaded machine is no fault
constexpr std::chrono::milliseconds k_impatient{1000};

struct Fixture {
  explicit Fixture(RepoOptions options = {.id = "acme/rel"},
                   std::chrono::milliseconds stall_timeout = k_patient)
      : transport{net::make_curl_transport({.stall_timeout = stall_timeout, .user_agent = "decant/test"})},
        repo{hub.add_repo(std::move(options))} {
    hub.add_token(std::string{k_token});
    commit = repo.add_commit({{"README.md", "hello"},
                              {"releases/r1/release_manifest.json", "{}"},
                              {"big.tar.zst", big, Store::lfs},
                              {"xet.tar.zst", big, Store::xet},
                              {"name with #%?\xc3\xa4.txt", "odd"},
                              {"empty", ""}});
    open("acme/rel");
  }
  ~Fixture() { CHECK(watched.leaks == 0); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  void open(std::string id, std::string token = std::string{k_token}) {
    hub::HubOptions options{.endpoint = hub.endpoint(), .repo = std::move(id)};
    options.token = {.value = net::Secret{std::move(token)}, .came_from = "HF_TOKEN"};
    options.retry = {.max_tries_without_progress = 4, .first = std::chrono::milliseconds{5}};
    repository = decant::hub::open_hub(std::move(options), watched, system_clock(), stop);
  }
  source::Object object(const std::string& path) {
    const auto listing = repository->paths_info({path});
    REQUIRE(listing.size() == 1);
    return {
        .path = fs::RelPath::require(path, "test"), .size = listing[0].size, .digest = *listing[0].digest};
  }
  source::ReadOutcome read(const source::Object& what, ByteRange range, std::string& text) {
    TextSink sink;
    auto outcome = repository->objects().read(what, range, sink, stop);
    text = sink.text;
    CHECK(outcome.received == text.size());
    CHECK(to_text(outcome.problem).find(k_token) == std::string::npos);
    CHECK(to_text(outcome.problem).find("Signature") == std::string::npos);
    return outcome;
  }
  // As the fetch engine reads: on from where it stopped.
  std::string read_on(const source::Object& what, int tries) {
    std::string all;
    for (int i = 0; i < tries && all.size() < what.size; ++i) {
      std::string text;
      const auto outcome = read(what, {all.size(), what.size - all.size()}, text);
      all += text;
      if (outcome.end != ReadEnd::complete) CHECK(outcome.end == ReadEnd::interrupted);
    }
    return all;
  }
  std::size_t resolves() const {
    std::size_t count = 0;
    for (const auto& request : hub.requests()) {
      if (request.target.find("/resolve/") != std::string::npos) ++count;
    }
    return count;
  }

  std::string big = random_bytes(7, 3'000'000);
  TestHub hub;
  Stop stop;
  std::unique_ptr<net::Transport> transport;
  TestRepo& repo;
  std::string commit;
  WatchedTransport watched{*transport};
  std::unique_ptr<source::Repository> repository;
};

Problem access_problem(Fixture& f, const std::string& path = "big.tar.zst") {
  try {
    f.repository->resolve(f.commit);
    f.repository->probe({.path = fs::RelPath::require(path, "test"), .size = 3'000'000, .digest = {}});
  } catch (const Error& error) {
    CHECK(to_text(error.problem()).find(k_token) == std::string::npos);
    CHECK(error.kind() == ErrorKind::access);
    return error.problem();
  }
  FAIL("no Error");
  return {};
}

}  // namespace

TEST_CASE("the whole protocol works over sockets") {
  Fixture f;
  f.hub.set_page_size(2);
  f.hub.set_page_origin("https://huggingface.co");
  CHECK(f.repository->resolve("main").commit == f.commit);
  const auto listing = f.repository->list("");
  CHECK(listing.size() == 6);
  CHECK(f.repository->list("releases").size() == 1);
  CHECK(f.repository->list("nowhere").empty());
  CHECK(f.repository->read_file("README.md", 100, std::nullopt) == "hello");
  CHECK(f.repository->read_file("name with #%?\xc3\xa4.txt", 100, std::nullopt) == "odd");
  CHECK(f.repository->read_file("empty", 100, std::nullopt) == "");
  CHECK_FALSE(f.repository->read_file("nowhere", 100, std::nullopt));
  for (const std::string path : {"big.tar.zst", "xet.tar.zst"}) {
    const auto object = f.object(path);
    CHECK(object.digest.algorithm() == hash::Algorithm::sha256);
    CHECK(same(f.repository->read_file(path, 4'000'000, object.digest).value_or(""), f.big));
    f.repository->probe(object);
    f.hub.clear_log();
    CHECK(same(f.read_on(object, 1), f.big));
    CHECK(f.resolves() == 1);
  }
  const auto readme = f.object("README.md");
  CHECK(readme.digest.algorithm() == hash::Algorithm::git_sha1);
  f.repository->probe(readme);
  CHECK(f.read_on(readme, 1) == "hello");
}

TEST_CASE("a small file behind the resolve cache is found") {
  Fixture f{{.id = "acme/rel", .resolve_cache = true}};
  f.repository->resolve(f.commit);
  const std::string odd = "name with #%?\xc3\xa4.txt";
  CHECK(f.repository->read_file(odd, 100, std::nullopt) == "odd");
  CHECK(f.read_on(f.object(odd), 1) == "odd");
  f.repository->probe(f.object("README.md"));
}

TEST_CASE("a renamed repo is followed everywhere, with the token") {
  Fixture f{{.id = "new/name",
             .renamed_from = {"acme/rel"},
             .is_private = true,
             .accepted_tokens = {std::string{k_token}}}};
  SECTION("by branch") {
    CHECK(f.repository->resolve("main").repo == "new/name");
  }
  SECTION("by commit") {
    CHECK(f.repository->resolve(f.commit).repo == "acme/rel");
  }
  CHECK(f.repository->list("").size() == 6);
  CHECK(same(f.read_on(f.object("big.tar.zst"), 1), f.big));
  CHECK(f.repository->read_file("README.md", 100, std::nullopt) == "hello");
}

TEST_CASE("the token is seen by the hub alone") {
  Fixture f;
  f.repository->resolve("main");
  f.repository->list("");
  for (const auto* path : {"big.tar.zst", "xet.tar.zst", "README.md"}) {
    const auto object = f.object(path);
    f.repository->probe(object);
    f.repository->read_file(path, 4'000'000, std::nullopt);
    f.read_on(object, 1);
  }
  SECTION("redirects to the CDN's port, another name of the host, and back") {
    for (const std::string& target :
         {f.hub.cdn_origin() + "/x", "http://localhost:" + f.hub.endpoint().substr(17) + "/x"}) {
      f.hub.add_fault({.where = Where::hub, .path = "/resolve/", .redirect_to = target});
      f.hub.add_fault({.where = Where::hub, .path = "/tree/", .redirect_to = target});
      CHECK_THROWS(f.repository->list(""));
      std::string text;
      f.read(f.object("big.tar.zst"), {0, 10}, text);
    }
  }
  int with = 0;
  for (const auto& request : f.hub.requests()) {
    if (request.where == Where::cdn) CHECK_FALSE(request.has_authorization);
    std::string host;
    for (const auto& [name, value] : request.headers) {
      if (same_name(name, "host")) host = value;
    }
    if (host.rfind("localhost", 0) == 0) CHECK_FALSE(request.has_authorization);
    with += request.has_authorization ? 1 : 0;
  }
  CHECK(with > 0);
}

TEST_CASE("refusals of the hub reach the user in words") {
  SECTION("gated without a token") {
    Fixture f{{.id = "acme/rel", .gated = "auto"}};
    f.open("acme/rel", "");
    const Problem problem = access_problem(f);
    CHECK(problem.thing.find("gated, and no token is set") != std::string::npos);
    CHECK(problem.hint.find(f.hub.endpoint() + "/datasets/acme/rel") != std::string::npos);
  }
  SECTION("gated and not accepted") {
    Fixture f{{.id = "acme/rel", .gated = "manual"}};
    CHECK(access_problem(f).thing.find("has no access yet") != std::string::npos);
    f.repository->resolve("main");
    try {
      f.repository->read_file("README.md", 100, std::nullopt);
      FAIL("granted");
    } catch (const Error& error) {
      INFO(to_text(error.problem()));
      CHECK(error.problem().hint.find("the owner decides") != std::string::npos);
    }
  }
  SECTION("fine-grained token") {
    Fixture f{{.id = "acme/rel", .gated = "auto"}};
    f.hub.add_token("hf_narrow", TestHub::TokenKind::no_gated_repos);
    f.open("acme/rel", "hf_narrow");
    CHECK(access_problem(f).hint.find("Read access to contents of all public gated repos") !=
          std::string::npos);
  }
  SECTION("invalid token, on a public repo too") {
    Fixture f;
    f.open("acme/rel", "hf_revoked");
    CHECK(access_problem(f).thing.find("the token from HF_TOKEN is not valid") != std::string::npos);
  }
  SECTION("private without rights") {
    Fixture f{{.id = "acme/rel", .is_private = true}};
    CHECK(access_problem(f).thing.find("the token from HF_TOKEN may not read it") != std::string::npos);
    f.open("acme/rel", "");
    CHECK(access_problem(f).thing.find("no token is set") != std::string::npos);
  }
  SECTION("disabled") {
    Fixture f{{.id = "acme/rel", .disabled = true}};
    CHECK(access_problem(f).thing.find("disabled") != std::string::npos);
  }
  SECTION("no such file") {
    Fixture f;
    CHECK(access_problem(f, "nowhere").thing.find("nowhere is not in datasets/acme/rel") !=
          std::string::npos);
  }
  SECTION("no such commit") {
    Fixture f;
    f.commit = std::string(40, 'f');
    CHECK(access_problem(f).thing.find("has no revision ffff") != std::string::npos);
  }
}

TEST_CASE("cuts are continued at the byte they happened at") {
  Fixture f;
  f.repository->resolve(f.commit);
  const auto object = f.object("big.tar.zst");
  f.hub.clear_log();
  for (const std::uint64_t at : {0ULL, 1ULL, 700'000ULL, 2'000'000ULL}) {
    f.hub.add_fault({.where = Where::cdn, .path = "big.tar.zst", .cut_after = at});
  }
  CHECK(same(f.read_on(object, 6), f.big));
  CHECK(f.resolves() <= 2);
  CHECK(f.hub.counters().bytes_cdn <= f.big.size() + 4'000'000);
}

TEST_CASE("a URL that expired under way is replaced") {
  Fixture f;
  f.repository->resolve(f.commit);
  for (const auto* path : {"big.tar.zst", "xet.tar.zst"}) {
    const auto object = f.object(path);
    std::string text;
    CHECK(f.read(object, {0, 1000}, text).end == ReadEnd::complete);
    f.hub.expire_urls();
    CHECK(f.read(object, {1000, 1000}, text).end == ReadEnd::complete);
    CHECK(same(text, f.big.substr(1000, 1000)));
  }
  CHECK(f.resolves() == 4);
}

TEST_CASE("a URL that is handed out expired is given up, not looped over") {
  Fixture f;
  f.repository->resolve(f.commit);
  const auto object = f.object("big.tar.zst");
  f.hub.set_url_lifetime(std::chrono::seconds{60}, std::chrono::seconds{100});
  std::string text;
  CHECK(f.read(object, {0, 1000}, text).end == ReadEnd::interrupted);
  CHECK(f.read(object, {0, 1000}, text).end == ReadEnd::interrupted);
  CHECK(f.read(object, {0, 1000}, text).end == ReadEnd::failed);
  try {
    f.repository->probe(object);
    FAIL("granted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::access);
  }
  CHECK(f.hub.counters().requests_cdn == 6);
}

TEST_CASE("what the storage and the hub can do wrong becomes an outcome") {
  struct Row {
    std::string name;
    Fault fault;
    ReadEnd end;
  };
  const Content other{std::string(2'999'999, 'x')};
  const std::vector<Row> rows{
      {"stall before the answer", {.where = Where::cdn, .stall_after = 0}, ReadEnd::interrupted},
      {"stall in the body", {.where = Where::cdn, .stall_after = 5000}, ReadEnd::interrupted},
      {"no answer", {.where = Where::cdn, .close_before_answer = true}, ReadEnd::interrupted},
      {"cut politely", {.where = Where::cdn, .cut_after = 100, .cut = CutWith::fin}, ReadEnd::interrupted},
      {"Range ignored", {.where = Where::cdn, .ignore_range = true}, ReadEnd::range_ignored},
      {"shorter", {.where = Where::cdn, .resize = -10}, ReadEnd::interrupted},
      {"longer", {.where = Where::cdn, .resize = 10}, ReadEnd::complete},
      {"no length", {.where = Where::cdn, .no_length = true}, ReadEnd::complete},
      {"no length, cut",
       {.where = Where::cdn, .cut_after = 100, .cut = CutWith::fin, .no_length = true},
       ReadEnd::interrupted},
      {"another object at the storage", {.where = Where::cdn, .content = other}, ReadEnd::wrong_object},
      {"another object at the hub",
       {.where = Where::hub, .path = "/resolve/", .content = other},
       ReadEnd::wrong_object},
      {"another commit",
       {.where = Where::hub, .path = "/resolve/", .headers = {{"X-Repo-Commit", std::string(40, 'f')}}},
       ReadEnd::wrong_object},
      {"gzip", {.where = Where::cdn, .headers = {{"Content-Encoding", "gzip"}}}, ReadEnd::failed},
      {"503", {.where = Where::cdn, .status = 503}, ReadEnd::interrupted},
      {"416", {.where = Where::cdn, .status = 416}, ReadEnd::wrong_object},
      {"hub 500", {.where = Where::hub, .path = "/resolve/", .status = 500}, ReadEnd::interrupted},
      {"to ftp",
       {.where = Where::hub, .path = "/resolve/", .redirect_to = "ftp://127.0.0.1/x"},
       ReadEnd::failed},
      {"to a file",
       {.where = Where::hub, .path = "/resolve/", .redirect_to = "file:///etc/passwd"},
       ReadEnd::failed},
      {"to another host unencrypted",
       {.where = Where::hub, .path = "/resolve/", .redirect_to = "http://192.0.2.1/x"},
       ReadEnd::failed},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    Fixture f{{.id = "acme/rel"}, row.fault.stall_after ? k_impatient : k_patient};
    f.repository->resolve(f.commit);
    const auto object = f.object("big.tar.zst");
    const auto id = f.hub.add_fault(row.fault);
    std::string text;
    const auto outcome = f.read(object, {1000, 50'000}, text);
    INFO(to_text(outcome.problem));
    CHECK(f.hub.fault_hits(id) == 1);
    CHECK(static_cast<int>(outcome.end) == static_cast<int>(row.end));
    CHECK(same(text, f.big.substr(1000, text.size())));
    f.hub.clear_faults();
    CHECK(f.read(object, {1000, 50'000}, text).end == ReadEnd::complete);
    CHECK(same(text, f.big.substr(1000, 50'000)));
  }
}

TEST_CASE("the hub's wish to wait reaches the reader") {
  Fixture f;
  f.repository->resolve(f.commit);
  const auto object = f.object("big.tar.zst");
  f.hub.set_quota(1000, 0);
  std::string text;
  const auto outcome = f.read(object, {0, 10}, text);
  CHECK(outcome.end == ReadEnd::interrupted);
  REQUIRE(outcome.server_wait);
  CHECK(outcome.server_wait->count() >= 1);
  CHECK(outcome.server_wait->count() <= 301);
}

TEST_CASE("a hub that stumbles is asked again") {
  Fixture f{{.id = "acme/rel"}, k_impatient};
  f.repository->resolve(f.commit);
  f.hub.add_fault({.where = Where::hub, .path = "/tree/", .status = 503});
  f.hub.add_fault({.where = Where::hub, .path = "/tree/", .close_before_answer = true});
  f.hub.add_fault({.where = Where::hub, .path = "/tree/", .stall_after = 0});
  CHECK(f.repository->list("").size() == 6);
  f.hub.add_fault({.where = Where::hub, .path = "/paths-info/", .times = 2, .status = 500});
  CHECK(f.repository->paths_info({"README.md"}).size() == 1);
  f.hub.add_fault({.where = Where::cdn, .times = 2, .status = 503});
  f.repository->probe(f.object("big.tar.zst"));
  f.hub.add_fault({.where = Where::cdn, .flip_at = 5});
  CHECK(same(f.repository->read_file("big.tar.zst", 4'000'000, std::nullopt).value_or(""), f.big));
}

TEST_CASE("an endpoint that is not there is named") {
  std::string endpoint;
  { endpoint = TestHub{}.endpoint(); }
  Fixture f;
  hub::HubOptions options{.endpoint = endpoint, .repo = "acme/rel"};
  options.retry = {.max_tries_without_progress = 2, .first = std::chrono::milliseconds{1}};
  const auto repository = decant::hub::open_hub(std::move(options), *f.transport, system_clock(), f.stop);
  try {
    repository->resolve("main");
    FAIL("answered");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::network);
    CHECK(error.problem().thing.find("cannot reach " + endpoint) != std::string::npos);
  }
}

TEST_CASE("many threads read one object over few resolves") {
  Fixture f;
  f.repository->resolve(f.commit);
  const auto object = f.object("big.tar.zst");
  f.hub.clear_log();
  std::string all(f.big.size(), '\0');
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> bad{0};
  constexpr std::uint64_t k_range = 100'000;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t at = next++ * k_range; at < all.size(); at = next++ * k_range) {
        TextSink sink;
        const auto outcome = f.repository->objects().read(object, {at, k_range}, sink, f.stop);
        if (outcome.end != ReadEnd::complete) ++bad;
        std::copy(sink.text.begin(), sink.text.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(bad == 0);
  CHECK(same(all, f.big));
  CHECK(f.resolves() == 1);
  CHECK(f.hub.counters().connections_cdn <= 9);
}
