// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "decant/base/fd.hpp"

namespace decant::test {

// A certificate and its key as PEM files.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

// A certificate authority of a test, in a directory of its own.
class TestCa {
 public:
  explicit TestCa(std::string directory);
  ~TestCa();
  TestCa(const TestCa&) = delete;
  TestCa& operator=(const TestCa&) = delete;

  struct Leaf {
    std::string host = "localhost";
    std::chrono::hours begins{-24};  // from now
    std::chrono::hours ends{24};
    bool self_signed = false;
  };
  CertificateFiles issue(const Leaf& leaf);
  const std::string& file() const { return file_; }  // what a client trusts

 private:
  struct Keys;
  std::string directory_;
  std::string file_;
  int issued_ = 0;
  std::unique_ptr<Keys> keys_;
};

// Ends TLS on 127.0.0.1 and hands the bytes on to a plain server there.
class TlsFront {
 public:
  enum class Version : std::uint8_t { current, tls_1_0, tls_1_1, tls_1_2 };

  TlsFront(const CertificateFiles& files, std::uint16_t backend, Version only = Version::current);
  ~TlsFront();
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  std::uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }

 private:
  struct Context;
  struct Peer {
    std::thread thread;
    Fd socket;  // shut down to end the thread
  };

  void accept_loop();
  void serve(int socket);

  std::unique_ptr<Context> context_;
  const std::uint16_t backend_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> accepted_{0};
  std::list<Peer> peers_;
  std::thread acceptor_;
};

}  // namespace decant::test
