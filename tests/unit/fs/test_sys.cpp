// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/sys.hpp"

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include "decant/base/bytes.hpp"
#include "decant/base/fd.hpp"
#include "helpers.hpp"

namespace {

namespace sys = decant::fs::sys;
using decant::fs::test::error_of;
using decant::fs::test::exists;
using decant::fs::test::read_file;
using decant::fs::test::TempDir;

TEST_CASE("every call of the table passes the hook and does what its name says") {
  const TempDir dir;
  const decant::fs::DirHandle root = decant::fs::test::open_root(dir);
  std::vector<std::string> seen;
  const sys::ScopedHook hook{[&](std::string_view call, unsigned long number) {
    seen.emplace_back(call);
    CHECK(number == seen.size());
    return 0;
  }};
  const timespec times[2] = {{1000, 0}, {2000, 0}};
  const decant::Fd fd{sys::open_create(root.fd(), "f", O_RDWR | O_EXCL, 0600)};
  REQUIRE(fd);
  CHECK((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(sys::write(fd.get(), "ab", 2) == 2);
  CHECK(sys::pwrite(fd.get(), "cd", 2, 2) == 2);
  CHECK(sys::ftruncate(fd.get(), 3) == 0);
  CHECK(sys::fchmod(fd.get(), 0640) == 0);
  CHECK(sys::chmod((dir / "f").c_str(), 0644) == 0);
  CHECK(sys::futimens(fd.get(), times) == 0);
  CHECK(sys::fsync(fd.get()) == 0);
  CHECK(sys::syncfs(fd.get()) == 0);
  CHECK(sys::mkdirat(root.fd(), "d", 0755) == 0);
  CHECK(sys::symlinkat("target", root.fd(), "s") == 0);
  CHECK(sys::utimensat(root.fd(), "s", times, AT_SYMLINK_NOFOLLOW) == 0);
  CHECK(sys::linkat(root.fd(), "f", root.fd(), "g") == 0);
  CHECK(sys::renameat(root.fd(), "g", root.fd(), "h") == 0);
  CHECK(sys::rename_noreplace(root.fd(), "h", root.fd(), "i") == 0);
  CHECK(sys::rename_noreplace(root.fd(), "i", root.fd(), "f") == -1);
  CHECK(errno == EEXIST);
  CHECK(sys::unlinkat(root.fd(), "d", AT_REMOVEDIR) == 0);
  CHECK(hook.calls() == seen.size());
  CHECK(seen == std::vector<std::string>{"open_create", "write", "pwrite", "ftruncate", "fchmod", "chmod",
                                         "futimens", "fsync", "syncfs", "mkdirat", "symlinkat", "utimensat",
                                         "linkat", "renameat", "rename_noreplace", "rename_noreplace",
                                         "unlinkat"});
  CHECK(read_file(dir / "i") == "abc");
  CHECK_FALSE(exists(dir / "d"));
}

TEST_CASE("a call that the hook fails does not happen") {
  const TempDir dir;
  const auto root = decant::fs::test::open_root(dir);
  {
    const sys::ScopedHook hook{
        [](std::string_view, unsigned long number) { return number == 2 ? ENOSPC : 0; }};
    CHECK(sys::mkdirat(root.fd(), "a", 0755) == 0);
    CHECK(sys::mkdirat(root.fd(), "b", 0755) == -1);
    CHECK(errno == ENOSPC);
    CHECK(sys::mkdirat(root.fd(), "c", 0755) == 0);
    CHECK_THROWS_AS(sys::ScopedHook([](std::string_view, unsigned long) { return 0; }), decant::Error);
  }
  CHECK(root.list() == std::vector<std::string>{"a", "c"});
  CHECK(sys::mkdirat(root.fd(), "b", 0755) == 0);
}

TEST_CASE("calls from many threads are numbered without gaps") {
  const TempDir dir;
  const auto root = decant::fs::test::open_root(dir);
  std::atomic<unsigned long> sum{0};
  const sys::ScopedHook hook{[&](std::string_view, unsigned long number) {
    sum += number;
    return EIO;
  }};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) sys::fsync(root.fd());
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(hook.calls() == 1000);
  CHECK(sum == 500'500);
}

TEST_CASE("short writes go on and failing ones name the path") {
  const TempDir dir;
  const auto root = decant::fs::test::open_root(dir);
  const std::string bytes = decant::test::random_bytes(3, 300'000);
  auto file = root.create_file(decant::fs::test::rel("f"), 0644);
  REQUIRE(file.has_value());
  sys::write_all(file->get(), decant::as_bytes(bytes), "f");
  sys::pwrite_all(file->get(), decant::as_bytes("xyz"), 100, "f");
  CHECK(read_file(dir / "f") == bytes.substr(0, 100) + "xyz" + bytes.substr(103));
  const sys::ScopedHook hook{[](std::string_view, unsigned long) { return ENOSPC; }};
  const auto error = error_of([&] { sys::write_all(file->get(), decant::as_bytes("a"), "some\nfile"); });
  CHECK_THAT(error.what(), Catch::StartsWith("cannot write some\\x0afile: no space"));
  CHECK_THROWS_AS(sys::pwrite_all(file->get(), decant::as_bytes("a"), 0, "f"), decant::Error);
}

extern "C" void on_signal(int /*signal*/) {}

TEST_CASE("a signal in the middle of a write is not a failure") {
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = on_signal;  // without SA_RESTART
  REQUIRE(::sigaction(SIGUSR1, &action, &old) == 0);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const decant::Fd reader{ends[0]};
  decant::Fd writer{ends[1]};
  const std::string bytes = decant::test::random_bytes(4, 1'000'000);
  std::atomic<bool> ok{false};
  std::thread writing{[&] {
    sys::write_all(writer.get(), decant::as_bytes(bytes), "pipe");
    ok = true;
    writer.reset();
  }};
  std::string got;
  std::string buffer(10'000, '\0');
  for (int i = 0; i < 20; ++i) {  // it fills the pipe and waits: the signals hit it there
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    ::pthread_kill(writing.native_handle(), SIGUSR1);
  }
  for (ssize_t size = 1; size > 0;) {
    size = ::read(reader.get(), buffer.data(), buffer.size());
    if (size > 0) got.append(buffer, 0, static_cast<std::size_t>(size));
  }
  writing.join();
  ::sigaction(SIGUSR1, &old, nullptr);
  CHECK(ok);
  CHECK(got == bytes);
}

}  // namespace
