// SPDX-License-Identifier: Apache-2.0
#include "export/json/suspect.h"

namespace tensorscope::exports {

Json ids_json(const analyzer::Dump& dump, const std::vector<uint32_t>& tensors) {
  Json list = Json::array();
  for (uint32_t tensor : tensors) list.push_back(dump.tensors[tensor].serial);
  return list;
}

Json suspect_json(const analyzer::View& view, const analyzer::Suspect& suspect) {
  return {{"kind", analyzer::name(suspect.kind)},
          {"held_by", suspect.holder},
          {"made_at", place_json(view.places, suspect.site)},
          {"bytes", suspect.bytes},
          {"count", suspect.count},
          {"generations", suspect.generations},
          {"steps", suspect.steps},
          {"of_steps", suspect.of_steps},
          {"bytes_each_step", analyzer::bytes_each_step(suspect)},
          {"share_of_growth", suspect.share > 0 ? Json(suspect.share) : Json()},
          {"allocated", suspect.made},
          {"alive", suspect.kept},
          {"from_the_first", suspect.from_the_first},
          {"oldest_ns", suspect.oldest_ns},
          {"newest_ns", suspect.newest_ns},
          {"tensors", ids_json(view.dump, suspect.tensors)}};
}

}  // namespace tensorscope::exports
