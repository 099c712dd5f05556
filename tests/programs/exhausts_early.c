/* Preloaded beside the profiler: from before anybody else's constructor on, nothing is left of what EXHAUST names:
 *
 *   descriptors           none can be opened
 *   threads               pthread_create fails, as at RLIMIT_NPROC or a control group's pids.max
 *   keys:N                N keys of thread-specific data can be made
 *   address_space:BYTES   so many bytes more can be mapped
 *
 * The program gives it all back by exhausted_give_back(), and switches the refusal of threads by
 * exhausted_refuse_threads. Linked with -z initfirst: libtorch makes tensors before main, and the profiler begins with
 * the first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int exhausted_refuse_threads = 0;
static int descriptors[1024];
static pthread_key_t keys[2048];
static int descriptor_count = 0, key_count = 0;

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (exhausted_refuse_threads) return EAGAIN;
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  return next(thread, attributes, run, argument);
}

/* The C library itself is not ready yet. */
static unsigned long number_in(const char* text) {
  unsigned long number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (unsigned long)(*text - '0');
  return number;
}

static void take_descriptors(void) {
  struct rlimit limit = {64, 1024};
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int taken; descriptor_count < 64 && (taken = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
    descriptors[descriptor_count++] = taken;
  }
}

static void take_keys(int left) {
  for (pthread_key_t key; key_count < 2048 && pthread_key_create(&key, NULL) == 0;) keys[key_count++] = key;
  for (; left > 0 && key_count > 0; --left) pthread_key_delete(keys[--key_count]);
}

static void limit_address_space(unsigned long more) {
  char text[64] = "";
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) _exit(70);
  close(file);
  struct rlimit limit = {number_in(text) * 4096 + more, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

void exhausted_give_back(void) {
  exhausted_refuse_threads = 0;
  while (descriptor_count > 0) close(descriptors[--descriptor_count]);
  while (key_count > 0) pthread_key_delete(keys[--key_count]);
  struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &unlimited);
}

__attribute__((constructor)) static void begin(int argc, char** argv, char** environment) {
  (void)argc, (void)argv;
  const char* what = NULL;
  for (char** entry = environment; *entry; ++entry) {
    if (strncmp(*entry, "EXHAUST=", 8) == 0) what = *entry + 8;
  }
  if (!what) return;
  const char* colon = strchr(what, ':');
  unsigned long number = colon ? number_in(colon + 1) : 0;
  if (strncmp(what, "descriptors", 11) == 0) take_descriptors();
  if (strncmp(what, "threads", 7) == 0) exhausted_refuse_threads = 1;
  if (strncmp(what, "keys", 4) == 0) take_keys((int)number);
  if (strncmp(what, "address_space", 13) == 0) limit_address_space(number);
}
