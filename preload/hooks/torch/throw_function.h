// SPDX-License-Identifier: Apache-2.0
// __cxa_throw as an object of the process would have been bound to without the preload. A process may have more than
// one C++ runtime (an extension with libc++, or with a libstdc++ of its own), and an exception must go to its own.
//
// Context: any thread that throws, perhaps with the loader's lock held. No malloc. The first throw of each object
// searches the loaded objects (some 20 us), later ones compare a few addresses until an object is unloaded, which
// the loader's counter shows (unload_epoch_cache.h). Where only one object defines the function, as nearly always, that
// is all; else dlsym() decides, which takes the loader's lock.
#pragma once

namespace tensorscope::hooks {

using ThrowFunction = void (*)(void* object, void* type, void (*destructor)(void*));

// `thrower`: an address of the code that throws. Never null: where there is no such function the process ends, as it
// would have in the loader.
ThrowFunction throw_function_for(const void* thrower);

}  // namespace tensorscope::hooks
