// SPDX-License-Identifier: Apache-2.0
// The hub and its storage behind TLS, with a certificate authority of the test's own.
#include <fmt/format.h>

#include "cli_world.hpp"
#include "support/catch.hpp"
#include "support/tls.hpp"

namespace decant::test {
namespace {

std::uint16_t port_of(const std::string& origin) {
  return static_cast<std::uint16_t>(std::stoul(origin.substr(origin.rfind(':') + 1)));
}

struct SecureWorld : World {
  SecureWorld() { env["SSL_CERT_FILE"] = ca.file(); }

  void serve(const CertificateFiles& for_hub, TlsFront::Version version = TlsFront::Version::current) {
    serve(for_hub, for_hub, version);
  }
  void serve(const CertificateFiles& for_hub, const CertificateFiles& for_cdn,
             TlsFront::Version version = TlsFront::Version::current) {
    hub_front = std::make_unique<TlsFront>(for_hub, port_of(hub.endpoint()), version);
    cdn_front = std::make_unique<TlsFront>(for_cdn, port_of(hub.cdn_origin()), version);
    hub.set_origins(fmt::format("https://localhost:{}", hub_front->port()),
                    fmt::format("https://localhost:{}", cdn_front->port()));
    env["HF_ENDPOINT"] = hub.endpoint();
  }

  TempDir keys;
  TestCa ca{keys.path()};
  std::unique_ptr<TlsFront> hub_front;
  std::unique_ptr<TlsFront> cdn_front;
};

}  // namespace

TEST_CASE("a release is restored over TLS with the authority that the environment names") {
  for (const auto* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
    DYNAMIC_SECTION(name) {
      SecureWorld world;
      world.env.erase("SSL_CERT_FILE");
      world.env[name] = world.ca.file();
      world.serve(world.ca.issue({}));
      const auto ran = world.restore();
      INFO(ran);
      CHECK(ran.code == 0);
      CHECK(world.is_restored());
    }
  }
}

TEST_CASE("TLS 1.2 is good enough") {
  SecureWorld world;
  world.serve(world.ca.issue({}), TlsFront::Version::tls_1_2);
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 0);
}

TEST_CASE("a connection that proves nothing is refused at once, with the reason") {
  using Version = TlsFront::Version;
  using std::chrono::hours;
  struct Row {
    const char* name;
    TestCa::Leaf leaf;
    Version version;
    std::vector<std::string> words;
  };
  const std::vector<Row> rows{
      {"expired", {.begins = hours{-48}, .ends = hours{-24}}, Version::current, {"expired"}},
      {"not valid yet", {.begins = hours{24}, .ends = hours{48}}, Version::current, {"not yet valid"}},
      {"another host", {.host = "elsewhere.example"}, Version::current, {"localhost"}},
      {"self-signed", {.self_signed = true}, Version::current, {"self"}},
      {"TLS 1.0 only", {}, Version::tls_1_0, {"protocol"}},
      {"TLS 1.1 only", {}, Version::tls_1_1, {"protocol"}},
  };
  for (const auto& row : rows) {
    DYNAMIC_SECTION(row.name) {
      SecureWorld world;
      world.forbid_writes();
      world.serve(world.ca.issue(row.leaf), row.version);
      const auto before = world.clock.wall_seconds();
      const auto ran = world.restore();
      INFO(ran);
      CHECK(ran.code == 4);
      CHECK(has(ran, {"no secure connection to https://localhost", "clock", "SSL_CERT_FILE", "next:"}));
      for (const auto& word : row.words) CHECK(has(ran, {word}));
      CHECK(world.hub_front->accepted() == 1);
      CHECK(world.hub.requests().empty());
      CHECK(world.clock.wall_seconds() - before < 60);  // nothing was waited for
    }
  }
}

TEST_CASE("an authority that is not trusted, or whose file is not there, is said") {
  SecureWorld world;
  world.serve(world.ca.issue({}));
  world.env.erase("SSL_CERT_FILE");
  CHECK(has(world.restore(), {"no secure connection"}));
  world.env["CURL_CA_BUNDLE"] = world.ca.file();
  world.env["SSL_CERT_FILE"] = world.dir / "none.pem";  // comes first
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 4);
  CHECK(has(ran, {"none.pem"}));
}

TEST_CASE("a storage that proves nothing is refused though the hub proved itself") {
  SecureWorld world;
  world.serve(world.ca.issue({}), world.ca.issue({.self_signed = true}));
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 4);
  CHECK(has(ran, {"no secure connection to " + world.hub.cdn_origin()}));
  CHECK(world.cdn_front->accepted() == 1);
}

TEST_CASE("a clock that is older than the program is named as the likely reason") {
  class OldClock final : public Clock {
   public:
    std::chrono::steady_clock::time_point now() const override { return system_clock().now(); }
    std::int64_t wall_seconds() const override { return 1'000'000'000; }  // 2001
    void sleep(std::chrono::milliseconds, const Stop& stop) override { stop.throw_if_requested(); }
  } clock;
  SecureWorld world;
  world.clock_in_use = &clock;
  world.serve(world.ca.issue({.begins = std::chrono::hours{24}, .ends = std::chrono::hours{48}}));
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 4);
  CHECK(has(ran, {"2001-09-09", "before this program was built"}));
}

TEST_CASE("a redirect from https to http is not followed") {
  SecureWorld world;
  const auto plain = world.hub.cdn_origin();
  world.serve(world.ca.issue({}));
  world.hub.set_origins(world.hub.endpoint(), plain);
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 5);
  CHECK(has(ran, {"redirect from https"}));
  for (const auto& request : world.hub.requests()) CHECK(request.where == Where::hub);
}

}  // namespace decant::test
