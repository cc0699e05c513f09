// SPDX-License-Identifier: Apache-2.0
#include "support/tls.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <stdexcept>

#include "decant/base/c_handle.hpp"

namespace decant::test {
namespace {

using Key = CHandle<EVP_PKEY_free>;
using Certificate = CHandle<X509_free>;
using Extension = CHandle<X509_EXTENSION_free>;
using Connection = CHandle<SSL_free>;

void need(bool good, const char* what) {
  if (!good) throw std::runtime_error{std::string{"test TLS: "} + what};
}

void add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension{X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()), "an extension"};
  need(X509_add_ext(certificate, extension.get(), -1) == 1, "X509_add_ext");
}

void write_pem(const std::string& path, const std::function<int(std::FILE*)>& write) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  need(file != nullptr, "fopen");
  const int good = write(file);
  need(std::fclose(file) == 0 && good == 1, "a PEM file");
}

void set_name(X509* certificate, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  need(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                  reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1,
       "a name");
}

void set_life(X509* certificate, std::chrono::hours begins, std::chrono::hours ends) {
  X509_gmtime_adj(X509_getm_notBefore(certificate), std::chrono::seconds{begins}.count());
  X509_gmtime_adj(X509_getm_notAfter(certificate), std::chrono::seconds{ends}.count());
}

std::uint16_t listen_on_loopback(const Fd& socket) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  need(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, "bind");
  need(::listen(socket.get(), 64) == 0, "listen");
  need(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0, "getsockname");
  return ntohs(address.sin_port);
}

Fd connect_to_loopback(std::uint16_t port) {
  Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) socket.reset();
  return socket;
}

bool send_all(int socket, const char* data, std::size_t size) {
  while (size > 0) {
    const auto sent = ::send(socket, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Both ways, until one side ends.
void copy_both_ways(SSL* tls, int front, int back) {
  std::array<char, 16384> buffer{};
  for (;;) {
    std::array<pollfd, 2> watched{pollfd{front, POLLIN, 0}, pollfd{back, POLLIN, 0}};
    if (SSL_pending(tls) == 0 && ::poll(watched.data(), watched.size(), -1) < 0) return;
    if (SSL_pending(tls) > 0 || watched[0].revents != 0) {
      const int got = SSL_read(tls, buffer.data(), static_cast<int>(buffer.size()));
      if (got <= 0 || !send_all(back, buffer.data(), static_cast<std::size_t>(got))) return;
    }
    if (watched[1].revents != 0) {
      const auto got = ::recv(back, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        SSL_shutdown(tls);
        return;
      }
      if (SSL_write(tls, buffer.data(), static_cast<int>(got)) <= 0) return;
    }
  }
}

}  // namespace

struct TestCa::Keys {
  Key key{EVP_EC_gen("P-256"), "EVP_EC_gen"};
  Certificate certificate{X509_new(), "X509_new"};
};

TestCa::TestCa(std::string directory)
    : directory_{std::move(directory)}, file_{directory_ + "/ca.pem"}, keys_{std::make_unique<Keys>()} {
  X509* certificate = keys_->certificate.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  set_life(certificate, std::chrono::hours{-24 * 365}, std::chrono::hours{24 * 365});
  set_name(certificate, "decant test CA");
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  X509_set_pubkey(certificate, keys_->key.get());
  add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  need(X509_sign(certificate, keys_->key.get(), EVP_sha256()) > 0, "X509_sign");
  write_pem(file_, [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
}

TestCa::~TestCa() = default;

CertificateFiles TestCa::issue(const Leaf& leaf) {
  const std::string name = directory_ + "/leaf" + std::to_string(++issued_);
  CertificateFiles files{name + ".pem", name + ".key"};
  const Key key{EVP_EC_gen("P-256"), "EVP_EC_gen"};
  const Certificate certificate{X509_new(), "X509_new"};
  X509* issuer = leaf.self_signed ? certificate.get() : keys_->certificate.get();
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), issued_ + 1);
  set_life(certificate.get(), leaf.begins, leaf.ends);
  set_name(certificate.get(), leaf.host);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
  X509_set_pubkey(certificate.get(), key.get());
  add_extension(certificate.get(), issuer, NID_subject_alt_name, "DNS:" + leaf.host);
  need(X509_sign(certificate.get(), leaf.self_signed ? key.get() : keys_->key.get(), EVP_sha256()) > 0,
       "X509_sign");
  write_pem(files.certificate, [&](std::FILE* file) { return PEM_write_X509(file, certificate.get()); });
  write_pem(files.key, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

struct TlsFront::Context {
  CHandle<SSL_CTX_free> handle{SSL_CTX_new(TLS_server_method()), "SSL_CTX_new"};
};

TlsFront::TlsFront(const CertificateFiles& files, std::uint16_t backend, Version only)
    : context_{std::make_unique<Context>()},
      backend_{backend},
      listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)},
      port_{listen_on_loopback(listener_)} {
  ::signal(SIGPIPE, SIG_IGN);
  SSL_CTX* context = context_->handle.get();
  need(SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1, "the certificate");
  need(SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1, "the key");
  if (only != Version::current) {
    const int version = only == Version::tls_1_0   ? TLS1_VERSION
                        : only == Version::tls_1_1 ? TLS1_1_VERSION
                                                   : TLS1_2_VERSION;
    need(SSL_CTX_set_min_proto_version(context, version) == 1, "the oldest version");
    need(SSL_CTX_set_max_proto_version(context, version) == 1, "the newest version");
    need(SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0") == 1, "the ciphers");
  }
  acceptor_ = std::thread{[this] { accept_loop(); }};
}

TlsFront::~TlsFront() {
  stopping_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (Peer& peer : peers_) {
    ::shutdown(peer.socket.get(), SHUT_RDWR);
    peer.thread.join();
  }
}

void TlsFront::accept_loop() {
  while (!stopping_) {
    Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!socket) continue;
    ++accepted_;
    const int number = socket.get();
    peers_.push_back({.thread = {}, .socket = std::move(socket)});
    peers_.back().thread = std::thread{[this, number] { serve(number); }};
  }
}

void TlsFront::serve(int socket) {
  const Connection tls{SSL_new(context_->handle.get()), "SSL_new"};
  SSL_set_fd(tls.get(), socket);
  if (SSL_accept(tls.get()) == 1) {
    const Fd back = connect_to_loopback(backend_);
    if (back) copy_both_ways(tls.get(), socket, back.get());
  }
  ::shutdown(socket, SHUT_RDWR);
}

}  // namespace decant::test
