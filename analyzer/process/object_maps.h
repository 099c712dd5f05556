// Which lines of /proc/PID/maps are of objects that the loader has mapped.
#pragma once

#include <string>

namespace tensorscope::process {

// Returns the text without the lines of files that lie apart from their object. libffi maps a page of its own code once
// more, for closures (src/tramp.c, 3.4 and later), often just below itself: an object would seem to begin there.
std::string maps_of_objects(const std::string& maps);

}  // namespace tensorscope::process
