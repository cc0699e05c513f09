// SPDX-License-Identifier: Apache-2.0
#include "bundle_result.hpp"

namespace decant::cli {

report::Result result_about(const restore::OpenedBundle& opened, std::string command) {
  const auto& source = opened.lock.source;
  report::Result result;
  result.command = std::move(command);
  result.release_id = opened.lock.release_id;
  result.source = source.kind == model::SourceKind::hub      ? source.repo
                  : source.kind == model::SourceKind::mirror ? source.endpoint
                                                             : std::string{to_string(source.kind)};
  result.commit = source.commit;
  result.manifest_sha256 = opened.lock.manifest_sha256.hex();
  result.lock_digest = model::lock_digest(opened.lock).hex();
  result.subset = opened.subset;
  return result;
}

}  // namespace decant::cli
