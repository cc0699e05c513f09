// SPDX-License-Identifier: Apache-2.0
#include "report_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "decant/base/bytes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"

namespace decant::cli {

ReportFile::ReportFile(const std::string& path) : path_{path} {
  struct stat facts = {};
  const bool is_there = ::stat(path.c_str(), &facts) == 0;
  if (is_there && S_ISDIR(facts.st_mode)) throw_errno(EISDIR, "open the report", path);
  const bool special = is_there && !S_ISREG(facts.st_mode);
  if (!special) temporary_ = path + ".tmp-" + random_hex(6);
  const auto& opened = special ? path_ : temporary_;
  fd_ = Fd{special ? ::open(opened.c_str(), O_WRONLY | O_CLOEXEC)
                   : fs::sys::open_create(AT_FDCWD, opened.c_str(), O_WRONLY | O_EXCL, 0644)};
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
