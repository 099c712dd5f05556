// A C++ program that embeds CPython, imports torch, runs Python on two threads and ends the interpreter.
// usage: embeds_torch SOURCE SOURCE_OF_A_THREAD. Built by the test, against the Python under test.
#include <Python.h>

#include <cstdio>
#include <stdexcept>
#include <thread>

static int run_in_thread(const char* source) {
  int status = 1;
  PyThreadState* const saved = PyEval_SaveThread();
  std::thread([&] {
    const PyGILState_STATE state = PyGILState_Ensure();
    status = PyRun_SimpleString(source);
    PyGILState_Release(state);
  }).join();
  PyEval_RestoreThread(saved);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Py_Initialize();
  if (PyRun_SimpleString(argv[1]) != 0 || run_in_thread(argv[2]) != 0) return 1;
  try {
    throw std::runtime_error("an exception of the program's own");
  } catch (const std::exception& error) {
    std::puts(error.what());
  }
  std::printf("ended: %d\n", Py_FinalizeEx());
  return 0;
}
