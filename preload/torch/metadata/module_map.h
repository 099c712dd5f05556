// The former name of SharedObjectMap, until preload/watch/value_store.cc uses the new one.
#pragma once

#include "torch/metadata/shared_object_map.h"

namespace tensorscope::torch {

using ModuleMap = SharedObjectMap;

}  // namespace tensorscope::torch
