// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/owner.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "decant/base/fd.hpp"
#include "helpers.hpp"
#include "proc_stat.hpp"

namespace {

using namespace decant::fs;

const Owner k_owner{"node17", "0b3f-11", 4242, 987654321, "00ff00ff00ff00ff", 1'796'050'800};
constexpr const char* k_text = "decant.owner/1 node17 0b3f-11 4242 987654321 00ff00ff00ff00ff 1796050800\n";

TEST_CASE("an owner is one line and comes back as it was") {
  CHECK(to_text(k_owner) == k_text);
  CHECK(parse_owner(k_text) == k_owner);
  CHECK(parse_owner(to_text(this_process())) == this_process());
}

TEST_CASE("anything else is no owner") {
  for (const char* bad : {"", "\n", "decant.owner/1 node17 0b3f-11 4242 987654321 00ff 1796050800",
                          "decant.owner/2 node17 0b3f-11 4242 987654321 00ff 1796050800\n",
                          "decant.owner/1 node17 0b3f-11 4242 987654321 00ff\n",
                          "decant.owner/1 node17 0b3f-11 4242 987654321 00ff 1796050800 more\n",
                          "decant.owner/1 node17  4242 987654321 00ff 1796050800\n",
                          "decant.owner/1 node17 0b3f-11 -1 987654321 00ff 1796050800\n",
                          "decant.owner/1 node17 0b3f-11 0 987654321 00ff 1796050800\n",
                          "decant.owner/1 node17 0b3f-11 99999999999 987654321 00ff 1796050800\n",
                          "decant.owner/1 node17 0b3f-11 4242 x 00ff 1796050800\n",
                          "decant.owner/1 node17 0b3f-11 4242 987654321 00ff 1796050800\n\n",
                          "decant.owner/1 no\tde 0b3f-11 4242 987654321 00ff 1796050800\n"}) {
    INFO(bad);
    CHECK_FALSE(parse_owner(bad).has_value());
  }
}

TEST_CASE("a host name with blanks cannot break the line") {
  Owner odd = k_owner;
  odd.host = "my host\n";
  odd.boot_id = "";
  const auto parsed = parse_owner(to_text(odd));
  REQUIRE(parsed.has_value());
  CHECK(parsed->host == "my_host_");
  CHECK(parsed->boot_id == "-");
}

TEST_CASE("the start time is found whatever the program is called") {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n";
  for (const char* name : {"(decant)", "(a b)", "(a) S 1 (b)", "())", "()", "(x) R 9 9 9)"}) {
    INFO(name);
    const auto stat = parse_proc_stat(std::string{"12 "} + name + rest);
    REQUIRE(stat.has_value());
    CHECK(stat->state == 'S');
    CHECK(stat->start_time == 777);
  }
  for (const char* bad :
       {"", "12", "12 (a)", "12 (a) S 1 2", "12 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"}) {
    CHECK_FALSE(parse_proc_stat(bad).has_value());
  }
}

TEST_CASE("this process is itself, and another program under its number is dead") {
  CHECK(this_process().pid == ::getpid());
  CHECK(this_process().start_time > 0);
  CHECK(liveness(this_process()) == Liveness::self);
  Owner before = this_process();
  before.nonce = "0000000000000000";
  CHECK(liveness(before) == Liveness::dead);
  Owner earlier = this_process();
  earlier.start_time -= 1;
  CHECK(liveness(earlier) == Liveness::dead);
}

TEST_CASE("another boot is dead, another host is unknown") {
  Owner owner = this_process();
  owner.boot_id = "another";
  CHECK(liveness(owner) == Liveness::dead);
  owner.host = "another";
  CHECK(liveness(owner) == Liveness::unknown_host);
}

TEST_CASE("a child is an owner of its own: alive until it ends, reaped or not") {
  int to_parent[2];
  int to_child[2];
  REQUIRE(::pipe(to_parent) == 0);
  REQUIRE(::pipe(to_child) == 0);
  const Owner parent = this_process();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string text = to_text(this_process());
    const bool parent_lives = liveness(parent) == Liveness::alive;
    char go = 0;
    const bool ok = ::write(to_parent[1], text.data(), text.size()) > 0 && ::read(to_child[0], &go, 1) == 1;
    ::_exit(ok && parent_lives ? 0 : 1);
  }
  std::string text(1000, '\0');
  const ssize_t size = ::read(to_parent[0], text.data(), text.size());
  REQUIRE(size > 0);
  const auto owner = parse_owner(std::string_view{text}.substr(0, static_cast<std::size_t>(size)));
  REQUIRE(owner.has_value());
  CHECK(owner->pid == child);
  CHECK(owner->nonce != parent.nonce);
  CHECK(liveness(*owner) == Liveness::alive);
  CHECK(::write(to_child[1], "g", 1) == 1);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(liveness(*owner) == Liveness::dead);  // a zombie
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(liveness(*owner) == Liveness::dead);
  for (const int end : {to_parent[0], to_parent[1], to_child[0], to_child[1]}) ::close(end);
}

}  // namespace
