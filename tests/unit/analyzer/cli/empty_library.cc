// A library that does nothing, to stand for libtensorscope.so where only LD_PRELOAD itself is looked at.
