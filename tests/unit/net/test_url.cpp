// SPDX-License-Identifier: Apache-2.0
#include "decant/net/transport.hpp"
#include "support/catch.hpp"

using namespace decant::net;

TEST_CASE("a URL is taken apart and put together") {
  struct Row {
    std::string text, origin, rest, again;
  };
  const std::vector<Row> rows{
      {"https://huggingface.co", "https://huggingface.co", "/", "https://huggingface.co/"},
      {"HTTPS://HuggingFace.CO/A/b", "https://huggingface.co", "/A/b", "https://huggingface.co/A/b"},
      {"https://h:443/x", "https://h", "/x", "https://h/x"},
      {"http://h:80", "http://h", "/", "http://h/"},
      {"http://h:443/x", "http://h:443", "/x", "http://h:443/x"},
      {"http://h:/x", "http://h", "/x", "http://h/x"},
      {"http://127.0.0.1:8080/a%2Fb?c=d%20e&f", "http://127.0.0.1:8080", "/a%2Fb?c=d%20e&f",
       "http://127.0.0.1:8080/a%2Fb?c=d%20e&f"},
      {"https://h?q=1", "https://h", "/?q=1", "https://h/?q=1"},
      {"https://h/p#fragment", "https://h", "/p", "https://h/p"},
      {"https://h/a@b?mail=x@y", "https://h", "/a@b?mail=x@y", "https://h/a@b?mail=x@y"},
      {"https://[::1]:8443/x", "https://[::1]:8443", "/x", "https://[::1]:8443/x"},
      {"https://[0:0:0:0:0:0:0:1]/x", "https://[::1]", "/x", "https://[::1]/x"},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    const auto url = parse_url(row.text);
    REQUIRE(url);
    CHECK(url->origin.str() == row.origin);
    CHECK(url->path_and_query == row.rest);
    CHECK(url->str() == row.again);
    CHECK(parse_url(url->str()) == url);
  }
}

TEST_CASE("what is no plain http URL is refused") {
  for (const std::string text : {"",
                                 "huggingface.co",
                                 "/path",
                                 "//host/path",
                                 "ftp://h/x",
                                 "file:///etc/passwd",
                                 "gopher://h/",
                                 "data:,x",
                                 "http:/h/x",
                                 "http:h",
                                 "http://",
                                 "http:///x",
                                 "https://user@h/x",
                                 "https://user:pw@h/x",
                                 "https://@h/",
                                 "https://h:0/",
                                 "https://h:65536/",
                                 "https://h:8o/",
                                 "https://h:80:80/",
                                 "https://h/a b",
                                 "https://h/a\tb",
                                 "https://h/a\r\nX: y",
                                 "https://h\\@evil/",
                                 "https://h/\\x",
                                 "https://[::1/x",
                                 "https://[zz]/x",
                                 "https://h\xc3\xa4/x",
                                 "https://h%2e/x",
                                 " https://h/",
                                 "https://h/\x7f"}) {
    INFO(text);
    CHECK_FALSE(parse_url(text));
  }
  CHECK_FALSE(parse_url(std::string{"https://h/a\0b", 13}));
  CHECK_FALSE(parse_url("https://h/" + std::string(20'000, 'a')));
}

TEST_CASE("the same origin is scheme, host and port") {
  const auto origin = [](const char* text) { return parse_url(text)->origin; };
  CHECK(origin("https://h/a") == origin("https://H:443/b"));
  CHECK_FALSE(origin("https://h/") == origin("http://h/"));
  CHECK_FALSE(origin("https://h/") == origin("https://h:444/"));
  CHECK_FALSE(origin("https://h/") == origin("https://h.evil/"));
  CHECK_FALSE(origin("https://h/") == origin("https://h./"));
}

TEST_CASE("loopback is this machine only") {
  for (const char* text :
       {"http://127.0.0.1/", "http://127.9.8.7:1/", "http://localhost/", "http://[::1]/"}) {
    INFO(text);
    CHECK(parse_url(text)->origin.is_loopback());
  }
  for (const char* text : {"http://127.0.0.1.evil.com/", "http://localhost.evil.com/", "http://10.0.0.1/",
                           "http://126.0.0.1/", "http://128.0.0.1/", "http://[::2]/", "http://0.0.0.0/"}) {
    INFO(text);
    CHECK_FALSE(parse_url(text)->origin.is_loopback());
  }
}

TEST_CASE("a Location is resolved against where it was sent") {
  struct Row {
    std::string base, location, result;  // empty: refused
  };
  const std::vector<Row> rows{
      {"https://h/a/b?q=1", "https://cdn:1/x?Expires=5", "https://cdn:1/x?Expires=5"},
      {"https://h/a/b?q=1", "//cdn/x", "https://cdn/x"},
      {"https://h/a/b?q=1", "/x%2Fy?z=%22", "https://h/x%2Fy?z=%22"},
      {"https://h/a/b?q=1", "c?d", "https://h/a/c?d"},
      {"https://h/a/b?q=1", "?z", "https://h/a/b?z"},
      {"https://h/a/b?q=1", "#z", "https://h/a/b?q=1"},
      {"https://h/a/b/c", "../x", "https://h/a/x"},
      {"https://h/a/b/c", "../../../../x", "https://h/x"},
      {"https://h/a/b/c", "./x/.", "https://h/a/b/x/"},
      {"https://h/a/b/c", "/..", "https://h/"},
      {"https://h/a/b/c", "/%2e%2e/x", "https://h/%2e%2e/x"},
      {"https://h/a/b/c", "/x?y=../z", "https://h/x?y=../z"},
      {"https://h:8443/a", "/x", "https://h:8443/x"},
      {"https://h/a", "HTTP://h/x", "http://h/x"},
      {"https://h/a", "file:///etc/passwd", ""},
      {"https://h/a", "ftp://h/x", ""},
      {"https://h/a", "javascript:alert(1)", ""},
      {"https://h/a", "data:text/plain,x", ""},
      {"https://h/a", "https://token@evil/x", ""},
      {"https://h/a", "//user:pw@evil/x", ""},
      {"https://h/a", "/x y", ""},
      {"https://h/a", "/x\r\nSet: y", ""},
      {"https://h/a", "/\\evil/x", ""},
  };
  for (const auto& row : rows) {
    INFO(row.base << " + " << row.location);
    const auto url = resolve_reference(*parse_url(row.base), row.location);
    CHECK((url ? url->str() : "") == row.result);
  }
}

TEST_CASE("a redacted URL has no query") {
  CHECK(parse_url("https://cdn/x?Signature=secret")->redacted() == "https://cdn/x?...");
  CHECK(parse_url("https://cdn/x")->redacted() == "https://cdn/x");
  CHECK(parse_url("https://cdn/\xe2\x80\xaex?s")->redacted().find('\xe2') == std::string::npos);
}

TEST_CASE("percent encoding leaves unreserved characters alone") {
  CHECK(percent_encode("aZ09-._~", Slash::encode) == "aZ09-._~");
  CHECK(percent_encode("a b#c?d%e+f", Slash::keep) == "a%20b%23c%3Fd%25e%2Bf");
  CHECK(percent_encode("a/b", Slash::keep) == "a/b");
  CHECK(percent_encode("refs/pr/1", Slash::encode) == "refs%2Fpr%2F1");
  CHECK(percent_encode("\xc3\xa4\n", Slash::keep) == "%C3%A4%0A");
}
