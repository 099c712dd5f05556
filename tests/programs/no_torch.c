/* A program without torch. Argument: `plain`; `closes` closes every descriptor from 3 on and then opens a file of its
   own; `fork` forks in a thread with a tiny stack; `handler` installs its own SIGUSR1 handler and raises it; `signal`
   raises SIGUSR1. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t calls;
static void handler(int number) { calls = number; }

static void* fork_in_thread(void* unused) {
  (void)unused;
  pid_t pid = fork();
  if (pid == 0) _exit(9);
  int status = 0;
  waitpid(pid, &status, 0);
  return (void*)(long)WEXITSTATUS(status);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "plain";
  if (strcmp(how, "closes") == 0) {
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    printf("opened %d\n", open("/dev/null", O_RDONLY));
  } else if (strcmp(how, "fork") == 0) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, &attributes, fork_in_thread, NULL);
    pthread_join(thread, &result);
    printf("child ended with %ld\n", (long)result);
  } else if (strcmp(how, "handler") == 0) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    printf("handled %d\n", (int)calls);
  } else if (strcmp(how, "signal") == 0) {
    raise(SIGUSR1);
  }
  printf("plain\n");
  return 6;
}
