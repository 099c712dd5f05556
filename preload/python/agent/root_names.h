// Names for the modules that are no module's child: the variable that holds each, as a person would write it: `model`,
// `train.model`, `models[0]`, `trainer.model`, `nets['generator']`.
//
// Context: agent.
#pragma once

#include "python/agent/live_modules.h"

namespace tensorscope::python::agent {

// Gives every module a path, that of its class and a number where no variable was found. False: the time was up before
// all holders were looked at.
bool name_roots(const Gil& gil, LiveModules& modules, Deadline deadline);

}  // namespace tensorscope::python::agent
