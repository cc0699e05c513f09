// SPDX-License-Identifier: Apache-2.0
#include "report_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "decant/base/bytes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"

namespace decant::cli {

namespace {

// An earlier report, or nothing yet: what a mistyped path names is not overwritten.
bool may_be_replaced(const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!fd) return false;
  std::string begin(256, '\0');
  const auto size = ::read(fd.get(), begin.data(), begin.size());
  begin.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return size == 0 || begin.find("\"decant.report/") != std::string::npos;
}

// Without waiting for a reader of a pipe.
Fd open_special(const std::string& path) {
  Fd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd && errno == ENXIO)
    throw Error{ErrorKind::disk, "nobody reads the pipe of --report " + escape_for_display(path),
                "start its reader first, or name a file"};
  if (fd) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

ReportFile::ReportFile(const std::string& path) : path_{path} {
  struct stat facts = {};
  const bool is_there = ::stat(path.c_str(), &facts) == 0;
  if (is_there && S_ISDIR(facts.st_mode)) throw_errno(EISDIR, "open the report", path);
  const bool special = is_there && !S_ISREG(facts.st_mode);
  if (is_there && !special && !may_be_replaced(path))
    throw Error{
        Problem{.kind = ErrorKind::usage,
                .thing = fmt::format("--report {}: it would be overwritten", escape_for_display(path)),
                .expected = "a new file, or an earlier report",
                .found = "something else",
                .hint = "name another file"}};
  if (!special) temporary_ = path + ".tmp-" + random_hex(6);
  fd_ = special ? open_special(path)
                : Fd{fs::sys::open_create(AT_FDCWD, temporary_.c_str(), O_WRONLY | O_EXCL, 0644)};
  if (!fd_) throw_errno(errno, "open the report", path);
}

ReportFile::ReportFile(ReportFile&& other) noexcept
    : path_{std::move(other.path_)},
      temporary_{std::exchange(other.temporary_, {})},
      fd_{std::move(other.fd_)} {}

ReportFile::~ReportFile() {
  if (!temporary_.empty()) fs::sys::unlinkat(AT_FDCWD, temporary_.c_str(), 0);
}

void ReportFile::commit(std::string_view document) {
  fs::sys::write_all(fd_.get(), as_bytes(document), path_);
  if (!temporary_.empty()) {
    if (fs::sys::fsync(fd_.get()) != 0) throw_errno(errno, "write the report", path_);
    if (fs::sys::renameat(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str()) != 0)
      throw_errno(errno, "write the report", path_);
    temporary_.clear();
  }
  fd_.close();
}

}  // namespace decant::cli
